"""Ways that a node of a search over rows can go: a feature out or in, a row's three kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebounds.bounds import RowBounds, States
from sparsebounds.exact.row_order import obeys
from sparsebounds.exact.row_record import Choice, part_of
from sparsebounds.relaxation import Node, relaxed_node


@dataclass(frozen=True, eq=False)
class Ways:
    """The ways of one node; a bound of `goal` is enough, and `spend` is told of operations."""

    bounds: RowBounds
    node: Node
    goal: float
    spend: Callable[[float], None]

    def two(self, switch: int, state: States) -> Choice | None:
        """By one switch; None where that is decided."""
        if state[switch] != 0:
            return None
        ways = [self._way(state, {switch: side}) for side in (1, -1)]
        return Choice((switch,), (1,), tuple(ways))

    def three(self, row: int, state: States) -> Choice | None:
        """An outlier above, one below, or an inlier; None where that is decided."""
        above, below = self.bounds.switches.above(row), self.bounds.switches.below(row)
        if state[above] > 0 or state[below] > 0:
            return None
        if state[above] < 0 or state[below] < 0:
            return self.two(below if state[above] < 0 else above, state)
        asides = [self._way(state, {above: 1})]
        asides.append(self._way(state, {above: -1, below: 1}))
        rest = self._way(state, {above: -1, below: -1})
        return Choice((above, below), (1, 1), (*asides, rest))

    def _way(self, state: States, sides: dict[int, int]) -> Node:
        """A node one way on, at what is lent to the node itself."""
        bounds, node, state = self.bounds, self.node, state.copy()
        for switch, side in sides.items():
            state[switch] = side
        w, out = node.w, state[: bounds.program.m] < 0
        if np.any(w[out]):
            w = np.where(out, 0.0, w)
        elif obeys(bounds, node, state):
            lower = bounds.bound(state, w, node.b, node.lent)
            return Node(state, w, node.b, node.lent, lower, node.value)
        found = relaxed_node(bounds, state, w, node.b, node.lent, self.goal)
        self.spend(found.work)
        return found


def without_weak(
    bounds: RowBounds, node: Node, goal: float, place: int
) -> tuple[States, list[Choice]]:
    """Features that a node's own point proves out: the state without them, and the choices.

    `place` is the node's own in the tree: its loss is what bounds the models that have them.
    """
    features, lower = bounds.forced(node.state, node.w, node.b, node.lent)
    state, decided = node.state, []
    for feature in features[(lower >= goal) & (node.w[features] == 0.0)].tolist():
        inside, outside = state.copy(), state.copy()
        inside[feature], outside[feature] = 1, -1
        bound = float(lower[features == feature][0])
        aside = Node(inside, node.w, node.b, node.lent, bound, node.value, scope=place)
        decided.append(Choice((feature,), (1,), (aside, part_of(node, outside))))
        state = outside
    return state, decided
