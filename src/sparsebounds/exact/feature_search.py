"""Branch and bound over supports: the open nodes in arrays, split and bounded in small batches.

`minimization` and `enumeration` derive from it. They differ in their cutoff and in `settle`: what
becomes of new nodes.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import States, together
from sparsebounds.exact.bounder import Bounded, Bounder
from sparsebounds.exact.engine import BranchAndBound
from sparsebounds.exact.frontier import Frontier
from sparsebounds.exact.record import Record

BATCH = 8
"""Nodes split at a time: more would split nodes that a better model closes."""

MEMORY = 1 << 30
"""Bytes of open nodes beyond which the newest are split first: depth before breadth."""

Mark: TypeAlias = tuple[int, int, tuple[int, int, int]]
"""Splits, nodes, and the bounder's memory."""


@dataclass(eq=False)
class FeatureSearch(BranchAndBound):
    """The search tree over the supports of a program."""

    bounder: Bounder
    record: Record = field(default_factory=Record, init=False)
    open: Frontier | None = field(default=None, init=False)
    """None until the root is bounded."""

    @property
    def least(self) -> float:
        if self.open is None:
            return -np.inf
        return float(np.min(self.open.nodes.lower, initial=np.inf))

    @property
    def left(self) -> int:
        return 0 if self.open is None else len(self.open)

    @property
    def aim(self) -> float:
        """The bound that the children of a split should reach; np.inf: split on one feature."""
        return self.cutoff

    @abstractmethod
    def settle(self, state: States, w: Vector, b: Vector, at: Index) -> tuple[Bounded, Index]:
        """Bound new nodes, whose places in the tree are `at`; those that stay open, and where.

        Bounding starts from the coefficients w and b.
        """

    def start(self, w: Vector, b: float) -> None:
        """Bound the root, which holds every support."""
        state = np.zeros((1, self.program.m), dtype=np.int8)
        state[:, self.program.always] = 1
        self.open = Frontier(*self.settle(state, w[None], np.array([b]), np.array([0])))

    def _close_open(self) -> bool:
        assert self.open is not None
        lower = self.open.nodes.lower
        live = lower < self.cutoff
        if not live.all():
            self.close(lower[~live])
            self.open.keep(live)
        return len(self.open) > 0

    def _mark(self) -> Mark:
        return self.record.splits, self.nodes, self.bounder.memory

    def _go_back(self, mark: Mark) -> None:
        splits, self.nodes, self.bounder.memory = mark
        self.record.forget(splits)

    def _choice(self, nodes: Bounded, places: Index) -> Index:
        """The nodes to split: those of least bound, or the newest where memory is short."""
        size = min(together(self.program, BATCH), len(places))
        key = -places if nodes.bytes > MEMORY else nodes.lower
        return np.argpartition(key, size - 1)[:size]

    def _step(self) -> None:
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
            features, sides = split.features.tolist(), split.sides.tolist()
            asides, last = self.record.chain(int(places[row]), features, sides)
            left = opened.state[row].copy()
            for feature, side in zip(features, sides, strict=True):
                child, group = left.copy(), self.program.groups.whole(np.array([feature]))
                child[group], left[group] = side, -side
                state.append(child)
            state.append(left)
            at += [*asides, last]
            w.append(split.w)
            b += [opened.b[row]] * len(split.w)
        kept, kept_at = Bounded.none(self.program.m), places[:0]
        if state:
            kept, kept_at = self.settle(
                np.stack(state), np.concatenate(w), np.array(b), np.array(at)
            )
        self.open.replace(chosen, kept, kept_at)
