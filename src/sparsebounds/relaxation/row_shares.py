"""What to lend at a node of the truncated loss, so that its relaxation is nearly the highest.

The relaxed value is concave in what is sought, x > 0. Its maximum over all x with a convex loss is
approached from inside, as in `relaxation.diagonal`: by Newton steps on the value, as it is to first
order, plus mu times a barrier, while mu falls. Features lend by a diagonal, or by supports.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import Lent, RowBounds, States
from sparsebounds.relaxation.row_diagonal import DiagonalAscent
from sparsebounds.relaxation.row_supports import SupportAscent
from sparsebounds.relaxation.rows import Node, relaxed_node

Effort: TypeAlias = tuple[int, float]
"""The most steps towards the best shares, and the accuracy that ends them."""

Inner = TypeVar("Inner")


class Ascent(Protocol[Inner]):
    """What is sought at a node, x > 0, with a barrier that knows `Inner` of points inside."""

    doubt: Index
    """The rows in doubt."""

    nothing: Lent
    work: float
    """Operations of a step, about."""

    def start(self) -> Vector | None: ...
    def relaxed(self, x: Vector, w: Vector, b: float, spare: float = 0.0) -> Node: ...
    def barrier(self, x: Vector) -> tuple[float, Inner] | None: ...
    def slope(self, node: Node, inside: Inner) -> Vector: ...
    def step(self, inside: Inner, x: Vector, pull: Vector) -> tuple[Vector, float]: ...


SMALLER = 0.35
"""What mu falls by."""

WARM = 0.02
"""What the barrier weighs at first where the ascent begins at good shares, next to the value."""

ROUGH = 0.1
"""What a relaxation may be off by where the ascent begins at good shares, next to how far that is
from its end."""

TRIES = 6
"""Lengths of a step, at most, each SHORTER than the one before."""
SHORTER = 0.4


@np.errstate(all="ignore")
def best_shares(
    bounds: RowBounds,
    state: States,
    w: Vector,
    b: float,
    most_eta: float,
    effort: Effort,
    *,
    sparse: bool = False,
    start: Lent | None = None,
    goal: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
) -> Node | None:
    """A node's relaxation at nearly the best shares; a bound of `goal` is enough.

    The range of the intercept lends what it is worth, and at most `most_eta`. With `sparse`, open
    features lend by supports, beginning at what was lent to a node above.
    """
    steps, fine = effort
    ascent = _ascent(bounds, state, most_eta, sparse, start)
    x = ascent.start()
    if x is None:
        return None
    node = best = ascent.relaxed(x, w, b)
    work = node.work
    if not len(ascent.doubt):
        # There is nothing to pay for.
        plain = relaxed_node(bounds, state, w, b, ascent.nothing)
        best, work = max(node, plain, key=lambda one: one.lower), work + plain.work
    found = ascent.barrier(x)
    if not len(x) or found is None:
        return replace(best, work=work)
    height, inside = found
    slope = ascent.slope(node, inside)
    mu = max(float(slope @ x), 1e-12 * abs(node.value)) / len(x)
    warm = sparse and start is not None and start.sparse
    if warm:
        mu = min(mu, WARM * abs(node.value) / len(x))
    for _ in range(steps):
        if best.lower >= goal or mu * len(x) < fine * abs(node.value) or stop():
            break
        step, decrement = ascent.step(inside, x, slope / mu)
        falling = step < 0.0
        length = float(np.min(-0.9 * x[falling] / step[falling], initial=1.0))
        if sparse:
            length = min(length, 1.0 / max(decrement, 1.0))
        merit, moved, gain = node.value + mu * height, False, 0.0
        for _ in range(TRIES):
            trial = x + length * step
            found = ascent.barrier(trial)
            if found is not None:
                spare = ROUGH * mu * len(x) if warm else 0.0
                other = ascent.relaxed(trial, node.w, node.b, spare)
                work += other.work + ascent.work
                gain = other.value + mu * found[0] - merit
                if gain > 0.0:
                    node, x, (height, inside), moved = other, trial, found, True
                    slope = ascent.slope(node, inside)
                    break
            length *= SHORTER
        if node.lower > best.lower:
            best = node
        if not moved or (not sparse and length < 0.3) or gain < 0.1 * mu * len(x):
            mu *= SMALLER
    return replace(best, work=work)


def _ascent(
    bounds: RowBounds, state: States, most_eta: float, sparse: bool, start: Lent | None
) -> Ascent[Any]:
    if sparse:
        return SupportAscent(bounds, state, most_eta, start)
    return DiagonalAscent(bounds, state, most_eta)
