"""How the root of a search over rows is split before anything else.

Into ranges of the intercept, where it is not known well: a smaller one lends more. Else by the
features that weigh most, where a model has k of many: one part leaves out the first, the next has
it and leaves out the second, and so on; the last part has k. Each of these is bounded far better
than the root, and all of them in about the time that the root took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from sparsebounds.bounds import RowBounds
from sparsebounds.exact.row_bounding import OTHER, ROOT
from sparsebounds.exact.row_order import leading_features
from sparsebounds.exact.row_ranges import moved, range_chain
from sparsebounds.exact.row_record import Choice, chained, part_of
from sparsebounds.relaxation import Effort, Node

Improve: TypeAlias = Callable[[Node, Effort, float], Node]
"""Looks for a better bound of a node; so large a one is enough."""


def in_ranges(
    bounds: RowBounds,
    node: Node,
    b: float,
    goal: float,
    improved: Improve,
    halted: Callable[[], bool],
) -> Choice | None:
    """A node in ranges of the intercept, the last of them that of b; None where it has one.

    That of the best model is the hardest, as a rule; others need not be bounded better.
    """
    chain = range_chain(bounds.switches, b)
    *others, inside = chained(node.state, chain)
    if not others:
        return None
    inner = improved(part_of(node, inside), ROOT, goal)
    asides = []
    for state in others:
        aside = part_of(node, state) if halted() else moved(bounds, inner, state)
        asides.append(improved(aside, OTHER, min(inner.lower, goal)))
    return _choice(chain, (*asides, inner))


def by_features(bounds: RowBounds, node: Node, goal: float, improved: Improve) -> Choice | None:
    """A node in parts with and without k of many features; None where it takes fewer."""
    room, opened = bounds.room(node.state), len(bounds.opened(node.state))
    features = leading_features(bounds, node)[:room].tolist() if 0 < room < opened else []
    if not features or len(features) < room:
        return None
    chain, parts = [(feature, -1) for feature in features], list[Node]()
    for state in chained(node.state, chain):
        way = improved(part_of(node, state), OTHER, goal)
        parts.append(way if way.lower > node.lower else part_of(node, state))
        # No part need be bounded better than the others.
        goal = min(goal, parts[-1].lower)
    return _choice(chain, parts)


def _choice(chain: list[tuple[int, int]], ways: Iterable[Node]) -> Choice:
    switches, sides = zip(*chain, strict=True)
    return Choice(switches, sides, tuple(ways))
