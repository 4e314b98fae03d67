"""Best-bound branch and bound over supports: the open nodes in arrays, bounded in small batches.

One engine serves two searches, `minimization` (the best model, and a proof) and `enumeration` (all
supports below a cutoff). They differ in their cutoff and in `settle`: what becomes of new nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline, TimeUp
from sparsebounds.bounds import States, together
from sparsebounds.exact.bounder import Bounded, Bounder
from sparsebounds.exact.frontier import Frontier
from sparsebounds.exact.record import Record
from sparsebounds.models import Model
from sparsebounds.program import Program

BATCH = 8
"""Nodes split at a time: more would split nodes that a better model closes."""

MEMORY = 1 << 30
"""Bytes of open nodes beyond which the newest are split first: depth before breadth."""


@dataclass(eq=False)
class BranchAndBound(ABC):
    """The search tree of a program: run it, stop it, run it again."""

    program: Program
    bounder: Bounder
    incumbent: Model
    """The best model known."""

    cutoff_at: Callable[[float], float]
    """The cutoff, a function of the incumbent's value."""

    record: Record = field(default_factory=Record, init=False)
    open: Frontier | None = field(default=None, init=False)
    """None until the root is bounded."""

    closed: float = field(default=np.inf, init=False)
    """The smallest bound of the nodes closed."""

    nodes: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    """Spent in `run` so far."""

    @property
    def cutoff(self) -> float:
        """A bound of at least this closes a node."""
        return self.cutoff_at(self.incumbent.value)

    @property
    def least(self) -> float:
        """The smallest bound of the open nodes: inf where none is left, -inf before the start."""
        if self.open is None:
            return -np.inf
        return float(np.min(self.open.nodes.lower, initial=np.inf))

    @property
    def lower(self) -> float:
        """The bound that the tree gives so far, before any rounding for a claim."""
        return min(self.closed, self.least, self.incumbent.value)

    @property
    def aim(self) -> float:
        """The bound that the children of a split should reach; np.inf: split on one feature."""
        return self.cutoff

    @abstractmethod
    def settle(self, state: States, w: Vector, b: Vector, at: Index) -> tuple[Bounded, Index]:
        """Bound new nodes, whose places in the tree are `at`; those that stay open, and where.

        Bounding starts from the coefficients w and b.
        """

    @abstractmethod
    def progress(self) -> Any:
        """Where the search stands."""

    def start(self, w: Vector, b: float) -> None:
        """Bound the root, which holds every support."""
        state = np.zeros((1, self.program.m), dtype=np.int8)
        state[:, self.program.always] = 1
        self.open = Frontier(*self.settle(state, w[None], np.array([b]), np.array([0])))

    def run(self, stop: Callable[[], bool], report: Callable[[Any], None] | None = None) -> None:
        """Split and bound until every node is closed, or it is told to stop. Ctrl-C stops it.

        So does a batch of nodes that would not end before the bounder's deadline.
        """
        clock, earlier = Deadline(), self.seconds
        while self._close_open() and not stop():
            before = self.record.splits, self.nodes, self.bounder.memory
            try:
                self._expand()
            except (KeyboardInterrupt, TimeUp) as end:
                # Half a batch proves nothing: back to where it began. `closed` stays: too small a
                # number does no harm, and bounds of the same nodes will be taken again.
                splits, self.nodes, self.bounder.memory = before
                self.record.forget(splits)
                self.seconds = earlier + clock.seconds
                if isinstance(end, TimeUp):
                    return
                raise
            self.seconds = earlier + clock.seconds
            if report is not None:
                report(self.progress())

    def close(self, lower: Vector | float) -> None:
        """Take note of the bounds of nodes that are closed."""
        self.closed = min(self.closed, float(np.min(lower, initial=np.inf)))

    def _close_open(self) -> bool:
        """Close open nodes that a better incumbent has settled; whether any are left."""
        assert self.open is not None
        lower = self.open.nodes.lower
        live = lower < self.cutoff
        if not live.all():
            self.close(lower[~live])
            self.open.keep(live)
        return len(self.open) > 0

    def _choice(self, nodes: Bounded, places: Index) -> Index:
        """The nodes to split: those of least bound, or the newest where memory is short."""
        size = min(together(self.program, BATCH), len(places))
        key = -places if nodes.bytes > MEMORY else nodes.lower
        return np.argpartition(key, size - 1)[:size]

    def _expand(self) -> None:
        assert self.open is not None
        opened, places = self.open.nodes, self.open.places
        chosen = self._choice(opened, places)
        state: list[States] = []
        w: list[Vector] = []
        b: list[float] = []
        at: list[int] = []
        for row in chosen:
            split = self.bounder.split(opened, row, self.aim)
            if split is None:
                # Every feature is decided, and the bound is as high as float64 takes it.
                self.close(opened.lower[row])
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
        kept, kept_at = Bounded.none(self.program.m), places[:0]
        if state:
            kept, kept_at = self.settle(
                np.stack(state), np.concatenate(w), np.array(b), np.array(at)
            )
        self.open.replace(chosen, kept, kept_at)
