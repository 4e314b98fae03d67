"""How well the nodes of a search over rows are bounded: what is lent, and how long it is sought."""

from __future__ import annotations

from collections.abc import Callable

from sparsebounds.bounds import RowBounds, States
from sparsebounds.relaxation import Effort, Node, best_shares

ROOT, OTHER = (60, 1e-9), (12, 1e-5)
"""Steps towards the best shares, and the accuracy that ends them: at the root, at other nodes."""

AGAIN = 20, 1e-6
"""The same between sweeps that narrow spans."""

SUPPORTS = 25, 1e-4
"""The most and the finest where open features lend by supports: that has kinks."""

LATER = 6, 1e-4
"""The same at a node whose features have lent so at the node above."""

FEW, MANY = 2, 4
"""Open features lend by supports where a model has few of them, or one in many."""


def bounded_node(
    bounds: RowBounds,
    node: Node,
    eta: float,
    effort: Effort,
    goal: float,
    stop: Callable[[], bool],
    *,
    root: bool,
) -> tuple[Node | None, float]:
    """A node at nearly its best shares, and the operations that took; a bound of `goal` is enough.

    Its point, and what is lent to it so far, are where the work begins.
    """
    best: Node | None = None
    work = 0.0
    for sparse in _kinds(bounds, node.state, root):
        if best is not None and (best.lower >= goal or stop()):
            break
        most = (min(effort[0], SUPPORTS[0]), max(effort[1], SUPPORTS[1])) if sparse else effort
        found = best_shares(
            bounds,
            node.state,
            node.w,
            node.b,
            eta,
            most,
            sparse=sparse,
            start=node.lent,
            goal=goal,
            stop=stop,
        )
        if found is not None:
            work += found.work
            best = found if best is None or found.lower > best.lower else best
    return best, work


def _kinds(bounds: RowBounds, state: States, root: bool) -> tuple[bool, ...]:
    """How the open features of a node may lend: by a diagonal (False), by supports (True)."""
    room, opened = bounds.room(state), len(bounds.opened(state))
    if room <= 0 or room >= opened:
        return (False,)
    if root and opened <= bounds.program.n:
        return True, False
    return (room <= FEW or MANY * room <= opened,)
