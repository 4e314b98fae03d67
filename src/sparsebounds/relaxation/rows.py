"""The relaxation of a node for the truncated loss (`bounds.rows`), at what is lent to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import Lent, RowBounds, States
from sparsebounds.penalties import Penalty
from sparsebounds.relaxation.newton import newton
from sparsebounds.relaxation.row_part import RowPart

OPEN = 0.95
"""The part of its ridge that an open feature lends at most, at the root of an ascent."""

AMPLE, ENOUGH = 1e6, 4.0
"""Curvature that is as good as knowing the intercept, and what of it is enough, in units of the
curvature of a row in doubt."""

MOST = 60
"""Steps of Newton's method, at most."""

EACH = 3e5
"""Operations that could be done in the time that a Newton step takes besides its own."""


@dataclass(eq=False)
class Node:
    """A node with what proves its bound."""

    state: States
    w: Vector
    b: float
    lent: Lent
    lower: float
    """Proved."""

    value: float
    """That of the relaxation, as computed."""

    work: float = 0.0
    """Operations that the relaxation took, about."""

    scope: int | None = None
    """The node of the tree that the bound is evaluated at: this one, or one above it."""


def relaxed_node(
    bounds: RowBounds,
    state: States,
    w: Vector,
    b: float,
    lent: Lent,
    goal: float = math.inf,
    *,
    tight: float = 1e-9,
    spare: float = 0.0,
    most: int = MOST,
) -> Node:
    """The relaxation of a node, from coefficients w and b; it ends early once `goal` is decided.

    It is solved to `tight`, relative to the null model, or to `spare`, in at most `most` steps.
    """
    program, live = bounds.program, bounds.live(state)
    lends = bounds.lends(state, lent)
    if lends is None:
        return Node(state, w, b, lent, 0.0, 0.0)
    part = RowPart(bounds, state, lent)
    penalty = node_penalty(bounds, state, live).with_ridge((bounds.own - lends)[live])
    w = np.where(penalty.positive, np.maximum(w[live], 0.0), w[live])
    low, high = bounds.range(state)
    b = min(max(b, low), high)
    scale = max(abs(program.null), 1e-300)
    charge = _charge(bounds, state, lent)

    def enough(value: float, dual: float) -> bool:
        return dual - charge >= goal or value - charge < goal < math.inf

    found = newton(
        part,
        penalty,
        part.at(w, b),
        max(tight * scale, spare),
        scale,
        most_steps=most,
        enough=enough,
    )
    best = np.zeros(program.m)
    best[live] = found.best.w
    lower = bounds.bound(state, best, found.best.b, lent)
    value = found.point.value + found.slopes.value
    work = (1 + found.steps) * (EACH + 2.0 * program.n * len(live) * (len(live) + 8.0))
    return Node(state, best, found.best.b, lent, lower, value, work)


def node_penalty(bounds: RowBounds, state: States, live: Index) -> Penalty:
    """h on the features left at a node, with their whole ridge."""
    program, kept = bounds.program, state[live]
    k = program.k
    if k is not None:
        k = max(k - int(np.count_nonzero((kept > 0) & program.free[live])), 0)
    ridge = None if program.ball is None else float(bounds.own[0])
    return program.penalty(live, ridge, inside=kept > 0, outside=kept < 0, k=k)


def _charge(bounds: RowBounds, state: States, lent: Lent) -> float:
    """What the intercept's range and the ball take from the relaxed value."""
    low, high = bounds.range(state)
    far = max(abs(low - lent.middle), abs(high - lent.middle))
    return 0.5 * lent.eta * far**2 + bounds.ball
