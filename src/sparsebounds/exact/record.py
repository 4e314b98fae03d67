"""What a search writes down as it goes, to be a `Tree` in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds.certificates import Shift, Tree

Dual: TypeAlias = tuple[npt.NDArray[np.int32], Vector, float]
"""(features, coefficients, intercept) from which a node's dual vector is formed."""

_NOTHING: Dual = (np.zeros(0, dtype=np.int32), np.zeros(0), 0.0)
_NONE: Index = np.zeros(0, dtype=np.int64)


@dataclass
class Splits:
    """The splits of a tree in their order: number p makes nodes 1 + 2p (-1) and 2 + 2p (+1)."""

    parent: list[int] = field(default_factory=list)
    switch: list[int] = field(default_factory=list)
    """For each split: the node, and what it is split by."""

    @property
    def splits(self) -> int:
        """How many there are."""
        return len(self.parent)

    def split(self, node: int, switch: int) -> tuple[int, int]:
        """Two new nodes: the switch at -1, and at 1."""
        self.parent.append(node)
        self.switch.append(switch)
        return 2 * self.splits - 1, 2 * self.splits

    def chain(
        self, node: int, switches: Sequence[int], sides: Sequence[int]
    ) -> tuple[list[int], int]:
        """Splits in a chain: the children on these sides are set aside, the others split on.

        The places of the former, and of what the last split goes on with.
        """
        asides = []
        for switch, side in zip(switches, sides, strict=True):
            made = self.split(node, switch)
            asides.append(made[int(side > 0)])
            node = made[int(side < 0)]
        return asides, node


@dataclass
class Record(Splits):
    """The nodes made so far by a search over features: dual vectors, features fixed."""

    duals: list[Dual | None] = field(default_factory=lambda: [None])
    shifts: dict[int, Shift] = field(default_factory=dict)
    fixed: list[Index] = field(default_factory=lambda: [_NONE])
    exhausted: set[int] = field(default_factory=set)
    proved: dict[int, float] = field(default_factory=dict)
    """The bounds of leaves that are closed otherwise than by their dual vectors."""

    def split(self, node: int, switch: int) -> tuple[int, int]:
        """Two new nodes: the feature out, and in."""
        self.duals += [None, None]
        self.fixed += [_NONE, _NONE]
        return super().split(node, switch)

    def bound(self, node: int, w: Vector, b: float) -> None:
        """The coefficients whose gradient is the node's dual vector."""
        support = np.flatnonzero(w)
        self.duals[node] = support.astype(np.int32), w[support], float(b)

    def shift(self, node: int, shift: Shift, lower: float) -> None:
        """A leaf that a shift closes, and its bound."""
        self.shifts[node], self.proved[node] = shift, lower

    def exhaust(self, node: int, lower: float) -> None:
        """A leaf whose supports were all tried, and its bound."""
        self.exhausted.add(node)
        self.proved[node] = lower

    def fix(self, node: int, inside: Index, outside: Index) -> None:
        """Features that the node's dual vector fixes."""
        self.fixed[node] = np.concatenate((inside, -1 - outside)).astype(np.int64)

    def whole(self, splits: int) -> int:
        """So many splits, or the few more that end a chain: its inner nodes have no bound."""
        while splits and None in self.duals[2 * splits - 1 : 2 * splits + 1]:
            splits += 1
        return splits

    def forget(self, splits: int) -> None:
        """Back to the first so many splits."""
        del self.parent[splits:], self.switch[splits:]
        del self.duals[1 + 2 * splits :], self.fixed[1 + 2 * splits :]
        self.shifts = {node: s for node, s in self.shifts.items() if node <= 2 * splits}
        self.exhausted = {node for node in self.exhausted if node <= 2 * splits}
        self.proved = {node: bound for node, bound in self.proved.items() if node <= 2 * splits}

    def tree(self, kept: Index, removal: Vector, splits: int | None = None) -> Tree:
        """The proof, or what it was after so many splits."""
        splits = self.splits if splits is None else splits
        nodes = 1 + 2 * splits
        parts = [_NOTHING if dual is None else dual for dual in self.duals[:nodes]]
        sizes = [-1 if dual is None else len(dual[0]) for dual in self.duals[:nodes]]
        fixed = self.fixed[:nodes]
        return Tree(
            kept=kept,
            removal=removal,
            parent=np.array(self.parent[:splits], dtype=np.int64),
            feature=np.array(self.switch[:splits], dtype=np.int64),
            counts=np.array(sizes, dtype=np.int64),
            support=np.concatenate([part[0] for part in parts]),
            values=np.concatenate([part[1] for part in parts]),
            intercept=np.array([part[2] for part in parts]),
            fixed_counts=np.array([len(some) for some in fixed], dtype=np.int64),
            fixed=np.concatenate(fixed),
            shifts={node: shift for node, shift in self.shifts.items() if node < nodes},
            exhausted=np.array(sorted(n for n in self.exhausted if n < nodes), dtype=np.int64),
        )

    @classmethod
    def of(cls, tree: Tree) -> Record:
        """The record that a tree was made from."""
        ends = np.cumsum(np.maximum(tree.counts, 0))
        duals: list[Dual | None] = []
        for node, count in enumerate(tree.counts.tolist()):
            part = slice(ends[node] - max(count, 0), ends[node])
            whole = tree.support[part], tree.values[part], float(tree.intercept[node])
            duals.append(None if count < 0 else whole)
        fixed = np.split(tree.fixed, np.cumsum(tree.fixed_counts)[:-1])
        shifts = dict(tree.shifts)
        tried = set(tree.exhausted.tolist())
        return cls(tree.parent.tolist(), tree.feature.tolist(), duals, shifts, fixed, tried)
