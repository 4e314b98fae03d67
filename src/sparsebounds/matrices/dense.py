"""A dense NumPy matrix of any memory order, float32 or float64, never copied whole.

Everything is computed in float64. A float64 matrix goes to BLAS as it is; a float32 or
strided one is converted block by block, along the axis it is stored in.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.matrices.base import Matrix, norms_from_squares
from sparsebounds.matrices.bits import Bits, bits_of
from sparsebounds.matrices.chosen import ChosenColumns
from sparsebounds.matrices.scratch import Scratch

BLOCK = 1 << 18
"""Entries converted at a time: 2 MiB in float64, about a core's cache."""

ROWS = 1 << 14
"""Rows in a block of few columns: vectors of so many stay in the cache too."""

SLIVER = 32
"""Rows (or columns) in a block at least."""

MANY, STEEP = 1 << 20, 16
"""A matrix is tall that has so many entries, and so many rows per column."""

HELD = 8
"""One column in so many is copied, at most, where a tall matrix is asked for some of them."""


class DenseMatrix(Matrix):
    """A view of the caller's array."""

    def __init__(self, array: npt.NDArray[np.floating]) -> None:
        self.array = array
        """The array itself."""

        self.shape = (array.shape[0], array.shape[1])
        self.passes = 0.0
        self.tall = array.size >= MANY and array.shape[0] >= STEEP * array.shape[1]
        self._by_rows = array.strides[0] >= array.strides[1]
        self._blas = array.dtype == np.float64 and (
            array.flags.c_contiguous or array.flags.f_contiguous
        )

    @cached_property
    def norms(self) -> Vector:
        squares = np.zeros(self.shape[1])
        for _, cols, block in self._blocks():
            squares[cols] += np.einsum("ij,ij->j", block, block)
        with np.errstate(over="ignore"):
            return norms_from_squares(squares, self.shape[0])

    def kept(self, keep: Mask) -> DenseMatrix:
        """A copy of these rows."""
        return DenseMatrix(self.array[keep])

    def scores(self, a: Vector) -> Vector:
        if self._blas:
            self.passes += 1.0
            return np.asarray(self.array.T @ a)
        out = np.zeros(self.shape[1])
        for rows, cols, block in self._blocks():
            out[cols] += block.T @ a[rows]
        return out

    def scores_many(self, a: Vector) -> Vector:
        if self._blas:
            self.passes += float(len(a))
            return a @ self.array
        out = np.zeros((len(a), self.shape[1]))
        for rows, cols, block in self._blocks():
            out[:, cols] += a[:, rows] @ block
        return out

    def columns(self, index: Index) -> Vector:
        self.passes += len(index) / max(1, self.shape[1])
        return self.array[:, index].astype(np.float64, copy=False)

    def row_blocks(self, index: Index) -> Iterator[tuple[slice, Vector]]:
        n, m = self.shape
        self.passes += len(index) / max(1, m)
        tall = min(ROWS, max(SLIVER, BLOCK // max(1, len(index))))
        every = len(index) == m and np.array_equal(index, np.arange(m))
        taken, wider = Scratch(), Scratch()
        for rows in (slice(top, min(n, top + tall)) for top in range(0, n, tall)):
            block: Any = self.array[rows]
            if not every:
                block = taken.columns(block, index)
            yield rows, block if block.dtype == np.float64 else wider.copy(block)

    def product(self, w: Vector) -> Vector:
        return self.combine(w[:, None])[:, 0] if not self._blas else self.array @ w

    def gram(self, weights: Vector) -> Vector:
        if self.tall or not self._blas:
            return super().gram(weights)
        products: Vector = self.array.T @ (self.array * weights[:, None])
        return products

    def centred(self, shares: Vector) -> Matrix:
        if self.tall:
            return super().centred(shares)
        return DenseMatrix(self.array - self.scores(shares))

    def part(self, index: Index) -> Matrix:
        if self.tall and len(index) * HELD > self.shape[1]:
            return ChosenColumns(self, index)
        self.passes += len(index) / max(1, self.shape[1])
        return DenseMatrix(np.asfortranarray(self.array[:, index]))

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        mean, spread = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for rows, cols, block in self._blocks():
            mean[cols] += block.T @ weights[rows]
        scratch = Scratch()
        for rows, cols, block in self._blocks():
            rest = np.subtract(block, mean[cols], out=scratch.like(block))
            spread[cols] += weights[rows] @ np.square(rest, out=rest)
        return mean, spread

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        total = np.zeros(len(rows), dtype=np.uint64)
        plain, half = Scratch(), Scratch()
        for i, j, block in self._blocks():
            bits = bits_of(block, (plain.like(block), half.like(block)))
            # Not `@`, which strides through the block for integers.
            sums = np.einsum("si,ij->sj", rows[:, i], bits)
            total += np.sum(sums * cols[:, j], axis=1)
        return total

    def _blocks(self) -> Iterator[tuple[slice, slice, Vector]]:
        """(rows, columns, float64 block) over the whole matrix, in storage order: one pass.

        A block is good until the next one.
        """
        n, m = self.shape
        self.passes += 1.0
        # Along the axis of storage as far as the block goes, but never a sliver of one or two
        # rows: a product with so few runs at a fraction of the speed.
        if self._by_rows:
            tall = min(n, max(SLIVER, BLOCK // m))
            wide = min(m, max(1, BLOCK // tall))
        else:
            wide = min(m, max(SLIVER, BLOCK // n))
            tall = min(n, max(1, BLOCK // wide))
        scratch = Scratch()
        for top in range(0, n, tall):
            for left in range(0, m, wide):
                rows, cols = slice(top, min(n, top + tall)), slice(left, min(m, left + wide))
                block = self.array[rows, cols]
                if block.dtype == np.float64:
                    yield rows, cols, block.astype(np.float64, copy=False)
                else:
                    yield rows, cols, scratch.copy(block)
