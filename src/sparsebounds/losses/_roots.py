"""Roots of many increasing scalar equations at once."""

from __future__ import annotations

from collections.abc import Callable

from sparsebounds._array import Array, namespace


def increasing_root(
    residual: Callable[[Array], tuple[Array, Array]], lo: Array, hi: Array, steps: int = 200
) -> Array:
    """Elementwise root of an increasing function inside [lo, hi].

    `residual(t)` returns the value and the derivative (>= 1). Newton steps that leave
    the bracket, or shrink it by less than half, are replaced by bisection.
    """
    xp = namespace(lo, hi)
    t = 0.5 * (lo + hi)
    for _ in range(steps):
        value, slope = residual(t)
        lo, hi = xp.where(value <= 0, t, lo), xp.where(value >= 0, t, hi)
        newton = t - value / slope
        inside = (newton > lo) & (newton < hi)
        step = xp.where(inside, newton, 0.5 * (lo + hi))
        if bool(xp.all(xp.abs(step - t) <= 4e-16 * xp.abs(t))):
            return step
        t = step
    return t
