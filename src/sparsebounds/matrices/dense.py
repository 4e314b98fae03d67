"""A dense NumPy matrix of any memory order, float32 or float64, never copied whole.

Everything is computed in float64. A float64 matrix goes to BLAS as it is; a float32 or
strided one is converted block by block, along the axis it is stored in. A large one is cut into
pieces, each of them the work of one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import DEEP, READ, product
from sparsebounds._support.threads import spread
from sparsebounds.matrices.base import Matrix, norms_from_squares
from sparsebounds.matrices.bits import Bits, bits_of
from sparsebounds.matrices.chosen import ChosenColumns
from sparsebounds.matrices.scratch import Scratch

Sums = npt.NDArray[Any]

BLOCK = 1 << 18
"""Entries converted at a time: 2 MiB in float64, about a core's cache."""

BITS = 1 << 17
"""Entries whose bits are taken at a time: with two copies of them they stay in that cache."""

ROWS = 1 << 14
"""Rows in a block of few columns: vectors of so many stay in the cache too."""

SLIVER = 32
"""Rows (or columns) in a block at least."""

MANY, STEEP = 1 << 20, 16
"""A matrix is tall that has so many entries, and so many rows per column."""

HELD = 8
"""One column in so many is copied, at most, where a tall matrix is asked for some of them."""


class DenseMatrix(Matrix):
    """A view of the caller's array.

    Parameters
    ----------
    array : array
        Of float32 or float64.

    Examples
    --------
    >>> sb.matrices.DenseMatrix(np.eye(2)).columns(np.array([1])).tolist()
    [[0.0], [1.0]]
    """

    def __init__(self, array: npt.NDArray[np.floating]) -> None:
        self.array = array
        """The array itself."""

        self.shape = (array.shape[0], array.shape[1])
        self.passes = 0.0
        self.tall = array.size >= MANY and array.shape[0] >= STEEP * array.shape[1]
        self._known: tuple[Vector, Vector, Vector] | None = None
        """The last weights of a tall one, and the moments under them: several ask for the same."""

        self._by_rows = array.strides[0] >= array.strides[1]
        self._blas = array.dtype == np.float64 and (
            array.flags.c_contiguous or array.flags.f_contiguous
        )

    @cached_property
    def norms(self) -> Vector:
        def squares(part: DenseMatrix, rows: slice, cols: slice) -> Vector:
            out = np.zeros(part.shape[1])
            for _, at, block in part._blocks(BLOCK, SLIVER):
                out[at] += np.einsum("ij,ij->j", block, block)
            return out

        with np.errstate(over="ignore"):
            return norms_from_squares(self._summed(squares), self.shape[0])

    def kept(self, keep: Mask) -> DenseMatrix:
        """A copy of these rows."""
        return DenseMatrix(self.array[keep])

    def scores(self, a: Vector) -> Vector:
        if self._blas:
            self.passes += 1.0
            return np.asarray(product(self.array.T, a))
        scores: Vector = self.scores_many(a[None])[0]
        return scores

    def scores_many(self, a: Vector) -> Vector:
        if self._blas:
            self.passes += float(len(a))
            return np.asarray(product(a, self.array))

        def scores(part: DenseMatrix, rows: slice, cols: slice) -> Vector:
            out, mine = np.zeros((len(a), part.shape[1])), a[:, rows]
            for at, to, block in part._blocks(BLOCK, SLIVER):
                out[:, to] += mine[:, at] @ block
            return out

        return self._summed(scores)

    def columns(self, index: Index) -> Vector:
        self.passes += len(index) / max(1, self.shape[1])
        return self.array[:, index].astype(np.float64, copy=False)

    def row_blocks(self, index: Index) -> Iterator[tuple[slice, Vector]]:
        if not self.tall:
            yield slice(0, self.shape[0]), self.columns(index)
            return
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
        if self.tall and np.array_equal(index, np.arange(self.shape[1])):
            return self
        if self.tall and len(index) * HELD > self.shape[1]:
            return ChosenColumns(self, index)
        self.passes += len(index) / max(1, self.shape[1])
        part = DenseMatrix(np.asfortranarray(self.array[:, index]))
        part.tall = self.tall
        return part

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        if self._known is not None and self._known[0] is weights:
            return self._known[1].copy(), self._known[2].copy()
        mean = self.scores(weights)

        def squares(part: DenseMatrix, rows: slice, cols: slice) -> Vector:
            out, scratch = np.zeros(part.shape[1]), Scratch()
            center, mine = mean[cols], weights[rows]
            for at, to, block in part._blocks(BLOCK, SLIVER):
                rest = np.subtract(block, center[to], out=scratch.like(block))
                out[to] += mine[at] @ np.square(rest, out=rest)
            return out

        spread = self._summed(squares)
        if self.tall:
            self._known = weights, mean.copy(), spread.copy()
        return mean, spread

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        def sums(part: DenseMatrix, mine: slice, its: slice) -> Bits:
            out, plain, half = np.zeros(len(rows), dtype=np.uint64), Scratch(), Scratch()
            for at, to, block in part._blocks(BITS, 1):
                bits = bits_of(block, (plain.like(block), half.like(block)))
                left, right = rows[:, mine][:, at], cols[:, its][:, to]
                # Along the storage first. Not `@`, which strides through the block for integers.
                if self._by_rows:
                    out += np.sum(np.einsum("sj,ij->si", right, bits) * left, axis=1)
                else:
                    out += np.sum(np.einsum("si,ij->sj", left, bits) * right, axis=1)
            return out

        return sum(self._pieces(sums)[0], np.zeros(len(rows), dtype=np.uint64))

    def _summed(self, work: Callable[[DenseMatrix, slice, slice], Sums]) -> Sums:
        """Sums over rows, one or more per column (the last axis): one pass.

        The work is given a part of X, and says what this part adds to the sums of its columns.
        """
        found, by_rows = self._pieces(work)
        return sum(found[1:], start=found[0]) if by_rows else np.concatenate(found, axis=-1)

    def _pieces(self, work: Callable[[DenseMatrix, slice, slice], Sums]) -> tuple[list[Sums], bool]:
        """What the work finds on each piece of X, one per thread; and whether they are rows."""
        (n, m), pieces = self.shape, self.array.size / READ

        def piece(rows: slice, cols: slice) -> Sums:
            return work(DenseMatrix(self.array[rows, cols]), rows, cols)

        self.passes += 1.0
        if n > DEEP * m:
            return spread(lambda rows: piece(rows, slice(0, m)), n, pieces), True
        return spread(lambda cols: piece(slice(0, n), cols), m, pieces), False

    def _blocks(self, size: int, least: int) -> Iterator[tuple[slice, slice, Vector]]:
        """(rows, columns, float64 block) over the whole matrix, in storage order.

        A block has about `size` entries, and is good until the next one. Across the storage it has
        `least` rows or columns, where there are so many.
        """
        n, m = self.shape
        # Along the axis of storage as far as the block goes, but never a sliver of one or two
        # rows: a product with so few runs at a fraction of the speed.
        if self._by_rows:
            tall = min(n, max(least, size // m))
            wide = min(m, max(1, size // tall))
        else:
            wide = min(m, max(least, size // n))
            tall = min(n, max(1, size // wide))
        scratch = Scratch()
        for top in range(0, n, tall):
            for left in range(0, m, wide):
                rows, cols = slice(top, min(n, top + tall)), slice(left, min(m, left + wide))
                block = self.array[rows, cols]
                if block.dtype == np.float64:
                    yield rows, cols, block.astype(np.float64, copy=False)
                else:
                    yield rows, cols, scratch.copy(block)
