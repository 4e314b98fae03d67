"""Some columns of a larger matrix, which are not copied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.bits import Bits


class ChosenColumns(Matrix):
    """The columns `index` of a matrix, read where they are: products take a pass over all."""

    def __init__(self, whole: Matrix, index: Index) -> None:
        self.whole, self.index = whole, index
        self.shape = (whole.shape[0], len(index))
        self.entry_roundings, self.elementwise = whole.entry_roundings, whole.elementwise
        self.tall = whole.tall

    @property
    def passes(self) -> float:  # type: ignore[override]
        return self.whole.passes

    @property
    def norms(self) -> Vector:
        return self.whole.norms[self.index]

    def scores(self, a: Vector) -> Vector:
        return self.whole.scores(a)[self.index]

    def score_radius(self, a: Vector) -> Vector:
        return self.whole.score_radius(a)[self.index]

    def radius_elsewhere(self, a: Vector) -> Vector:
        return self.whole.radius_elsewhere(a)[self.index]

    def scores_many(self, a: Vector) -> Vector:
        return self.whole.scores_many(a)[:, self.index]

    def score_radius_many(self, a: Vector) -> Vector:
        return self.whole.score_radius_many(a)[:, self.index]

    def columns(self, index: Index) -> Vector:
        return self.whole.columns(self.index[index])

    def sizes(self, index: Index, columns: Vector) -> Vector:
        return self.whole.sizes(self.index[index], columns)

    def row_blocks(self, index: Index) -> Iterator[tuple[slice, Vector]]:
        return self.whole.row_blocks(self.index[index])

    def part(self, index: Index) -> Matrix:
        return self.whole.part(self.index[index])

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        mean, spread = self.whole.moments(weights)
        return mean[self.index], spread[self.index]

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        every = np.zeros((len(cols), self.whole.shape[1]), dtype=np.uint64)
        every[:, self.index] = cols
        return self.whole.checksum(rows, every)
