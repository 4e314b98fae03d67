"""Robust losses of single rows: parabolas below them, for the residuals that are possible.

On one grid: residuals and slopes are integers over 2^bits, curvatures integers over FINE.
"""

import math
from functools import lru_cache
from operator import sub

from exact_numbers import INF, Q, exact_fractions
from ramp_rows import below_ramp
from smooth_rows import below_smooth

FINE = 1 << 90
STEEP = 100  # what the slope of a row changes by, per unit that its residual is beyond its span


def granted(theta):
    """The curvature theta/(1 - theta) that a row in doubt may lack, rounded up, over FINE."""
    above, below = float(theta).as_integer_ratio()
    return -(-above * FINE // (below - above))


class Rows:
    """The rows of a program, on a grid that is fine enough for floats."""

    def __init__(self, program):
        self.program, loss = program, program.loss
        c = Q(1) if loss.name == "ramp" else loss.c
        numbers, over = exact_fractions([*map(sub, program.y, program.o), c])
        below = over.bit_length() - 1  # floats are over powers of 2
        units = max((unit.denominator.bit_length() for unit in program.units), default=0)
        size = c.denominator.bit_length() - c.numerator.bit_length()
        self.bits = max(below, units + 80, size + 120)
        *self.target, self.c = (x << self.bits - below for x in numbers)
        self.truncated = loss.name == "truncated"
        self.sides = lru_cache(None)(self.side)

    def point(self, w, b):
        """The point on the grid next to (w, b), x_i.w and the residuals there."""
        program, one = self.program, 1 << self.bits
        places = {j: math.floor(x * program.units[j] * one) for j, x in w.items()}
        fits, b = [0] * program.n, math.floor(b * one)
        for j, place in places.items():
            fits = [z + place * x for z, x in zip(fits, program.columns[j])]
        w = {j: place / (program.units[j] * one) for j, place in places.items() if place}
        return w, Q(b, one), fits, [z + b - y for z, y in zip(fits, self.target)]

    def least(self, spans, kappa):
        """The curvatures l_i of the rows' parabolas."""
        if not self.truncated:
            return [-x for x in kappa]
        c = self.c
        return [
            FINE if -c <= low and high <= c else 0 if low >= c or high <= -c else -x
            for (low, high), x in zip(spans, kappa)
        ]

    def below(self, residuals, spans, least):
        """Slopes t_i, and v_i with v_i + t_i (s - r_i) + l_i (s - r_i)^2/2 below the loss at s.

        For all s of the row's span; the v_i are over FINE 2^(2 bits + 1). None where there is none.
        """
        slopes, values, grid = [], [], Q(1, 1 << self.bits)
        for y, r, span, curve in zip(self.program.y, residuals, spans, least):
            if self.truncated:
                t = self.slope(r, *span, curve)
                v = self.value(r, *span, curve, t)
                if v is None:
                    return None
            else:
                loss, kappa = self.program.loss, Q(-curve, FINE)
                if loss.name == "ramp":
                    v, t = below_ramp(y, r * grid, kappa, grid)
                else:
                    v, t = below_smooth(loss, r * grid, kappa, grid)
                t, v = int(t / grid), math.floor(v * 2 * FINE / grid**2)
            slopes.append(t)
            values.append(v)
        return slopes, values

    def slope(self, r, low, high, curve):
        """That of psi at r, and a steep part beyond the span: any number is sound."""
        beyond = STEEP * (r - high if r > high else r - low if r < low else 0)
        if curve > 0:
            return beyond + r
        if low >= self.c or high <= -self.c:
            return beyond
        right = low > 0 or (high >= 0 and r >= 0)
        near, far, line = self.sides(*((low, high) if right else (-high, -low)), -curve)
        size = r if right else -r
        if size <= near:
            return beyond + r
        if size >= far:
            return beyond
        inner = line + curve * size // FINE
        return beyond + (inner if right else -inner)

    def side(self, low, high, kappa):
        """psi for residuals r >= 0: r^2/2 up to near, c^2/2 from far on, a line less kappa r^2/2.

        By floats, in units of c: near, far, and the slope of the line.
        """
        c, own = self.c, kappa / FINE
        low, high = (x / c if abs(x) < c << 500 else math.copysign(INF, x) for x in (low, high))
        if high <= 1:
            return INF, INF, 0
        near, far = (math.sqrt(own / (1 + own)), math.sqrt(1 + 1 / own)) if own else (0.0, INF)
        if high < far:  # the line ends there
            near, far = high - math.sqrt((high - 1) * (high + 1) / (1 + own)), INF
        line = (1 + own) * near
        if low > near:  # the line begins there
            near, far, line = -INF, INF, 0.0
            touch = low + math.sqrt((1 - low) * (1 + low) / own) if own else INF
            if touch < high:
                far, line = touch, own * touch
            elif high < INF:
                line = (own * (high + low) + (1 - low) * (1 + low) / (high - low)) / 2
        return [x if abs(x) == INF else math.floor(x * 2**60) * c >> 60 for x in (near, far, line)]

    def value(self, r, low, high, curve, t):
        """Twice the least of loss(s) - t (s - r) - l (s - r)^2/2 on the span, rounded down.

        A parabola or a line on each of three pieces: at its vertex, or at an end.
        """
        c, kappa = self.c, -curve
        if kappa < 0:  # an inlier: the core alone, and a line
            ends = (2 * s * r - r * r - 2 * t * (s - r) for s in (low, high))
            return FINE * min(ends)
        found = []
        if low < c and high > -c:
            first, last, bend = max(low, -c), min(high, c), FINE + kappa
            pull = FINE * t + kappa * r
            s = first if pull <= first * bend else last if pull >= last * bend else None
            if s is None:
                found.append((2 * FINE * t + kappa * r) * r - ceiling(pull * pull, bend))
            else:
                found.append(FINE * (s * s - 2 * t * (s - r)) + kappa * (s - r) ** 2)
        for near, far, at, way in ((max(low, c), high, r, t), (max(-high, c), -low, -r, -t)):
            if near <= far:  # c^2/2 from near to far
                pull = FINE * way
                if pull <= kappa * (near - at):
                    s = near
                elif far < INF and pull >= kappa * (far - at):
                    s = far
                elif kappa:
                    found.append(FINE * c * c - ceiling(pull * pull, kappa))
                    continue
                else:
                    return None
                found.append(FINE * (c * c - 2 * way * (s - at)) + kappa * (s - at) ** 2)
        return min(found)


def ceiling(above, below):
    """A quotient of integers, rounded up."""
    return -(-above // below)
