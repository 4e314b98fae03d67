"""A scipy.sparse matrix, held by columns (CSC, float64, duplicates summed)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.matrices.base import PART, Matrix, norms_from_squares
from sparsebounds.matrices.bits import Bits, bits_of
from sparsebounds.matrices.largest import RowSums, RowTerms

DENSE = 8
"""One entry in so many is stored, at most, or dense columns are faster."""

FAR = 1000.0
"""A mean so many standard deviations from 0 takes half of the digits from centred products."""


class SparseMatrix(Matrix):
    """A CSC matrix; other formats are converted once, on entry."""

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

    @property
    def values(self) -> Vector:
        """The stored entries."""
        return np.asarray(self._csc.data)

    def column_of_entries(self) -> Index:
        """The column of each stored entry."""
        return np.repeat(np.arange(self.shape[1]), np.diff(self._csc.indptr))

    @cached_property
    def norms(self) -> Vector:
        self.passes += 1.0
        with np.errstate(over="ignore"):
            return norms_from_squares(self._column_sums(self.values**2), self.shape[0])

    def scores(self, a: Vector) -> Vector:
        self.passes += 1.0
        return np.asarray(self._csc.T @ a)

    def columns(self, index: Index) -> Vector:
        block = self._csc[:, index]
        self.passes += block.nnz / max(1, self._csc.nnz)
        return np.asarray(block.toarray())

    def kept(self, keep: Mask) -> SparseMatrix:
        """A copy of these rows."""
        return SparseMatrix(self._csc[np.flatnonzero(keep)])

    def part(self, index: Index) -> SparseMatrix:
        self.passes += len(index) / max(1, self.shape[1])
        return SparseMatrix(self._csc[:, index])

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
        return np.asarray((self._csc.T @ weighted).toarray())

    def centred(self, shares: Vector) -> Matrix:
        from sparsebounds.matrices.standardized import StandardizedMatrix

        return StandardizedMatrix(self, self.scores(shares), np.ones(self.shape[1]))

    def project(self, basis: Vector) -> Vector:
        self.passes += 1.0
        return np.asarray((self._csc.T @ basis).T)

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
        mean = self._column_sums(self.values * weights[self._csc.indices])
        column = self.column_of_entries()
        stored = weights[self._csc.indices]
        spread = self._column_sums((self.values - mean[column]) ** 2 * stored)
        # Of a full column no weight is left, whatever rounding says.
        full = np.diff(self._csc.indptr) == self.shape[0]
        empty = np.where(full, 0.0, np.maximum(0.0, 1.0 - self._column_sums(stored)))
        return mean, spread + empty * mean**2

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        self.passes += 1.0
        bits, at, of = bits_of(self.values), self._csc.indices, self.column_of_entries()
        return np.array([np.sum(bits * r[at] * c[of]) for r, c in zip(rows, cols, strict=True)])

    def _column_sums(self, values: Vector) -> Vector:
        sums = np.bincount(self.column_of_entries(), values, minlength=self.shape[1])
        return sums.astype(np.float64, copy=False)
