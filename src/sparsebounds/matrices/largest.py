"""Sums of the largest terms in each row, over columns that come in any number of blocks.

With vectors c, e >= 0 and r > 0 over the columns, an entry x_ij has the terms

    x_ij c_j + |x_ij| e_j,    |x_ij| e_j - x_ij c_j,    x_ij^2/r_j.

Of columns that are always in, all terms are summed; of those that may be chosen, at most `most`,
the largest positive ones. What a block of columns keeps of its rows is those, one by one: the
largest of the largest of two blocks are the largest of both.

Kept terms are as they were computed, in one block or in many. A sum of at most m of them errs by
m roundings of the sum of their magnitudes, in whatever order the blocks are added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector


@dataclass(frozen=True)
class RowTerms:
    """What is asked of every row; vectors have an entry for each column."""

    center: Vector
    error: Vector
    curvature: Vector
    """c, e and r."""

    always: Mask
    chosen: Mask
    """Columns that are always in, and columns to choose from."""

    most: int | None
    """How many of these; None: any number."""

    doubt: float = 1.0
    """Times the rounding of the entries is provided for, where that is not relative to them."""

    layers: tuple[tuple[Vector, Vector], ...] = ()
    """(center, scale) by which stored entries become x_ij = (. - center_j)/scale_j, in order."""

    @property
    def used(self) -> Index:
        """The columns that matter."""
        return np.flatnonzero(self.always | self.chosen)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        layers = sum(center.nbytes + scale.nbytes for center, scale in self.layers)
        vectors = (self.center, self.error, self.curvature, self.always, self.chosen)
        return layers + sum(vector.nbytes for vector in vectors)

    def at(self, cols: Index | slice) -> RowTerms:
        """The same for some of the columns."""
        return replace(
            self,
            center=self.center[cols],
            error=self.error[cols],
            curvature=self.curvature[cols],
            always=self.always[cols],
            chosen=self.chosen[cols],
            layers=tuple((center[cols], scale[cols]) for center, scale in self.layers),
        )

    def below(self, center: Vector, scale: Vector) -> RowTerms:
        """The same, asked of the matrix whose columns are shifted and scaled by these."""
        return replace(self, layers=((center, scale), *self.layers))

    def of(self, block: Vector, off: Vector | None = None) -> RowSums:
        """The sums over a block of all the columns, as they are stored.

        `off` is what entries may be off by, where that is not relative to them.
        """
        for shift, scale in self.layers:
            block = (block - shift) / scale
        inside, free = (self._terms(block, some, off) for some in (self.always, self.chosen))
        fixed = [np.sum(term, axis=1) for term in inside]
        fixed.append(np.sum(np.abs(block[:, self.always] * self.center[self.always]), axis=1))
        # Maxima and partitions keep a NaN, and the row then proves nothing.
        kept = [_cut(np.maximum(term, 0.0), self.most) for term in free]
        return RowSums(np.stack(fixed), np.stack(kept), self.most)

    def of_entries(
        self, shape: tuple[int, int], row: Index, place: Index, column: Index, values: Vector
    ) -> RowSums:
        """The sums over some rows of a sparse matrix, without layers.

        Each stored entry has a row and a place within it; there are as many as `shape` says.
        """
        inside, free = self.always[column], self.chosen[column]
        terms = self._rated(values, column)
        size = np.abs(values * self.center[column])
        fixed = [np.bincount(row[inside], term[inside], shape[0]) for term in (*terms, size)]
        block = np.zeros((3, *shape))
        for i, term in enumerate(terms):
            block[i, row, place] = np.where(free, np.maximum(term, 0.0), 0.0)
        return RowSums(np.stack(fixed), _cut(block, self.most), self.most)

    def _terms(
        self, block: Vector, some: Mask, off: Vector | None
    ) -> tuple[Vector, Vector, Vector]:
        if off is None:
            return self._rated(block[:, some], some)
        part, more = block[:, some], off[:, some]
        over, under, _ = self._rated(part, some)
        slack = more * (np.abs(self.center[some]) + self.error[some])
        return over + slack, under + slack, self._rated(np.abs(part) + more, some)[2]

    def _rated(self, part: Vector, some: Mask | Index) -> tuple[Vector, Vector, Vector]:
        shift, slack = part * self.center[some], np.abs(part) * self.error[some]
        return shift + slack, slack - shift, part * part / self.curvature[some]


@dataclass(frozen=True)
class RowSums:
    """What a block of columns adds to every row."""

    fixed: Vector
    """Sums of the three terms, and of |x_ij c_j|, over columns that are always in: 4 x n."""

    kept: Vector
    """The largest of the three terms that may be chosen: 3 x n x as many as are kept."""

    most: int | None

    @classmethod
    def none(cls, n: int, most: int | None) -> RowSums:
        """Of no columns."""
        return cls(np.zeros((4, n)), np.zeros((3, n, 0)), most)

    @classmethod
    def stacked(cls, parts: list[RowSums]) -> RowSums:
        """Of blocks of rows, all closed, one below the other."""
        fixed = np.concatenate([part.fixed for part in parts], axis=1)
        sums = [np.sum(part.kept, axis=2, keepdims=True) for part in parts]
        return cls(fixed, np.concatenate(sums, axis=1), None)

    @property
    def sums(self) -> Vector:
        """Sums of the three terms, the largest of those that may be chosen: 3 x n."""
        total: Vector = self.fixed[:3] + np.sum(self.kept, axis=2)
        return total

    def __add__(self, other: RowSums) -> RowSums:
        """Over the columns of both."""
        joint = np.concatenate((self.kept, other.kept), axis=2)
        return RowSums(self.fixed + other.fixed, _cut(joint, self.most), self.most)

    def closed(self) -> RowSums:
        """The same sums, to which nothing will be added."""
        return RowSums(self.fixed, np.sum(self.kept, axis=2, keepdims=True), None)


def _cut(terms: Vector, most: int | None) -> Vector:
    """The largest `most` along the last axis, or the sum of all."""
    if most is None:
        return np.asarray(np.sum(terms, axis=-1, keepdims=True))
    cut = terms.shape[-1] - most
    if cut <= 0 or most == 0 or not terms.any():
        return terms[..., max(cut, 0) :]
    return np.partition(terms, cut, axis=-1)[..., cut:]
