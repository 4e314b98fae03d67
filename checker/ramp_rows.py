"""The ramp at the rows of two classes: parabolas below it."""

import math

from exact_numbers import Q

ROUNDED = Q(1, 256)  # over which the slope at the kink rises by 1
LEAST = Q(1, 10**9)  # of less curvature no row has a use


def below_ramp(y, r, kappa, grid):
    """v and t with v + t (s - r) - kappa (s - r)^2/2 below min(1, max(0, -y s)), for all s.

    In x = -y r, that is the lesser of the least of 1 + q and the least of max(0, x) + q, with q a
    parabola of curvature kappa. t is a multiple of the grid.
    """
    if kappa < LEAST:
        return Q(0), Q(0)
    x, own = -y * r, float(kappa)
    far = Q(math.sqrt(2 / own)) if 2 * kappa <= 1 else 1 + 1 / (2 * kappa)
    t = max(Q(0), min(Q(1), x / ROUNDED, kappa * (far - x)))
    t = math.floor(t / grid) * grid
    lean = max(Q(0), min(Q(1), t + kappa * x))
    return min(1 - t * t / (2 * kappa), lean * x - (t - lean) ** 2 / (2 * kappa)), -y * t
