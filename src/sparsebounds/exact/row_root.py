"""How the root of a search over rows is split before anything else.

Into ranges of the intercept, where it is not known well: a smaller one lends more. Else by the
features that weigh most, where a model has k of many: one part leaves out the first, the next has
it and leaves out the second, and so on; the last part has k. Each of these is bounded far better
than the root, in about the time that the root took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sparsebounds.bounds import RowBounds, States
from sparsebounds.exact.row_bounding import OTHER, ROOT
from sparsebounds.exact.row_order import leading_features
from sparsebounds.exact.row_ranges import moved, range_chain
from sparsebounds.exact.row_record import Choice, chained, part_of
from sparsebounds.relaxation import Effort, Node

Improve: TypeAlias = Callable[[Node, Effort, float], Node]
"""Looks for a better bound of a node; so large a one is enough."""


def divided(
    bounds: RowBounds,
    node: Node,
    b: float,
    goal: float,
    improved: Improve,
    halted: Callable[[], bool],
) -> Choice | None:
    """The root in parts, the last of them with the intercept b of the best model."""
    chain = ranged = range_chain(bounds.switches, b)
    if not ranged:
        chain = _leading_chain(bounds, node)
    if not chain:
        return None
    states = chained(node.state, chain)
    if ranged:
        ways = _in_ranges(bounds, node, states, goal, improved, halted)
    else:
        ways = _by_features(node, states, goal, improved)
    switches, sides = zip(*chain, strict=True)
    return Choice(switches, sides, tuple(ways))


def _leading_chain(bounds: RowBounds, node: Node) -> list[tuple[int, int]]:
    """The features to leave out, one by one; none where the node takes fewer than k."""
    room, opened = bounds.room(node.state), len(bounds.opened(node.state))
    features = leading_features(bounds, node)[:room].tolist() if 0 < room < opened else []
    return [(feature, -1) for feature in features] if len(features) == room else []


def _in_ranges(
    bounds: RowBounds,
    node: Node,
    states: Sequence[States],
    goal: float,
    improved: Improve,
    halted: Callable[[], bool],
) -> list[Node]:
    """A node in ranges of the intercept, the last of them that of the best model.

    That one is the hardest, as a rule; others need not be bounded better.
    """
    inner = improved(part_of(node, states[-1]), ROOT, goal)
    asides = []
    for state in states[:-1]:
        aside = part_of(node, state) if halted() else moved(bounds, inner, state)
        asides.append(improved(aside, OTHER, min(inner.lower, goal)))
    return [*asides, inner]


def _by_features(
    node: Node,
    states: Sequence[States],
    goal: float,
    improved: Improve,
) -> list[Node]:
    """A node in parts with and without features, none bounded better than those before it."""
    ways: list[Node] = []
    for state in states:
        way = improved(part_of(node, state), OTHER, goal)
        ways.append(way if way.lower > node.lower else part_of(node, state))
        goal = min(goal, ways[-1].lower)
    return ways
