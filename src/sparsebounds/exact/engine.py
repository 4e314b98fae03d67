"""Best-bound branch and bound over supports: the open nodes in arrays, bounded in small batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline, TimeUp
from sparsebounds.bounds import States
from sparsebounds.exact.bounder import Bounded, Bounder
from sparsebounds.exact.checkpoint import SearchState
from sparsebounds.exact.difficulty import Outlook, outlook
from sparsebounds.exact.frontier import Frontier
from sparsebounds.exact.record import Record
from sparsebounds.models import Model, refit
from sparsebounds.program import Program

BATCH = 8
"""Nodes split at a time: more would split nodes that a better model closes."""

MEMORY = 1 << 30
"""Bytes of open nodes beyond which the newest are split first: depth before breadth."""

NEARLY = 3
"""Features that may be undecided in a relaxed solution that is tried as a model."""


@dataclass(frozen=True)
class SearchProgress:
    """Where a search stands."""

    nodes: int
    open: int
    upper: float
    lower: float
    """The smallest bound of the open nodes, as computed; the certificate's is rounded."""

    seconds: float
    outlook: Outlook | None = None
    """What was expected before it began."""

    def line(self) -> str:
        """The same in a clause."""
        gap = (self.upper - self.lower) / max(abs(self.upper), 1e-300)
        rate = self.nodes / max(self.seconds, 1e-9)
        return (
            f"best {self.upper:.6g}, bound {self.lower:.6g}, gap {gap:.2%}, "
            f"{self.open} open of {self.nodes} nodes, {rate:.0f} a second"
        )


