"""A scipy.sparse matrix, held by columns (CSC, float64, duplicates summed)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.rounding import norm_up
from sparsebounds.matrices.base import (
    PART,
    Entries,
    Matrix,
    inner_product_radii,
    norms_from_squares,
)
from sparsebounds.matrices.bits import Bits, bits_of
from sparsebounds.matrices.largest import RowSums, RowTerms

BLOCK = 1 << 18
"""Entries that are worked on at a time, as long as a column is no longer: 2 MiB."""

ROUND = 150
"""Products with a working column in a round of the relaxation, about."""

DENSE = 8
"""One entry in so many is stored, at most, or dense columns are faster."""

FAR = 1000.0
"""A mean so many standard deviations from 0 takes half of the digits from centred products."""


class SparseMatrix(Matrix):
    """A sparse matrix, by columns.

    Parameters
    ----------
    matrix : scipy sparse matrix or array
        CSC; other formats are converted once.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> sb.matrices.SparseMatrix(eye_array(3)).scores(np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """

    sparse = by_products = True

    def __init__(self, matrix: Any) -> None:
        csc = matrix.tocsc()
        if not csc.has_canonical_format:
            csc = csc.copy()
            csc.sum_duplicates()
        self._csc = csc = csc.astype(np.float64, copy=False)
        self.shape = (int(csc.shape[0]), int(csc.shape[1]))
        self.passes = 0.0

    @property
    def entries(self) -> int:
        return int(self._csc.nnz)

    def filled(self, index: Index) -> Vector:
        counts: Vector = np.diff(self._csc.indptr)[index].astype(np.float64)
        return counts

    def __getstate__(self) -> dict[str, Any]:
        """Without the transpose, which would be written a second time."""
        return {name: value for name, value in vars(self).items() if name != "_transposed"}

    @cached_property
    def _transposed(self) -> Any:
        """X^T by rows, on the same memory: to make it takes as long as a short product."""
        return self._csc.T

    @property
    def listed(self) -> Entries:
        csc = self._csc
        return Entries(csc.indptr, csc.indices, csc.data, np.zeros(self.shape[1]))

    @property
    def values(self) -> Vector:
        """The stored entries."""
        return np.asarray(self._csc.data)

    def column_of_entries(self) -> Index:
        """The column of each stored entry."""
        return np.repeat(np.arange(self.shape[1]), np.diff(self._csc.indptr))

    @property
    def batch(self) -> int:
        # A round takes many products with a working column, and one with any other.
        return max(super().batch, self.shape[1] // ROUND if self.thin else 0)

    @cached_property
    def thin(self) -> bool:  # type: ignore[override]
        n, m = self.shape
        if DENSE * self.entries > n * m:
            return False
        # Centring by a term of rank one cancels where a column's mean is far from 0 next to its
        # spread, which takes a column that is nearly full.
        full = np.flatnonzero(np.diff(self._csc.indptr) > (1.0 - FAR**-2) * n)
        mean, spread = SparseMatrix(self._csc[:, full]).moments(np.full(n, 1.0 / n))
        return bool(np.all(mean**2 <= FAR**2 * spread))

    @cached_property
    def norms(self) -> Vector:
        self.passes += 1.0
        with np.errstate(over="ignore"):
            squares = self._column_sums(lambda cols, at: np.square(self._csc.data[at]))
            return norms_from_squares(squares, self.shape[0])

    def scores(self, a: Vector) -> Vector:
        self.passes += 1.0
        return np.asarray(self._transposed @ a)

    def score_radius(self, a: Vector) -> Vector:
        # Zeros add nothing, so an inner product is as long as its column has entries.
        return inner_product_radii(np.diff(self._csc.indptr), self.norms, norm_up(a))

    def radius_elsewhere(self, a: Vector) -> Vector:
        return super().score_radius(a)

    def columns(self, index: Index) -> Vector:
        block = self._csc[:, index]
        self.passes += block.nnz / max(1, self._csc.nnz)
        return np.asarray(block.toarray())

    def kept(self, keep: Mask) -> SparseMatrix:
        """A copy of these rows."""
        return SparseMatrix(self._csc[np.flatnonzero(keep)])

    def part(self, index: Index) -> SparseMatrix:
        self.passes += len(index) / max(1, self.shape[1])
        part = self._csc[:, index]
        part.has_canonical_format = True
        return SparseMatrix(part)

    def combine(self, weights: Vector) -> Vector:
        self.passes += 1.0
        return np.asarray(self._csc @ weights)

    def product(self, w: Vector) -> Vector:
        self.passes += 1.0
        return np.asarray(self._csc @ w)

    def gram(self, weights: Vector) -> Vector:
        self.passes += 1.0
        weighted = self._csc.copy()
        weighted.data *= weights[weighted.indices]
        return np.asarray((self._transposed @ weighted).toarray())

    def centred(self, shares: Vector) -> Matrix:
        from sparsebounds.matrices.standardized import StandardizedMatrix

        return StandardizedMatrix(self, self.scores(shares), np.ones(self.shape[1]))

    def project(self, basis: Vector) -> Vector:
        self.passes += 1.0
        return np.asarray((self._transposed @ basis).T)

    def largest(self, terms: RowTerms) -> RowSums:
        if terms.layers:
            return super().largest(terms)
        self.passes += 1.0
        csr, n = self._csc.tocsr(), self.shape[0]
        counts = np.diff(csr.indptr)
        kept = 1 if terms.most is None else min(terms.most, int(np.max(counts, initial=0)))
        total = RowSums(np.zeros((4, n)), np.zeros((3, n, kept)), terms.most)
        # Rows of about the same length together: little is filled up with zeros.
        order, first = np.argsort(counts, kind="stable"), 0
        while first < n:
            sizes = counts[order[first:]]
            fits = sizes * np.arange(1, len(sizes) + 1) <= PART
            last = first + max(1, int(np.count_nonzero(fits)))
            rows, sizes = order[first:last], sizes[: last - first]
            row = np.repeat(np.arange(len(rows)), sizes)
            place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            at = csr.indptr[rows][row] + place
            found = terms.of_entries(
                (len(rows), int(sizes[-1])), row, place, csr.indices[at], csr.data[at]
            )
            total.fixed[:, rows] = found.fixed
            total.kept[:, rows, : found.kept.shape[2]] = found.kept
            first = last
        return total

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        self.passes += 2.0
        values, rows, counts = self._csc.data, self._csc.indices, np.diff(self._csc.indptr)
        mean = self._column_sums(lambda cols, at: values[at] * weights[rows[at]])
        spread = self._column_sums(
            lambda cols, at: (
                np.square(values[at] - np.repeat(mean[cols], counts[cols])) * weights[rows[at]]
            )
        )
        stored = self._column_sums(lambda cols, at: weights[rows[at]])
        # Of a full column no weight is left, whatever rounding says.
        empty = np.where(counts == self.shape[0], 0.0, np.maximum(0.0, 1.0 - stored))
        return mean, spread + empty * mean**2

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        self.passes += 1.0
        total = np.zeros(len(rows), dtype=np.uint64)
        for columns, at, starts in self._blocks():
            bits, places = bits_of(self._csc.data[at]), self._csc.indices[at]
            sums = np.stack([np.add.reduceat(bits * row[places], starts) for row in rows])
            total += np.sum(sums * cols[:, columns], axis=1)
        return total

    def _column_sums(self, terms: Callable[[Index, slice], Vector]) -> Vector:
        """The sums of each column, of the terms that are made of its entries."""
        sums = np.zeros(self.shape[1])
        for columns, at, starts in self._blocks():
            sums[columns] = np.add.reduceat(terms(columns, at), starts)
        return sums

    def _blocks(self) -> Iterator[tuple[Index, slice, Index]]:
        """(columns, entries, where in these each column starts), some columns at a time.

        Columns without an entry are left out.
        """
        ends = self._csc.indptr
        filled = np.flatnonzero(np.diff(ends))
        first = 0
        while first < len(filled):
            begin = int(ends[filled[first]])
            last = int(np.searchsorted(ends[filled + 1], begin + BLOCK, side="right"))
            columns = filled[first : max(last, first + 1)]
            first += len(columns)
            yield columns, slice(begin, int(ends[columns[-1] + 1])), ends[columns] - begin
