"""Branch and bound for the truncated loss: over rows, features and the intercept (`bounds.rows`).

A row in doubt has three ways to be: an inlier, an outlier above or below. For most rows two of them
are soon proved impossible: with its residual pushed beyond c, the others fit worse than the best
model. So rows nearest to being proved come first. Each inlier that is proved adds curvature, which
raises the bounds on the rest: trees are long and thin. While features are open, rows are decided
where that takes no split, and nodes are split by features, the heaviest first.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.bounds import (
    WIDER,
    Lent,
    RowBounds,
    States,
    Switches,
    objective_up,
    outer_range,
    scale_of,
)
from sparsebounds.certificates import RowTree
from sparsebounds.exact.minimization import SearchProgress
from sparsebounds.exact.row_bounding import AGAIN, OTHER, ROOT, bounded_node
from sparsebounds.exact.row_models import RowModels
from sparsebounds.exact.row_narrowing import Narrower
from sparsebounds.exact.row_order import agreed_rows, leading_features, promising_rows
from sparsebounds.exact.row_ranges import most_lent, moved, range_cuts, ranges
from sparsebounds.exact.row_record import Choice, Maker, Record, part_of, with_last
from sparsebounds.exact.row_ways import Ways, without_weak
from sparsebounds.fitting import Model
from sparsebounds.losses import Truncated
from sparsebounds.program import Program
from sparsebounds.relaxation import Effort, Node, relaxed_node

NEAR = 0.4
"""Ways within this part of the node's gap of being closed are bounded at shares of their own."""

ROWS = 6
"""Rows that are tried before a node is split by one of them."""

FAILED = 12
"""Of these in sequence that are not decided, after which no more are tried at the root."""

ROUNDS = 8
"""Times that the rows are gone through at the root at most."""

HOPE = 0.85
"""Where features are open, spans are narrowed of nodes whose bound is this part of the goal."""

STRICT = 1e-9
"""What a bound must exceed the best value by, relatively, to rule out best models."""


