"""Branch and bound for the truncated loss: over rows, features and the intercept (`bounds.rows`).

A row in doubt has three ways to be: an inlier, an outlier above or below. For most rows two of them
are soon proved impossible: with its residual pushed beyond c, the others fit worse than the best
model. So rows nearest to being proved come first. Each inlier that is proved adds curvature, which
raises the bounds on the rest: trees are long and thin. While features are open, rows are decided
where that takes no split, and nodes are split by features, the heaviest first.

Round 0 splits the root, into ranges of the intercept or by features, and round 1 narrows the spans
of all nodes. Further rounds, ROUNDS at most, decide in every node what all its best models share,
while that is anything. Then nodes are split, that of least bound first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.bounds import Lent, RowBounds, States
from sparsebounds.certificates import RowTree
from sparsebounds.exact.engine import BranchAndBound, cutoff_below
from sparsebounds.exact.minimization import SearchProgress
from sparsebounds.exact.reduction import on_all, on_kept
from sparsebounds.exact.row_basis import STRICT, Basis
from sparsebounds.exact.row_bounding import AGAIN, LATER, OTHER, ROOT, bounded_node
from sparsebounds.exact.row_checkpoint import RowState
from sparsebounds.exact.row_models import RowModels
from sparsebounds.exact.row_narrowing import Narrower
from sparsebounds.exact.row_order import agreed_rows, leading_features, promising_rows
from sparsebounds.exact.row_ranges import most_lent
from sparsebounds.exact.row_record import Choice, Record, part_of
from sparsebounds.exact.row_root import by_features, in_ranges
from sparsebounds.exact.row_ways import FAILED, ROWS, Trial, Ways, without_weak
from sparsebounds.fitting import Model
from sparsebounds.losses import Truncated
from sparsebounds.program import Program
from sparsebounds.relaxation import Effort, Node, relaxed_node

NARROW, ROUNDS = 1, 8
"""The number of the round that narrows spans; further rounds that there are at most."""

HOPE = 0.85
"""Where features are open, rows are tried and spans narrowed of nodes whose bound is this part of
the goal."""


class RowSearch(BranchAndBound):
    """The search on a program with the truncated loss, from a model, or one taken up again."""

    def __init__(
        self,
        program: Program,
        model: Model,
        tol: float,
        eta: float,
        boxes: Sequence[Vector] = (),
        deadline: Deadline = NEVER,
        level: float = -math.inf,
        saved: RowState | None = None,
    ) -> None:
        """`eta` is the multiplier of the ball, if any; `boxes` cut the range of the intercept.

        Models up to `level` are searched, at least those up to the model's value. A search that was
        `saved` has its own eta, boxes and level.
        """
        basis = Basis.of(program, model, eta, boxes, level) if saved is None else saved.basis
        model = on_kept(model, basis.kept)
        best = model if saved is None else saved.model
        super().__init__(basis.bounds.program, best, cutoff_below(program, tol))
        self.whole, self.deadline, self.tol, self.basis = program, deadline, tol, basis
        self.bounds, self.models = basis.bounds, RowModels(basis.bounds, self._take)
        self.limit, self.work = math.inf, 0.0
        """Operations after which no span is narrowed, and those so far."""

        self.record = Record()
        self.open: dict[int, Node] = {}
        """By their places in the tree."""

        self.round, self.changed, self.agenda = 0, False, list[int]()
        """The round, whether it has decided anything, and the nodes that it has yet to visit."""

        self.floor = self.goal = 0.0
        """For the node at hand: what its gap is measured from, and the bound that is enough."""

        self.interrupted = False
        self._narrowed, self._narrower, self._stop = set[int](), Narrower(), deadline.late
        self._cut = False
        """Whether it was told to stop within the last step."""

        self._clean: RowState | None = None
        """As it stood after the last step that was not cut."""

        if saved is not None:
            self._clean, self.seconds = saved, saved.seconds
            self._go_back(saved)
            self.offer(model)

    @property
    def strict(self) -> bool:
        """Whether what is decided must hold for every best model."""
        return self.round <= NARROW + ROUNDS

    @property
    def beyond(self) -> float:
        """No best model has a bound of at least this."""
        return self.incumbent.value + STRICT * abs(self.incumbent.value)

    @property
    def least(self) -> float:
        if not self.started:
            return -math.inf
        return min((node.lower for node in self.open.values()), default=math.inf)

    @property
    def left(self) -> int:
        return len(self.open)

    @property
    def started(self) -> bool:
        """Whether there is a bound."""
        return bool(self.open or self.record.closed)

    @property
    def rows(self) -> States:
        """What every best model has in common: 1 for inliers, -1 for outliers, 0 in doubt."""
        nodes = [*self.record.closed.values(), *self.open.values()]
        return agreed_rows(self.bounds, [one.state for one in nodes if one.lower < self.beyond])

    @property
    def state(self) -> RowState | None:
        """What another search can go on from: no step that was cut short; None before the start."""
        return None if self._clean is None else replace(self._clean, seconds=self.seconds)

    def start(self) -> None:
        """Bound the root, all of it where it has no ranges."""
        self.close(self.bounds.outer[1])
        self.goal = self._enough(None)
        state = np.zeros(self.bounds.switches.count, dtype=np.int8)
        state[: self.program.m][self.program.always] = 1
        nothing = Lent.nothing(self.program.n, self.program.m)
        first = Node(state, self.incumbent.w, self.incumbent.b, nothing, 0.0, 0.0)
        ranged = len(self.bounds.switches.cuts) > 0
        root = first if ranged else self._bounded(first, ROOT, root=True)
        if root is not None:
            self._push(0, root)
            self.agenda = list(self.open)
            self._keep()

    def _divide(self, place: int) -> None:
        """Split the root before anything else."""
        node, how = self.open[place], (self.goal, self._improved)
        parts = in_ranges(self.bounds, node, self.incumbent.b, *how, self._halted)
        parts = parts or by_features(self.bounds, node, *how)
        if parts is not None:
            del self.open[place]
            self._push(self._apply(place, parts), parts.ways[-1])

    def _narrow(self, place: int) -> Node:
        """A node with narrower spans, where its features are decided and spans raise its bound."""
        self._narrowed.add(place)
        node = self.open[place]
        convex = node.lower >= self.goal or not isinstance(self.program.loss, Truncated)
        near = node.lent.sparse and node.lower >= HOPE * self.goal
        if convex or self._halted() or not (near or not len(self._features(node))):
            return node

        nodes, level = self.nodes, self.basis.level

        def better(bounds: RowBounds, node: Node) -> Node:
            # However often it is bounded, it counts once.
            self.bounds, self.nodes = bounds, nodes
            return self._improved(node, AGAIN, again=True)

        found = self._narrower.of(self.bounds, node, level, self.goal, better, self._halted)
        self.nodes, self.work, self.bounds = nodes + 1, self.work + found.work, found.bounds
        if found.rounds:
            self.record.parts.append((node.state, found.rounds))
        return found.node

    def narrow(self, report: Callable[[Any], None] | None = None) -> None:
        """Take the first two rounds: spans are narrowed within the limit of operations."""

        def full() -> bool:
            spent = self.round == NARROW and self.work > self.limit
            return self.round > NARROW or spent or self.deadline.late()

        self.run(full, report)
        if self.round == NARROW:
            self._end_round()

    def _halted(self) -> bool:
        """Whether it is told to stop: what is left of the step is not done then."""
        self._cut = self._cut or self._stop()
        return self._cut

    def _step(self) -> None:
        self._cut = False
        if not self.strict:
            self._visit(min(self.open, key=lambda place: self.open[place].lower))
        elif not self.agenda:
            self._end_round()
        else:
            place = self.agenda.pop(0)
            self.goal = self._enough(self.open[place])
            if self.round == 0:
                self._divide(place)
            elif self.round == NARROW:
                self.open[place] = self._narrow(place)
            else:
                self.changed |= self._visit(place, everything=True)
        self._keep()

    def _end_round(self) -> None:
        if self.round == 0:
            self.open = dict(sorted(self.open.items(), key=lambda one: one[1].lower))
            self.floor = min(self.least, self.cutoff)
        elif self.round == NARROW:
            for place, node in list(self.open.items()):
                self._push(place, node)
        going_on = self.changed or self.round <= NARROW
        self.round = self.round + 1 if going_on else NARROW + ROUNDS + 1
        self.agenda, self.changed = list(self.open) if self.strict else [], False

    def _keep(self) -> None:
        """Remember how it stands now, unless the last step was cut short."""
        if self._cut:
            return
        self._clean = RowState(
            self.basis,
            self.bounds,
            self.record.copy(),
            self.open.copy(),
            model=self.incumbent,
            met=frozenset(self.models.met),
            narrowed=frozenset(self._narrowed),
            hopeless=self._narrower.hopeless,
            round=self.round,
            changed=self.changed,
            agenda=tuple(self.agenda),
            floor=self.floor,
            work=self.work,
            nodes=self.nodes,
        )

    def _mark(self) -> RowState:
        assert self._clean is not None
        return self._clean

    def _go_back(self, mark: RowState) -> None:
        self.bounds, self.record, self.open = mark.bounds, mark.record.copy(), mark.open.copy()
        self.models.met, self._narrowed = set(mark.met), set(mark.narrowed)
        self._narrower.hopeless, self.agenda = mark.hopeless, list(mark.agenda)
        self.round, self.changed, self.floor = mark.round, mark.changed, mark.floor
        self.nodes, self.work = mark.nodes, mark.work
        bounds = [node.lower for node in self.record.closed.values()]
        self.closed = min([self.bounds.outer[1], *bounds])

    def progress(self) -> Any:
        return SearchProgress(self.nodes, self.left, self.incumbent.value, self.lower, self.seconds)

    def tree(self) -> RowTree:
        """The proof as it stands."""
        return self.record.tree(self.basis, self.open)

    def model(self) -> Model:
        """The best model."""
        return on_all(self.incumbent, self.basis.kept, self.whole.m)

    def _bounded(
        self, node: Node, effort: Effort, goal: float | None = None, *, root: bool = False
    ) -> Node | None:
        """A node at nearly its best shares; a bound of `goal` is enough."""
        upper = self.incumbent.value
        gap = max(upper - self.floor, self.tol * abs(upper))
        eta = most_lent(self.bounds, node.state, gap)
        self.nodes += 1
        goal = self.beyond if goal is None else goal
        found, work = bounded_node(self.bounds, node, eta, effort, goal, self._halted, root=root)
        self._spend(work)
        return found

    def _spend(self, work: float) -> None:
        self.work += work

    def _take(self, model: Model, support: Index) -> None:
        """What becomes of a model with this support, or a smaller one."""
        self.offer(model)

    def _push(self, place: int, node: Node) -> None:
        node.scope = place if node.scope is None else node.scope
        if node.lower < self.cutoff:
            self.models.suggested(node)
        if node.lower >= self._enough(node):
            self._shut(place, node)
        else:
            self.open[place] = node

    def _enough(self, node: Node | None) -> float:
        """The bound that closes a node, or any node: for every best model, while it is `strict`."""
        return self.beyond if self.strict else self.cutoff

    def _shut(self, place: int, node: Node) -> None:
        self.record.closed[place] = node
        self.open.pop(place, None)
        self.close(node.lower)

    def _close_open(self) -> bool:
        enough = self._enough(None)
        for place in [place for place, node in self.open.items() if node.lower >= enough]:
            self._shut(place, self.open[place])
        self.agenda = [place for place in self.agenda if place in self.open]
        return bool(self.open)

    def _visit(self, place: int, *, everything: bool = False) -> bool:
        """Decide what can be decided at a node, then split it; whether anything was decided.

        With `everything`, all rows that may be decided are tried, and nothing is split.
        """
        node = self.open[place]
        self.floor, self.goal = node.lower, self._enough(node)
        if place not in self._narrowed and (better := self._narrow(place)) is not node:
            del self.open[place]
            self._push(place, better)
            return True
        if node.lower >= self.goal:
            self._shut(place, node)
            return False
        state, decided = node.state, list[Choice]()
        if everything or node.lent.sparse:
            state, decided = without_weak(self.bounds, node, self.goal, place)
        ways = Ways(self.bounds, node, self.goal, self._spend)
        rows = ways.of_rows(promising_rows(self.bounds, node))
        features = ways.of_features(self._features(node))
        trial = Trial(node, self.goal, self._improved, self._halted, state, decided)
        if everything:
            trial.go(rows, FAILED)
            trial.go(features, FAILED)
        elif not features or node.lower >= HOPE * self.goal:
            trial.go(rows if features else rows[:ROWS], 1 if features else ROWS)
        best, state = trial.best, trial.state
        split, first = None, features[0] if features else None if best is None else best[1]
        if first is not None and not everything and len(decided) < 2:
            split = first(state)
        children = [] if split is None else [self._improved(way) for way in split.ways]
        # What holds for the node holds for its parts.
        children = [way if way.lower > node.lower else part_of(node, way.state) for way in children]
        rest = None if trial.done else part_of(node, state)
        if rest is not None and decided and split is None:
            rest = self._improved(rest, again=True)
        del self.open[place]
        for choice in decided:
            place = self._apply(place, choice)
        if split is not None:
            last = self._apply(place, replace(split, ways=tuple(children)))
            self._push(last, children[-1])
        elif rest is None:
            self._push(place, decided[-1].ways[-1])
        elif decided or everything or self._halted():
            self._push(place, rest)
        else:
            # Nothing is left to decide: the bound is as high as it gets.
            self._shut(place, rest)
        return bool(decided)

    def _improved(
        self,
        way: Node,
        effort: Effort | None = None,
        goal: float | None = None,
        *,
        again: bool = False,
    ) -> Node:
        """A node at better shares, unless its bound is enough."""
        if way.lower >= (self.goal if goal is None else goal) or self._halted():
            return way
        effort = effort or (LATER if way.lent.sparse else OTHER)
        found = [way, self._bounded(way, effort, goal)]
        if again:
            found.append(relaxed_node(self.bounds, way.state, way.w, way.b, way.lent))
        return max((node for node in found if node is not None), key=lambda node: node.lower)

    def _apply(self, place: int, choice: Choice) -> int:
        """Write down a choice, but for its last way: where that one goes on."""
        asides, place = self.record.chain(place, choice.switches, choice.sides)
        for aside, way in zip(asides, choice.ways, strict=False):
            self._push(aside, way)
        return place

    def _features(self, node: Node) -> Index:
        """The features to split a node by, the best first."""
        return leading_features(self.bounds, node)
