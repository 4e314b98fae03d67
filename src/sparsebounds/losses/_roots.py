"""Roots of many increasing scalar equations at once."""

from __future__ import annotations

from collections.abc import Callable

from sparsebounds._support.array import Array, namespace


def increasing_root(
    residual: Callable[[Array], tuple[Array, Array]], lo: Array, hi: Array, steps: int = 200
) -> Array:
    """Elementwise root of an increasing function inside [lo, hi].

    `residual(t)` returns the value and the derivative (>= 1). A Newton step that leaves the
    bracket, or is more than half the step before it, is replaced by bisection.
    """
    xp = namespace(lo, hi)
    t, last = 0.5 * (lo + hi), hi - lo
    for _ in range(steps):
        value, slope = residual(t)
        lo, hi = xp.where(value <= 0, t, lo), xp.where(value >= 0, t, hi)
        newton = t - value / slope
        good = (newton > lo) & (newton < hi) & (xp.abs(newton - t) <= 0.5 * last)
        step = xp.where(good, newton, 0.5 * (lo + hi))
        last = xp.abs(step - t)
        t = step
        if bool(xp.all(last <= 4e-16 * xp.abs(t))):
            return t
    return t