class BranchAndBound:
    """The search tree of a program: run it, stop it, run it again."""

    def __init__(
        self,
        program: Program,
        bounder: Bounder,
        incumbent: Model,
        slack: Callable[[float], float],
    ) -> None:
        self.program, self.bounder, self.incumbent = program, bounder, incumbent
        self.slack = slack
        """What a bound may be below the incumbent's value and still close a node."""

        self.record = Record()
        self.open: Frontier | None = None
        self.closed = np.inf
        """The smallest bound of the nodes closed."""

        self.nodes = 0
        self.seconds = 0.0
        """Spent in `run` so far."""

        self._tried: set[tuple[int, ...]] = set()

    @property
    def cutoff(self) -> float:
        """A bound of at least this closes a node."""
        return self.incumbent.value - self.slack(self.incumbent.value)

    @property
    def lower(self) -> float:
        """What the tree proves so far, before rounding."""
        opened = np.zeros(0) if self.open is None else self.open.nodes.lower
        return min(self.closed, float(np.min(opened, initial=np.inf)), self.incumbent.value)

    def start(self, root: Bounded) -> None:
        """The root node, bounded."""
        self.nodes = 1
        self.outlook = outlook(self.bounder, root, self.incumbent, self.cutoff)
        self.open = Frontier(*self._settle(root, np.zeros(1, dtype=np.int64)))

    def resume(self, state: SearchState) -> None:
        """Where another search stood."""
        self.record, self.open = Record.of(state.tree), Frontier(state.open, state.places)
        self.closed, self.nodes, self.seconds = state.closed, state.nodes, state.seconds
        self.bounder.memory, self.outlook = (state.steps, state.failures), state.outlook

    def run(
        self,
        stop: Callable[[], bool],
        node_limit: float = np.inf,
        report: Callable[[SearchProgress], None] | None = None,
    ) -> None:
        """Split and bound until every node is closed, or it is told to stop. Ctrl-C stops it.

        So does a batch of nodes that would not end before the bounder's deadline.
        """
        clock = Deadline()
        earlier = self.seconds
        while self._close_open() and not stop() and self.nodes < node_limit:
            assert self.open is not None
            before = self.record.splits, self.closed, self.nodes, self.bounder.memory
            try:
                self._expand()
            except (KeyboardInterrupt, TimeUp) as end:
                # Half a batch proves nothing: back to where it began.
                splits, self.closed, self.nodes, self.bounder.memory = before
                self.record.forget(splits)
                if isinstance(end, TimeUp):
                    return
                raise
            self.seconds = earlier + clock.seconds
            if report is not None:
                report(self.progress())

    def progress(self) -> SearchProgress:
        """Where the search stands."""
        upper, count = self.incumbent.value, 0 if self.open is None else len(self.open)
        return SearchProgress(self.nodes, count, upper, self.lower, self.seconds, self.outlook)

    def _close_open(self) -> bool:
        """Close open nodes that a better incumbent has settled; whether any are left."""
        assert self.open is not None
        lower = self.open.nodes.lower
        live = lower < self.cutoff
        if not live.all():
            self.closed = min(self.closed, float(np.min(lower[~live])))
            self.open.keep(live)
        return len(self.open) > 0

    def _choice(self, nodes: Bounded, places: Index) -> Index:
        """The nodes to split: those of least bound, or the newest where memory is short."""
        size = min(BATCH, len(places))
        if nodes.bytes > MEMORY:
            return np.argpartition(-places, size - 1)[:size]
        return np.argpartition(nodes.lower, size - 1)[:size]

    def _expand(self) -> None:
        assert self.open is not None
        opened, places = self.open.nodes, self.open.places
        chosen = self._choice(opened, places)
        state: list[States] = []
        w: list[Vector] = []
        b: list[float] = []
        at: list[int] = []
        for row in chosen:
            split = self.bounder.split(opened, row, self.cutoff)
            if split is None:
                # Every feature is decided, and the bound is as high as float64 takes it.
                self.closed = min(self.closed, float(opened.lower[row]))
                continue
            left, node = opened.state[row].copy(), int(places[row])
            for feature, side in zip(split.features.tolist(), split.sides.tolist(), strict=True):
                made = self.record.split(node, feature)
                child = left.copy()
                child[feature], left[feature] = side, -side
                state.append(child)
                at.append(made[int(side > 0)])
                node = made[int(side < 0)]
            state.append(left)
            at.append(node)
            w.append(split.w)
            b += [opened.b[row]] * len(split.w)
        kept, kept_at = opened.take(chosen[:0]), places[:0]
        if state:
            found = self.bounder.bound(
                np.stack(state), np.concatenate(w), np.array(b), self.cutoff, self.incumbent.value
            )
            self.nodes += len(state)
            kept, kept_at = self._settle(found, np.array(at))
        self.open.replace(chosen, kept, kept_at)

    def _settle(self, nodes: Bounded, at: Index) -> tuple[Bounded, Index]:
        """Record the bounds, look for models, close nodes, fix features in those that stay open."""
        for row, node in enumerate(at):
            self.record.bound(int(node), nodes.w[row], float(nodes.b[row]))
        for support in self._candidates(nodes, np.flatnonzero(nodes.lower < self.cutoff)):
            model = refit(self.program, support)
            if model.value < self.incumbent.value:
                self.incumbent = model
        live = nodes.lower < self.cutoff
        self.closed = min(self.closed, float(np.min(nodes.lower[~live], initial=np.inf)))
        nodes, at = nodes.take(np.flatnonzero(live)), at[live]
        fixed = self.bounder.fix(nodes, self.incumbent.value)
        for row, node in enumerate(at):
            left = np.flatnonzero(nodes.state[row] == 0)
            if len(left) and not np.any(fixed[row] == 0):
                # One feature stays open, for a split: the node's dual vector fixes, and bounds,
                # but the supports that are left deserve a dual vector of their own.
                fixed[row, left[0]] = 0
            new = np.where(nodes.state[row] == 0, fixed[row], 0)
            self.record.fix(int(node), np.flatnonzero(new > 0), np.flatnonzero(new < 0))
        return self._shifted(nodes.with_state(fixed), at)

    def _shifted(self, nodes: Bounded, at: Index) -> tuple[Bounded, Index]:
        """Close nodes by a shifted bound, where the loss has one and it pays."""
        live = np.ones(len(at), dtype=np.bool_)
        for row, node in enumerate(at):
            found = self.bounder.shift(nodes, row, self.cutoff, self.incumbent.value)
            if found is not None:
                self.record.shift(int(node), found)
                self.closed = min(self.closed, found.lower)
                live[row] = False
        return nodes.take(np.flatnonzero(live)), at[live]

    def _candidates(self, nodes: Bounded, rows: Index) -> Iterator[Index]:
        """Supports of relaxed solutions in which nearly every feature is in or out, once each."""
        program = self.program
        for row in rows:
            u = self.bounder.weights(nodes, row)
            if np.count_nonzero((u > 0.0) & (u < 1.0)) > NEARLY:
                continue
            chosen = np.flatnonzero((u >= 0.5) | (nodes.state[row] > 0))
            too_many = program.k is not None and np.count_nonzero(program.free[chosen]) > program.k
            key = tuple(chosen.tolist())
            if too_many or key in self._tried:
                continue
            yield chosen
            # Only now: an interrupted refit is no try.
            self._tried.add(key)
