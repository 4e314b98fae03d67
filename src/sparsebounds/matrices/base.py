"""What the project asks of a data matrix: scores X^T a, a few columns, norms, a checksum.

The data can therefore live anywhere. Scores and columns are float64 NumPy arrays; every
read is counted in full passes over X (`passes`). Rounding radii come with the numbers,
because only the matrix knows how it summed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sparsebounds._support.array import HOST, Array, Home, Index, Mask, Vector
from sparsebounds._support.errors import InputError
from sparsebounds._support.rounding import TINY, gamma, length_up, row_norms_up, up
from sparsebounds.matrices.bits import Bits, seeded
from sparsebounds.matrices.largest import RowSums, RowTerms
from sparsebounds.matrices.scratch import Scratch

PART = 1 << 22
"""Entries of X in a block of columns: 32 MiB in float64."""


class Entries(NamedTuple):
    """Columns by the rows in which they are not what they are elsewhere."""

    ends: Index
    """Where each column's begin, and the last one's end."""

    rows: Index
    values: Vector
    rest: Vector
    """The number of each column in all other rows."""


class Matrix(ABC):
    """An n x m matrix of real numbers, read by scores and by columns.

    Attributes
    ----------
    shape : tuple[int, int]
        n and m.
    passes : float
        Reads so far, in units of one full pass over X.
    entry_roundings : int
        Relative roundings already in each entry that `columns` returns.
    names : tuple of str or None
        The names of the columns, where the data have any.
    elementwise : bool
        Whether an entry has no error beyond these roundings.
    home : Home
        Where the entries live.
    sparse : bool
        Whether zeros are not stored, so that a dense block of columns is a waste.
    tall : bool
        Whether rows are so many next to the columns that copies of these are a waste.
    thin : bool
        Whether columns are better kept sparse: in products, their zeros save more than they cost.
    by_columns : bool
        Whether a few columns are read for their share of a pass, rather than for a pass.
    by_products : bool
        Whether X is better read by products than by columns, one part after the other.
    room : int or None
        Columns that may be held in memory at a time; None: all, where X is.

    See Also
    --------
    open_matrix : One in a file.
    matrices.as_matrix : Whatever users pass, as one.

    Examples
    --------
    >>> matrix, names = sb.matrices.as_matrix(np.eye(3))
    >>> matrix.shape, matrix.scores(np.array([1.0, 2.0, 3.0])).tolist(), matrix.passes > 0
    ((3, 3), [1.0, 2.0, 3.0], True)
    """

    shape: tuple[int, int]
    passes: float
    entry_roundings: int = 0
    names: tuple[str, ...] | None = None
    elementwise: bool = True
    home: Home = HOST
    sparse: bool = False
    tall: bool = False
    thin: bool = False
    by_columns: bool = True
    by_products: bool = False
    room: int | None = None

    @property
    def entries(self) -> int:
        """Entries read in one pass."""
        return self.shape[0] * self.shape[1]

    def filled(self, index: Index) -> Vector:
        """Those of each of these columns."""
        return np.full(len(index), self.entries / max(1, self.shape[1]))

    @property
    def listed(self) -> Entries | None:
        """The columns by their entries, for few of them; None where they are not stored so."""
        return None

    @property
    def batch(self) -> int:
        """Columns whose work costs less than a pass: a Gram matrix, of n m products in all."""
        return math.isqrt(self.entries // self.shape[0])

    # A storage must write these five, `shape`, and counts what it reads in `passes`.

    @property
    @abstractmethod
    def norms(self) -> Vector:
        """Column norms |x_j|, rounded up."""

    @abstractmethod
    def scores(self, a: Vector) -> Vector:
        """X^T a in float64: one pass."""

    @abstractmethod
    def columns(self, index: Index) -> Vector:
        """The columns X[:, index] as a dense float64 array."""

    @abstractmethod
    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        """sum_i weights_i x_ij and sum_i weights_i (x_ij - mean_j)^2, for weights summing to 1."""

    @abstractmethod
    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        """sum_ij rows_si cols_sj bits_of(x_ij) mod 2^64 for each s: one pass."""

    # The rest follows from them; a storage writes what it can do better.

    def score_radius(self, a: Vector) -> Vector:
        """A bound of |scores(a) - X^T a|, elementwise: that of inner products in any order."""
        return inner_product_radii(self.shape[0], self.norms, length_up(a))

    def radius_elsewhere(self, a: Vector) -> Vector:
        """`score_radius` of a storage that knows of no zeros."""
        return self.score_radius(a)

    def scores_many(self, a: Vector) -> Vector:
        """`scores` for every row of a."""
        return np.stack([self.scores(row) for row in a])

    def score_radius_many(self, a: Vector) -> Vector:
        """`score_radius` for every row of a."""
        return inner_product_radii(self.shape[0], self.norms, row_norms_up(a)[:, None])

    def sizes(self, index: Index, columns: Vector) -> Vector:
        """Numbers whose magnitudes the roundings of columns(index), at hand, are relative to."""
        return columns

    def part(self, index: Index) -> Matrix:
        """The matrix of these columns, read once."""
        from sparsebounds.matrices.dense import DenseMatrix

        return DenseMatrix(self.columns(index))

    def gathered(self, index: Index) -> Matrix:
        """These columns for products that need no proof: read once, unless `thin` or `tall`."""
        from sparsebounds.matrices.dense import DenseMatrix

        kept = self.thin or self.tall
        return self.part(index) if kept else DenseMatrix(self.columns(index))

    def centred(self, shares: Vector) -> Matrix:
        """This matrix of few columns less their means under `shares`, which sum to 1."""
        from sparsebounds.matrices.dense import DenseMatrix
        from sparsebounds.matrices.standardized import StandardizedMatrix

        means = self.scores(shares)
        if self.tall:
            return StandardizedMatrix(self, means, np.ones(len(means)))
        return DenseMatrix(self.columns(np.arange(self.shape[1])) - means)

    def resident(self, index: Index) -> Array:
        """`columns`, at home."""
        return self.columns(index)

    def row_blocks(self, index: Index) -> Iterator[tuple[slice, Vector]]:
        """`columns`, some rows at a time where they are many: (rows, block).

        A block is to be read only, and good until the next one.
        """
        yield slice(0, self.shape[0]), self.columns(index)

    @property
    def unscaled(self) -> tuple[Matrix, Vector]:
        """(A, s) of columns A_j / s_j that are these, A no dearer to read: for products."""
        return self, np.ones(self.shape[1])

    @property
    def signature(self) -> Bits:
        """The checksums that a fingerprint holds: one pass."""
        n, m = self.shape
        return self.checksum(*seeded(slice(0, n), slice(0, m)))

    def expect(self, strength: Vector) -> None:
        """Columns of large strength may be asked for soon: a hint."""

    def kept(self, keep: Mask) -> Matrix:
        """The matrix of the rows `keep`."""
        raise InputError(
            "sample_weight is 0 in some rows, which a Matrix cannot leave out; "
            "build it from the other rows."
        )

    def combine(self, weights: Vector) -> Vector:
        """X weights, for weights of m rows: one pass, block by block."""
        out = np.zeros((self.shape[0], weights.shape[1]))
        if self.tall:
            for rows, block in self.row_blocks(np.arange(self.shape[1])):
                out[rows] = block @ weights
            return out
        for part in self.parts():
            out += self.columns(part) @ weights[part]
        return out

    def product(self, w: Vector) -> Vector:
        """X w, for one vector w."""
        used, out = self._used(w), np.empty(self.shape[0])
        for rows, block in self.row_blocks(used):
            np.matmul(block, w[used], out=out[rows])
        return out

    def _used(self, w: Vector) -> Index:
        """The columns to read for X w: choosing the half of them costs more than it saves."""
        used = np.flatnonzero(w)
        return used if 2 * len(used) <= len(w) or not self.tall else np.arange(len(w))

    def gram(self, weights: Vector) -> Vector:
        """X^T diag(weights) X, for a matrix of few columns and weights of at least 0."""
        m = self.shape[1]
        products, scratch = np.zeros((m, m)), Scratch()
        for rows, block in self.row_blocks(np.arange(m)):
            root = np.sqrt(weights[rows])[:, None]
            scaled = np.multiply(block, root, out=scratch.like(block))
            products += scaled.T @ scaled
        return products

    def comoments(
        self, weights: Vector, shift: Vector, vector: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """sum_i weights_i r_i r_i^T, sum_i weights_i r_i and sum_i weights_i vector_i r_i.

        r_i is row i less `shift`: a mean of 1e8 would drown what matters. One pass.
        """
        m = self.shape[1]
        gram, sums, scratch = np.zeros((m, m)), np.zeros((2, m)), Scratch()
        equal = bool(np.all(weights == weights[0]))
        for rows, block in self.row_blocks(np.arange(m)):
            rest = np.subtract(block, shift, out=scratch.like(block))
            sums += np.stack((weights[rows], weights[rows] * vector[rows])) @ rest
            if not equal:
                rest *= np.sqrt(weights[rows])[:, None]
            gram += rest.T @ rest
        return (gram * weights[0] if equal else gram), sums[0], sums[1]

    def normal(self, weights: Vector, vector: Vector) -> tuple[Vector, Vector, Vector]:
        """X^T W X, X^T W 1 and X^T W vector, W = diag(weights), for a matrix of few columns."""
        if self.tall:
            return self.comoments(weights, np.zeros(self.shape[1]), vector)
        return self.gram(weights), self.scores(weights), self.scores(weights * vector)

    def swept(self, w: Vector, slopes: Callable[[slice, Vector], Vector]) -> tuple[Vector, Vector]:
        """X w, and X^T a with a = slopes(rows, X w there), block by block: one pass."""
        image, scores = np.empty(self.shape[0]), np.zeros(self.shape[1])
        for rows, block in self.row_blocks(np.arange(self.shape[1])):
            np.matmul(block, w, out=image[rows])
            scores += slopes(rows, image[rows]) @ block
        return image, scores

    def project(self, basis: Vector) -> Vector:
        """basis^T X, for a basis of n rows: one pass, block by block."""
        out = np.zeros((basis.shape[1], self.shape[1]))
        if self.tall:
            for rows, block in self.row_blocks(np.arange(self.shape[1])):
                out += basis[rows].T @ block
            return out
        for part in self.parts():
            out[:, part] = basis.T @ self.columns(part)
        return out

    def misfits(self, left: Vector, right: Vector, weights: Vector, index: Index) -> Vector:
        """sum_i weights_i (x_ij - left_i.right_j)^2 for the columns j in `index`.

        `right` has a column for each of them.
        """
        out = np.empty(len(index))
        width = max(1, PART // self.shape[0])
        for at in (slice(i, i + width) for i in range(0, len(index), width)):
            rest = self.columns(index[at]) - left @ right[:, at]
            out[at] = np.einsum("ij,ij,i->j", rest, rest, weights)
        return out

    def largest(self, terms: RowTerms) -> RowSums:
        """The sums of the largest terms in each row: one pass, block by block."""
        total = RowSums.none(self.shape[0], terms.most)
        used, width = terms.used, max(1, PART // self.shape[0])
        for part in (used[i : i + width] for i in range(0, len(used), width)):
            total += terms.at(part).of(self.columns(part))
        return total

    def parts(self, least: int = 1) -> Iterator[Index]:
        """All columns, `least` at a time or as many as fit into a block."""
        every, width = np.arange(self.shape[1]), max(least, PART // self.shape[0])
        return (every[i : i + width] for i in range(0, len(every), width))

    def image(
        self, index: Index, w: Vector, columns: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """X[:, index] w and a bound of its rounding error, elementwise.

        `columns` are columns(index) where they are at hand.
        """
        z, radius = np.empty(self.shape[0]), np.empty(self.shape[0])
        for rows, *found in self.image_blocks(index, w, columns):
            z[rows], radius[rows] = found
        return z, radius

    def image_blocks(
        self,
        index: Index,
        w: Vector,
        columns: Vector | None = None,
        doubt: Vector | None = None,
    ) -> Iterator[tuple[slice, Vector, Vector]]:
        """(rows, `image` there), block by block; `doubt` is what w itself may be off by."""
        size, scratch = np.abs(w), Scratch()
        slack = gamma(len(index) + 1 + self.entry_roundings)
        # 2^-49 covers the roundings of what follows.
        share = slack * (1.0 + 2.0 * slack) * (1.0 + 2.0**-49)
        # Underflow: of each product, and of each entry before it meets its coefficient.
        lost = up((len(index) + 4 + self.entry_roundings * up(float(np.sum(size)))) * TINY)
        whole = slice(0, self.shape[0])
        for rows, block in self.row_blocks(index) if columns is None else [(whole, columns)]:
            entries = np.abs(block, out=scratch.like(block))
            radius = entries @ size
            radius *= share
            radius += lost
            if doubt is not None:
                radius += (entries @ doubt) * (1.0 + 4.0 * slack) + lost
            yield rows, block @ w, up(radius)


def inner_product_radii(n: int | Index, norms: Vector, size: float | Vector) -> Vector:
    """g_n |x_j| |a| + n 2^-1074: how far a float64 inner product of length n can be off.

    `size` is |a|, rounded up: one number, or a column of them. `n` may be one number per column.
    """
    # A factor of 1 + 2^-50 covers the rounding of the product and of the sum; one more of the
    # smallest numbers, a product that underflows.
    radii: Vector = norms * up(up(gamma(n) * size) * (1.0 + 2.0**-50))
    radii += (n + 1) * TINY
    return radii


def norms_from_squares(squares: Vector, n: int) -> Vector:
    """Column norms rounded up, from sums of n squares that were summed in any order."""
    # Relative error g_{n+1} of the sum, and up to 2^-1075 for each square that underflowed.
    return up(up(np.sqrt(up(up(squares * (1.0 + 2.0 * gamma(n + 1))) + n * TINY))))
