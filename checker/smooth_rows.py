"""Smooth robust losses: parabolas below them."""

import math
from functools import lru_cache

from exact_numbers import INF, Q, root, short
from loss_functions import DIPS, Loss


def halved(holds, low, high, steps):
    """Where a condition begins to hold."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(None)
def touching(loss, kappa):
    """Where a line touches g(r) = loss + kappa r^2/2 twice, its slope s, and g*(s) from above.

    The points and the slope are guesses, made in floats: g* is that of whatever they are. None
    where they are not on the two convex parts of g, or where there are none.
    """
    unit, c, dip, own = Loss(loss.name, {"c": 1.0}), loss.c, DIPS[loss.name], float(kappa)

    def value(r):
        return unit.value(0.0, r) + own * r * r / 2

    def slope(r):
        return unit.slope(0.0, r) + own * r

    def bend(r):
        return unit.bend(r * r) + own

    def ends(s):
        return halved(lambda r: slope(r) > s, 0.0, first, 20), halved(
            lambda r: slope(r) > s, second, s / own + second, 20
        )

    def above(s):
        a, b = ends(s)
        return value(b) - value(a) < s * (b - a)

    if not 1e-9 < own < -unit.bend(float(dip)):
        return None
    first = halved(lambda r: bend(r) < 0, 0.0, math.sqrt(dip), 50)
    second = halved(lambda r: bend(r) > 0, math.sqrt(dip), 4 / own, 50)
    a, b = ends(halved(above, slope(second), slope(first), 12))
    for _ in range(6):
        s = (value(b) - value(a)) / (b - a)
        a, b = (r - (slope(r) - s) / bend(r) if bend(r) > 0 else r for r in (a, b))
    squares = Q(a) ** 2, Q(b) ** 2
    convex = all(loss.bend(q) + kappa >= 0 for q in squares)
    if not (convex and squares[0] <= dip <= squares[1] and min(a, b, s) >= 0):
        return None
    near, far, s = Q(a) * c, Q(b) * c, Q(s) * c
    low, high = (root(dip * c * c, up) for up in (False, True))
    inner = loss.tangent(Q(0), s, near, Q(0), high, kappa)
    return near, far, s, max(inner, loss.tangent(Q(0), s, far, low, max(far, s / kappa), kappa))


def below_smooth(loss, r, kappa, grid):
    """v and t with v + t (s - r) - kappa (s - r)^2/2 below a smooth loss, for all residuals s.

    With g = loss + kappa r^2/2 and tau = t + kappa r, v = tau r - kappa r^2/2 - g*(tau). t is a
    multiple of the grid.
    """
    size, nothing, convex = abs(r), (Q(0), Q(0)), loss.bend(DIPS[loss.name]) + kappa >= 0
    touch = None if convex or not kappa else touching(loss, kappa)
    if not convex and touch is None:
        return nothing
    near, far, s, top = touch or (INF, INF, INF, -INF)
    tau = loss.slope(Q(0), size, 0) + kappa * size
    tau = min(tau, s) if size <= near else max(tau, s) if size >= far else s
    t = math.floor((tau - kappa * size) / grid) * grid
    tau = t + kappa * size
    if tau < 0:
        return nothing
    # Beyond size and tau/kappa h(s) = tau s - g(s) falls; it is concave on either convex part of g.
    fall = max(size, tau / kappa)
    if convex:
        top = loss.tangent(Q(0), tau, size, Q(0), fall, kappa)
    elif size <= near:
        top = max(loss.tangent(Q(0), tau, size, Q(0), near, kappa), top - (s - tau) * near)
    elif size >= far:
        top += max(tau - s, 0) * far
        top = max(loss.tangent(Q(0), tau, size, far, fall, kappa), top)
    value = short(tau * size - kappa * size * size / 2 - top, False)
    return value, t if r > 0 else -t
