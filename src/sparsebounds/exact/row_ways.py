"""Ways that a node of a search over rows can go: a feature out or in, a row's three kinds.

A choice is decided without a split where all of its ways but one are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds.bounds import RowBounds, States
from sparsebounds.exact.row_order import obeys
from sparsebounds.exact.row_record import Choice, Maker, part_of, with_last
from sparsebounds.relaxation import Node, relaxed_node

NEAR = 0.4
"""Ways within this part of the node's gap of being closed are bounded at shares of their own."""

ROWS = 6
"""Rows that are tried before a node is split by one of them."""

FAILED = 12
"""Choices in sequence that are not decided, after which a round tries no more of their kind."""


@dataclass(frozen=True, eq=False)
class Ways:
    """The ways of one node; a bound of `goal` is enough, and `spend` is told of operations."""

    bounds: RowBounds
    node: Node
    goal: float
    spend: Callable[[float], None]

    def of_rows(self, rows: Index) -> list[Maker]:
        """What makes choices about rows."""
        return [partial(self.three, row) for row in rows.tolist()]

    def of_features(self, features: Index) -> list[Maker]:
        """What makes choices about features."""
        return [partial(self.two, feature) for feature in features.tolist()]

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


@dataclass(eq=False)
class Trial:
    """Choices of a node tried one after the other; a bound of `goal` closes a way."""

    node: Node
    goal: float
    improved: Callable[[Node], Node]
    """Looks for a better bound of a way."""

    halted: Callable[[], bool]
    """Whether to try no more."""

    state: States
    """The node's, with what is decided so far."""

    decided: list[Choice]
    best: tuple[float, Maker] | None = None
    """Of the choices that are not decided, that of the highest second bound."""

    @property
    def done(self) -> bool:
        """Whether no way is left."""
        return bool(self.decided) and self.decided[-1].ways[-1].lower >= self.goal

    def go(self, makers: Sequence[Maker], patience: int) -> None:
        """Try choices, until so many in sequence are not decided."""
        failed = 0
        for make in makers:
            if self.done or failed >= patience or self.halted():
                return
            choice = make(self.state)
            if choice is None:
                continue
            choice = self._pushed(choice)
            alive = self._alive(choice)
            if len(alive) <= 1:
                self.decided.append(with_last(choice, alive[0]) if alive else choice)
                self.state, failed = self.decided[-1].ways[-1].state, 0
                continue
            failed += 1
            score = sorted(way.lower for way in choice.ways)[1]
            if self.best is None or score > self.best[0]:
                self.best = score, make

    def _alive(self, choice: Choice) -> list[Node]:
        return [way for way in choice.ways if way.lower < self.goal]

    def _pushed(self, choice: Choice) -> Choice:
        """The same choice, with better bounds where that may leave one way only."""
        alive = sorted(self._alive(choice), key=lambda way: way.lower)
        near = self.goal - NEAR * (self.goal - self.node.lower)
        if len(alive) < 2 or alive[1].lower < near:
            return choice
        better = {id(way): self.improved(way) for way in alive[1:]}
        return replace(choice, ways=tuple(better.get(id(way), way) for way in choice.ways))
