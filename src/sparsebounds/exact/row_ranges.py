"""Ranges of the intercept that the root of a search over rows is split into.

A range lends eta for eta R^2/2, R half its width: a narrow one lends more. So the ranges are narrow
about the best model's intercept, and wider far from it, where models are worse.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.bounds import Lent, RowBounds, States, Switches
from sparsebounds.relaxation import Node, relaxed_node

NARROW = 0.25
"""Half the narrowest range, in units of c; further ones double."""

PART = 16.0
"""What a wider range lends, over the square of how much wider it is."""

SPENT = 0.15
"""The part of the gap that the range of the intercept may cost."""

LESS = 1e-6
"""Room for rounding to the digits that are stored."""


def range_cuts(b: float, c: float, low: float, high: float) -> Vector:
    """Intercepts to split at: around b, at distances that double."""
    step, cuts = NARROW * c, []
    while b - step > low or b + step < high:
        cuts += [cut for cut in (b - step, b + step) if low < cut < high]
        step *= 2.0
    return np.unique(np.array(cuts))


def range_chain(switches: Switches, b: float) -> list[tuple[int, int]]:
    """The cuts, and the sides that they set aside, which leave the range of b."""
    left, right = np.flatnonzero(switches.cuts < b), np.flatnonzero(switches.cuts > b)
    chain = [(switches.cut(int(cut)), -1) for cut in left]
    return chain + [(switches.cut(int(cut)), 1) for cut in right[::-1]]


def half_range(bounds: RowBounds, state: States) -> float:
    """Half the width of a node's range."""
    low, high = bounds.range(state)
    return 0.5 * (high - low)


def most_lent(bounds: RowBounds, state: States, gap: float) -> float:
    """The curvature that a node's range may lend for a part of a gap."""
    half = half_range(bounds, state)
    if not bounds.program.fit_intercept or not half > 0.0:
        return 0.0
    return min(2.0 * SPENT * gap / half**2, 1.0)


def moved(bounds: RowBounds, inner: Node, state: States) -> Node:
    """Another range at what is lent to the inner one, or a part of all of it where it is wider.

    In parts of the same size, what is lent still pays for the rows in doubt.
    """
    half = half_range(bounds, state)
    part = min(1.0, PART * (half_range(bounds, inner.state) / half) ** 2)
    bend = part * (1.0 - LESS) * inner.lent.theta / (1.0 - inner.lent.theta)
    theta, shares = bend / (1.0 + bend), part * inner.lent.shares
    middle = half + bounds.range(state)[0]
    lent = Lent.stored(theta, shares, part * inner.lent.eta, middle, sparse=inner.lent.sparse)
    return relaxed_node(bounds, state, inner.w, inner.b, lent, inner.lower)