class RowSearch:
    """The search on a program with the truncated loss, from a model."""

    _kind: ClassVar[type[RowModels]] = RowModels

    def __init__(
        self,
        program: Program,
        model: Model,
        tol: float,
        eta: float,
        boxes: Sequence[Vector] = (),
        deadline: Deadline = NEVER,
        level: float = -math.inf,
    ) -> None:
        """`eta` is the multiplier of the ball, and of no account without one.

        `boxes` are dual vectors that cut the range of the intercept. Models up to `level` are
        searched, at least those up to the model's value.
        """
        self.whole, self.deadline, self.tol = program, deadline, tol
        self.kept = np.flatnonzero(~program.never)
        self.program = program.restricted(self.kept)
        self.eta = 0.0 if program.ball is None else eta
        level = max(level, objective_up(program, model.w, model.b, wider=WIDER) * (1.0 + STRICT))
        outer = outer_range(program, level, boxes, claim=True)
        cuts = range_cuts(model.b, scale_of(program.loss), *outer[0])
        switches = Switches(self.program.m, program.n, cuts)
        self.bounds = RowBounds(self.program, switches, outer, eta=self.eta, claim=True)
        self.models = self._kind(self.bounds, replace(model, w=model.w[self.kept]))
        self.highest, self.limit = level, math.inf
        """Models up to this objective are searched; operations after which no span is narrowed."""

        self.record, self.nodes, self.work = Record(), 0, 0.0
        self.open: list[tuple[float, int, int, Node]] = []
        self.interrupted, self.strict = False, True
        """`strict`: whether what is decided must hold for every best model."""

        self.rows = np.zeros(program.n, dtype=np.int8)
        """What every best model has in common: 1 for inliers, -1 for outliers, 0 in doubt."""

        self._stop: Callable[[], bool] = deadline.late
        self._numbers = itertools.count()
        self._tried, self._narrower = set[int](), Narrower()

    @property
    def incumbent(self) -> Model:
        """The best model, on the features kept."""
        return self.models.best

    @property
    def cutoff(self) -> float:
        """A bound of at least this closes a node."""
        return self.incumbent.value - 0.99 * self.tol * self.whole.size(self.incumbent.value)

    @property
    def beyond(self) -> float:
        """No best model has a bound of at least this."""
        return self.incumbent.value + STRICT * abs(self.incumbent.value)

    @property
    def goal(self) -> float:
        """A bound of at least this decides something: for every best model, at the root."""
        return self.beyond if self.strict else self.cutoff

    @property
    def lower(self) -> float:
        """The bound that the tree proves."""
        bounds = [node.lower for node in self.record.closed.values()]
        return float(min([*bounds, *(one[0] for one in self.open), self.bounds.outer[1]]))

    @property
    def started(self) -> bool:
        """Whether there is a bound."""
        return bool(self.open or self.record.closed)

    def start(self) -> None:
        """Bound the root."""
        state = np.zeros(self.bounds.switches.count, dtype=np.int8)
        state[: self.program.m][self.program.always] = 1
        nothing = Lent.nothing(self.program.n, self.program.m)
        first = Node(state, self.incumbent.w, self.incumbent.b, nothing, 0.0, 0.0)
        if len(self.bounds.switches.cuts):
            # The whole range lends next to nothing.
            self._push(0, first)
            if self.open:
                self._divide()
        elif (root := self._bounded(first, ROOT, root=True)) is not None:
            self._push(0, root)
        self._narrow_open()

    def _divide(self) -> None:
        """Split the root into ranges of the intercept: a smaller one lends more.

        The range of the best model is the hardest, as a rule; others need not be bounded better.
        """
        _, _, place, node = self.open[0]
        chain, states = ranges(self.bounds.switches, node.state, self.incumbent.b)
        inner = self._improved(part_of(node, states[-1]), ROOT)
        goal, asides = min(inner.lower, self.goal), []
        for state in states[:-1]:
            aside = part_of(node, state) if self._stop() else moved(self.bounds, inner, state)
            self.work += aside.work
            asides.append(self._improved(aside, OTHER, goal))
        switches, sides = zip(*chain, strict=True)
        choice = Choice(switches, sides, (*asides, inner))
        with self.record.whole(self.open):
            heapq.heappop(self.open)
            self._push(self._apply(place, choice), inner)

    def _narrowed(self, node: Node) -> Node:
        """A node with narrower spans, where its features are decided and spans raise its bound."""
        convex = node.lower >= self.goal or not isinstance(self.program.loss, Truncated)
        near = node.lent.sparse and node.lower >= HOPE * self.goal
        if convex or self._stop() or not (near or not len(self._features(node))):
            return node

        def better(bounds: RowBounds, node: Node) -> Node:
            self.bounds = bounds
            return self._improved(node, AGAIN, again=True)

        nodes = self.nodes
        found = self._narrower.of(self.bounds, node, self.highest, self.goal, better, self._stop)
        self.nodes, self.work, self.bounds = nodes + 1, self.work + found.work, found.bounds
        if found.rounds:
            self.record.parts.append((node.state, found.rounds))
        return found.node

    def _narrow_open(self) -> None:
        """Narrow the spans of the open nodes, those of least bound first, within the limit."""
        self._stop = lambda: self.deadline.late() or self.work > self.limit
        order = sorted(self.open, key=lambda one: one[:2])
        better, self.open = [(one[2], self._narrowed(one[3])) for one in order], []
        self._tried.update(place for place, _ in better)
        for place, node in better:
            self._push(place, node)

    def run(
        self,
        stop: Callable[[], bool] = lambda: False,
        report: Callable[[Any], None] | None = None,
    ) -> None:
        """Search until every node is closed, or it is told to stop. Ctrl-C stops it."""
        self._stop = lambda: stop() or self.deadline.late()
        try:
            for _ in range(ROUNDS):
                if self._stop() or not self._decide():
                    break
            self._note_rows()
            self.strict = False
            while self.open and not self._stop():
                self._expand()
                if report is not None:
                    report(self.progress())
            self._note_rows()
        except KeyboardInterrupt:
            self.interrupted = True

    def _decide(self) -> bool:
        """Decide in every open node what all its best models share; whether that was anything."""
        waiting, done, changed = self.open, [], False
        try:
            while waiting and not self._stop():
                self.open = [waiting[0]]
                changed |= self._expand(everything=True)
                done += self.open
                del waiting[0]
        finally:
            self.open = done + waiting
            heapq.heapify(self.open)
        return changed

    def _note_rows(self) -> None:
        """The rows on which all nodes that may hold a best model agree."""
        nodes = [*self.record.closed.values(), *(one[3] for one in self.open)]
        left = [node.state for node in nodes if node.lower < self.beyond]
        self.rows = agreed_rows(self.bounds, left) if left else self.rows

    def progress(self) -> Any:
        """Where the search stands."""
        sides = self.incumbent.value, min(self.lower, self.incumbent.value)
        return SearchProgress(self.nodes, len(self.open), *sides, self.deadline.seconds)

    def tree(self) -> RowTree:
        """The proof as it stands."""
        opened = {place: node for _, _, place, node in self.open}
        known = self.kept, self.bounds.switches, self.eta
        return self.record.tree(*known, opened, self.highest)

    def model(self) -> Model:
        """The best model."""
        w = np.zeros(self.whole.m)
        w[self.kept] = self.incumbent.w
        return replace(self.incumbent, w=w)

    def _bounded(
        self, node: Node, effort: Effort, goal: float | None = None, *, root: bool = False
    ) -> Node | None:
        """A node at nearly its best shares; a bound of `goal` is enough."""
        upper = self.incumbent.value
        gap = max(upper - (self.open[0][0] if self.open else 0.0), self.tol * abs(upper))
        eta = most_lent(self.bounds, node.state, gap)
        self.nodes += 1
        goal = self.beyond if goal is None else goal
        found, work = bounded_node(self.bounds, node, eta, effort, goal, self._stop, root=root)
        self.work += work
        return found

    def _push(self, place: int, node: Node) -> None:
        node.scope = place if node.scope is None else node.scope
        if node.lower < self.cutoff:
            self.models.offer(node)
        if self._closes(node):
            self._close(place, node)
        else:
            heapq.heappush(self.open, (node.lower, next(self._numbers), place, node))

    def _closes(self, node: Node) -> bool:
        """Whether a node's bound is enough."""
        return node.lower >= self.goal

    def _close(self, place: int, node: Node) -> None:
        self.record.closed[place] = node

    def _expand(self, *, everything: bool = False) -> bool:
        """Take the node of least bound: decide what can be decided, then split it.

        With `everything`, all rows that may be decided are tried, and nothing is split. Whether
        anything was decided.
        """
        _, _, place, node = self.open[0]
        if place not in self._tried:
            self._tried.add(place)
            better = self._narrowed(node)
            if better is not node:
                heapq.heappop(self.open)
                self._push(place, better)
                return True
        state: States = node.state
        decided: list[Choice] = []
        if everything or node.lent.sparse:
            state, decided = without_weak(self.bounds, node, self.goal, place)
        if self._closes(node):
            heapq.heappop(self.open)
            self._close(place, node)
            return False
        best: tuple[float, Maker] | None = None
        rows, features = self._choices(node)
        most, patience = (None, 1) if features else (ROWS, ROWS)
        if everything:
            most, patience = None, FAILED
        for group in (rows, features if everything else []):
            failed = 0
            for make in itertools.islice(group, most):
                choice = None if self._stop() else make(state)
                if choice is None:
                    continue
                choice = self._pushed(choice, node.lower)
                alive = self._alive(choice)
                if len(alive) <= 1:
                    decided.append(with_last(choice, alive[0]) if alive else choice)
                    state, failed = decided[-1].ways[-1].state, 0
                    if not alive:
                        break
                    continue
                failed += 1
                score = sorted(way.lower for way in choice.ways)[1]
                if best is None or score > best[0]:
                    best = score, make
                if failed >= patience:
                    break
            if decided and decided[-1].ways[-1].lower >= self.goal:
                break
        split, first = None, features[0] if features else None if best is None else best[1]
        if first is not None and not everything and len(decided) < 2:
            split = first(state)
        children = [] if split is None else [self._improved(way) for way in split.ways]
        # What holds for the node holds for its parts.
        children = [way if way.lower > node.lower else part_of(node, way.state) for way in children]
        rest = None if decided and decided[-1].ways[-1].lower >= self.goal else part_of(node, state)
        if rest is not None and decided and split is None:
            rest = self._improved(rest, again=True)
        with self.record.whole(self.open):
            heapq.heappop(self.open)
            for choice in decided:
                place = self._apply(place, choice)
            if split is not None:
                last = self._apply(place, replace(split, ways=tuple(children)))
                self._push(last, children[-1])
            elif rest is None:
                self._push(place, decided[-1].ways[-1])
            elif decided or everything or self._stop():
                self._push(place, rest)
            else:
                # Nothing is left to decide: the bound is as high as it gets.
                self._close(place, rest)
        return bool(decided)

    def _alive(self, choice: Choice) -> list[Node]:
        return [way for way in choice.ways if way.lower < self.goal]

    def _pushed(self, choice: Choice, lower: float) -> Choice:
        """The same choice, with better bounds where that may leave one way only."""
        alive = sorted(self._alive(choice), key=lambda way: way.lower)
        near = self.goal - NEAR * (self.goal - lower)
        if len(alive) < 2 or alive[1].lower < near:
            return choice
        better = {id(way): self._improved(way) for way in alive[1:]}
        return replace(choice, ways=tuple(better.get(id(way), way) for way in choice.ways))

    def _improved(
        self, way: Node, effort: Effort = OTHER, goal: float | None = None, *, again: bool = False
    ) -> Node:
        """A node at better shares, unless its bound is enough."""
        if way.lower >= (self.goal if goal is None else goal) or self._stop():
            return way
        found = [way, self._bounded(way, effort, goal)]
        if again:
            found.append(relaxed_node(self.bounds, way.state, way.w, way.b, way.lent))
        return max((node for node in found if node is not None), key=lambda node: node.lower)

    def _apply(self, place: int, choice: Choice) -> int:
        """Write down a choice, but for its last way: where that one goes on."""
        for switch, side, way in zip(choice.switches, choice.sides, choice.ways, strict=False):
            minus, plus = self.record.split(place, switch)
            aside, place = (plus, minus) if side > 0 else (minus, plus)
            self._push(aside, way)
        return place

    def _choices(self, node: Node) -> tuple[Sequence[Maker], Sequence[Maker]]:
        """What may be decided at a node, about rows and about features, the best of each first."""
        rows, features = promising_rows(self.bounds, node), self._features(node)

        def spend(work: float) -> None:
            self.work += work

        ways = Ways(self.bounds, node, self.goal, spend)
        by_row = [partial(ways.three, row) for row in rows.tolist()]
        return by_row, [partial(ways.two, one) for one in features.tolist()]

    def _features(self, node: Node) -> Index:
        """The features to split a node by, the best first."""
        return leading_features(self.bounds, node)
