"""Newton's point by conjugate gradients: for f'' that is known by its products with vectors.

    minimise g.(x - x0) + (x - x0).M (x - x0)/2,    M = f'' + diag(ridge, proximal) + d d^T/share

over the active coordinates (and b, last), from x0, where Newton's method stands. g is the gradient
of f + h on the piece there. The preconditioner is the diagonal of M. Terms of rank one (d, the
intercept, the centring of columns) cost an iteration or two each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.penalties import Pattern
from sparsebounds.relaxation.points import SmoothPoint

EXCHANGES = 3
"""Times that coordinates of the wrong sign are dropped within one Newton step."""

LEAST, MOST = 1e-4, 1e-2
"""What is left of r.z, next to the first: the square of the share of the gap that may be left (the
gap of a linear piece falls as the gradient does), but neither less nor more than these."""


@dataclass(frozen=True)
class Products:
    """f'' on some features, and on b as the last coordinate where there is an intercept."""

    apply: Callable[[Vector], Vector]
    diagonal: Vector
    gradient: Vector
    """f' where these features are as they are, and all others at 0."""

    has_intercept: bool
    most: int
    """Products beyond which they cost more than the matrix and its factorisation."""

    final: bool
    """Whether there is no room for the matrix: what products have reached must do."""

    def minimum(
        self,
        point: SmoothPoint,
        pattern: Pattern,
        proximal: Vector,
        held: float,
        asked: float = 0.0,
    ) -> tuple[Vector, float] | None:
        """What `newton_point` asks for; None where a factorisation is better.

        `asked` is the share of the gap that may be left.
        """
        active, count = pattern.active, len(pattern.active)
        start, gradient = point.w[active], self.gradient.copy()
        gradient[:count] += pattern.linear + pattern.ridge * start
        extra, sign = pattern.ridge + proximal[active], pattern.sign
        direction = pattern.direction
        if direction is not None:
            gradient[:count] += direction * (float(direction @ start) / pattern.share)
        if self.has_intercept:
            small = held * max(float(self.diagonal[-1]), 1e-300) + 1e-12
            start = np.append(start, point.b)
            extra, sign = np.append(extra, small), np.append(sign, 0.0)
            direction = None if direction is None else np.append(direction, 0.0)

        def times(v: Vector) -> Vector:
            product = self.apply(v) + extra * v
            if direction is not None:
                product += direction * (float(direction @ v) / pattern.share)
            return product

        diagonal = self.diagonal + extra
        if direction is not None:
            diagonal = diagonal + direction**2 / pattern.share
        inverse = 1.0 / np.maximum(diagonal, 1e-300)
        left = min(max(asked**2, LEAST), MOST)
        solution = self._solved(times, inverse, start, gradient, sign, left)
        if solution is None:
            return None
        w = np.zeros(len(point.w))
        w[active] = solution[:count]
        return w, float(solution[-1]) if self.has_intercept else point.b

    def _solved(
        self,
        times: Callable[[Vector], Vector],
        inverse: Vector,
        start: Vector,
        gradient: Vector,
        sign: Vector,
        share: float,
    ) -> Vector | None:
        """The minimiser without the coordinates that contradict their sign.

        `inverse` is that of the diagonal, and 0 where a coordinate is held at 0.
        """
        x, residual, left = start, -gradient, self.most
        goal = share * float(residual @ (inverse * residual))
        for exchange in range(EXCHANGES + 1):
            step, residual, left = _conjugate(times, inverse, residual, goal, left)
            x = x + step
            if not np.all(np.isfinite(x)) or (left <= 0 and not self.final):
                return None
            wrong = x * sign < 0.0
            if exchange == EXCHANGES or not wrong.any():
                break
            residual = residual + times(np.where(wrong, x, 0.0))
            x, inverse = np.where(wrong, 0.0, x), np.where(wrong, 0.0, inverse)
        return x


def _conjugate(
    times: Callable[[Vector], Vector], inverse: Vector, residual: Vector, goal: float, left: int
) -> tuple[Vector, Vector, int]:
    """(step, residual, products left) of the preconditioned method, until r.z is the goal."""
    step = np.zeros(len(residual))
    z = inverse * residual
    size, way = float(residual @ z), z
    while size > goal and left > 0:
        product = times(way)
        bend = float(way @ product)
        if not bend > 0.0 or not math.isfinite(bend):
            break
        length = size / bend
        step += length * way
        residual = residual - length * product
        z = inverse * residual
        size, before = float(residual @ z), size
        way = z + (size / before) * way
        left -= 1
    return step, residual, left
