"""The search tree, kept in arrays: what it takes to prove a bound, node by node.

A node is a set of supports. Its dual vector is a = F'(Xw) at coefficients w (few, in float32):
they are stored, so that anyone can form the dual vector again and evaluate the bound. With it,
a node is closed (its bound says that nothing in it is better), or features are fixed (the bound
with the feature the other way says so), or it is split on a feature into two nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sparsebounds._array import Index, Vector

States = npt.NDArray[np.int8]
"""+1: in, -1: out, 0: open; one number a feature."""


@dataclass(frozen=True)
class Witness:
    """Coefficients whose gradient is the dual vector of a node."""

    support: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    b: float

    @classmethod
    def of(cls, w: Vector, b: float) -> Witness:
        """From a dense row."""
        support = np.flatnonzero(w)
        return cls(support.astype(np.int32), w[support].astype(np.float32), float(b))

    def dense(self, m: int) -> Vector:
        """The row again."""
        w = np.zeros(m)
        w[self.support] = self.values
        return w


@dataclass
class Tree:
    """Nodes in the order they were made; node 0 holds every support."""

    parent: list[int] = field(default_factory=lambda: [-1])
    feature: list[int] = field(default_factory=lambda: [-1])
    """The feature on which the parent was split."""

    side: list[int] = field(default_factory=lambda: [0])
    """+1: that feature is in; -1: it is out."""

    witness: list[Witness | None] = field(default_factory=lambda: [None])
    fixed: list[Index] = field(default_factory=lambda: [np.zeros(0, dtype=np.int64)])
    """Features fixed at the node by its dual vector: i for in, -1 - i for out."""

    def __len__(self) -> int:
        return len(self.parent)

    def split(self, node: int, feature: int) -> tuple[int, int]:
        """Two new nodes: the feature out, and in."""
        for side in (-1, 1):
            self.parent.append(node)
            self.feature.append(feature)
            self.side.append(side)
            self.witness.append(None)
            self.fixed.append(np.zeros(0, dtype=np.int64))
        return len(self) - 2, len(self) - 1

    def record(self, node: int, witness: Witness) -> None:
        """The dual vector that a node is bounded with."""
        self.witness[node] = witness

    def fix(self, node: int, inside: Index, outside: Index) -> None:
        """Features that the node's dual vector fixes."""
        self.fixed[node] = np.concatenate((inside, -1 - outside)).astype(np.int64)

    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Nodes that were not split."""
        leaf = np.ones(len(self), dtype=np.bool_)
        leaf[np.array(self.parent[1:], dtype=np.int64)] = False
        return leaf
