"""Columns whitened within their groups: (X - 1 center^T) diag(1/scale) T, never formed.

T is a `Recoding` by which the columns of a group are uncorrelated and of variance 1 (of mean square
1 about 0 where there is no intercept). The penalty of a group's coefficients is then that of its
predictions, sum_i p_i (x_i.w)^2: it depends on the span of the columns alone, and not on how a
category is coded. Directions in which the columns do not vary have a column of zeros.

The certified matrix is this real matrix for the stored floats center, scale and T. What is computed
errs relative to |Z| |T|, Z the standardized columns, and not relative to the entries of Z T.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsebounds._support.array import Array, Index, Vector
from sparsebounds._support.rounding import TINY, U, gamma, length_up, row_norms_up, up
from sparsebounds.matrices.base import PART, Matrix
from sparsebounds.matrices.bits import Bits
from sparsebounds.matrices.chosen import ChosenColumns
from sparsebounds.matrices.largest import RowSums, RowTerms
from sparsebounds.matrices.recoding import Recoding
from sparsebounds.matrices.standardized import StandardizedMatrix
from sparsebounds.penalties import Groups

LEAST = 1e-10
"""A direction in which a group has less than this of a column's variance is none."""

WEAK = 1e-3
"""Below this of the variance, rounding of the products is seen: T is corrected once."""

TOGETHER = 256
"""Sparse columns whose products are formed together."""


class WhitenedMatrix(Matrix):
    """A standardized matrix whose columns are mixed within groups, implicitly.

    Parameters
    ----------
    inner : StandardizedMatrix
        The columns Z.
    recoding : Recoding
        T.
    """

    def __init__(self, inner: StandardizedMatrix, recoding: Recoding) -> None:
        self.inner, self.recoding = inner, recoding
        self.shape = inner.shape
        self.home, self.sparse = inner.home, inner.sparse
        self.elementwise = inner.elementwise
        self.by_columns, self.by_products = inner.by_columns, inner.by_products
        self.room, self.tall = inner.room, inner.tall
        self.entry_roundings = inner.entry_roundings + recoding.groups.largest

    @property
    def base(self) -> Matrix:
        """The user's matrix."""
        return self.inner.base

    @property
    def center(self) -> Vector:
        """What was subtracted of the user's columns."""
        return self.inner.center

    @property
    def stated(self) -> tuple[Vector, ...]:
        """(center, scale, entries of T)."""
        return *self.inner.stated, self.recoding.entries

    def inward(self, coef: Vector) -> Vector:
        return self.recoding.undone.of(self.inner.inward(coef))

    def outward(self, w: Vector) -> Vector:
        return self.inner.outward(self.recoding.of(w))

    @property
    def passes(self) -> float:  # type: ignore[override]
        return self.inner.passes

    @property
    def thin(self) -> bool:  # type: ignore[override]
        return self.inner.thin

    @property
    def entries(self) -> int:
        return self.inner.entries

    @property
    def batch(self) -> int:
        return self.inner.batch

    @property
    def norms(self) -> Vector:
        # |Z T_j| <= sum_l |T_lj| |z_l|.
        return self.recoding.above(self.inner.norms)

    def scores(self, a: Vector) -> Vector:
        return self.recoding.times(self.inner.scores(a))

    def score_radius(self, a: Vector) -> Vector:
        return self._radius(self.inner.score_radius(a), length_up(a))

    def radius_elsewhere(self, a: Vector) -> Vector:
        return self._radius(self.inner.radius_elsewhere(a), length_up(a))

    def _radius(self, inner: Vector, size: float | Vector) -> Vector:
        """`score_radius`, from that of Z, for an `a` of this length."""
        # A sum of d products errs by g_d of their magnitudes, each at most |T_lj| (|z_l| |a| + r).
        slack = gamma(self.recoding.groups.largest + 2)
        return self.recoding.above(inner, up(slack * up(up(self.inner.norms * size) + inner)))

    def scores_many(self, a: Vector) -> Vector:
        return self.recoding.times(self.inner.scores_many(a))

    def score_radius_many(self, a: Vector) -> Vector:
        return self._radius(self.inner.score_radius_many(a), row_norms_up(a)[:, None])

    def columns(self, index: Index) -> Vector:
        whole, places = self._whole(index)
        recoding = self.recoding.part(whole)
        columns = self.inner.columns(whole)
        columns = columns if recoding is None else recoding.times(columns)
        return columns if places is None else columns[:, places]

    def _whole(self, index: Index) -> tuple[Index, Index | None]:
        """All columns of the groups of some, and where these are among them; None: in order."""
        whole = self.recoding.groups.whole(index)
        if len(whole) == len(index):
            return index, None
        return whole, np.searchsorted(whole, index)

    def resident(self, index: Index) -> Array:
        whole, places = self._whole(index)
        recoding, home = self.recoding.part(whole), self.home
        columns = self.inner.resident(whole)
        columns = columns if recoding is None else recoding.times_at(home, columns)
        return columns if places is None else home.xp.take(columns, home.bring(places), axis=1)

    def row_blocks(self, index: Index) -> Iterator[tuple[slice, Vector]]:
        whole, places = self._whole(index)
        recoding = self.recoding.part(whole)
        for rows, block in self.inner.row_blocks(whole):
            mixed = block if recoding is None else recoding.times(block)
            yield rows, mixed if places is None else mixed[:, places]

    def sizes(self, index: Index, columns: Vector) -> Vector:
        whole, places = self._whole(index)
        recoding = self.recoding.part(whole)
        if recoding is None:
            return columns
        sizes = recoding.sizes.times(np.abs(self.inner.columns(whole)))
        return sizes if places is None else sizes[:, places]

    def image_blocks(
        self,
        index: Index,
        w: Vector,
        columns: Vector | None = None,
        doubt: Vector | None = None,
    ) -> Iterator[tuple[slice, Vector, Vector]]:
        # Z (T w): what rounding does to T w is part of the radius.
        assert doubt is None
        whole, places = self._whole(index)
        recoding = self.recoding.part(whole)
        if recoding is None:
            return self.inner.image_blocks(index, w, columns)
        full = w
        if places is not None:
            full = np.zeros(len(whole))
            full[places] = w
        # Of the magnitudes of its terms, and twice the smallest number for each that underflows.
        size = recoding.turned.above(np.abs(full))
        share = gamma(recoding.groups.largest + 2)
        lost = np.where(recoding.mixed, up(up(share * size) + 2.0 * len(full) * TINY), 0.0)
        return self.inner.image_blocks(whole, recoding.of(full), doubt=lost)

    def part(self, index: Index) -> Matrix:
        whole, places = self._whole(index)
        recoding = self.recoding.part(whole)
        inner = self.inner.part(whole)
        found = inner if recoding is None else WhitenedMatrix(inner, recoding)
        return found if places is None else ChosenColumns(found, places)

    def expect(self, strength: Vector) -> None:
        groups = self.recoding.groups
        self.inner.expect(groups.spread(groups.lengths(strength)))

    def combine(self, weights: Vector) -> Vector:
        return self.inner.combine(self.recoding.of(weights))

    def product(self, w: Vector) -> Vector:
        return self.inner.product(self.recoding.of(w))

    def gram(self, weights: Vector) -> Vector:
        if not self.sparse:
            return super().gram(weights)
        once = self.recoding.times(self.inner.gram(weights))
        return self.recoding.times(once.T)

    def centred(self, shares: Vector) -> Matrix:
        if not self.sparse:
            return super().centred(shares)
        inner = self.inner.centred(shares)
        assert isinstance(inner, StandardizedMatrix)
        return WhitenedMatrix(inner, self.recoding)

    def project(self, basis: Vector) -> Vector:
        return self.recoding.times(self.inner.project(basis))

    def largest(self, terms: RowTerms) -> RowSums:
        total = RowSums.none(self.shape[0], terms.most)
        used, width = terms.used, max(1, PART // self.shape[0])
        share = terms.doubt * 2.0 * U * (self.entry_roundings + 8)
        for part in (used[i : i + width] for i in range(0, len(used), width)):
            columns = self.columns(part)
            total += terms.at(part).of(columns, share * np.abs(self.sizes(part, columns)))
        return total

    def parts(self, least: int = 1) -> Iterator[Index]:
        return self.inner.parts(least)

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        mean, spread = self.inner.moments(weights)
        found = np.array(spread)
        grams = grams_within(self.inner, self.recoding.groups, weights)
        for members, block, gram in zip(
            self.recoding.groups.several, self.recoding.blocks, grams, strict=True
        ):
            at = mean[members]
            about = gram - at[:, :, None] * at[:, None, :]
            found[members] = np.einsum("gij,gik,gkj->gj", block, about, block)
        return self.recoding.times(mean), np.maximum(found, 0.0)

    @property
    def signature(self) -> Bits:
        return self.inner.signature

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        return self.inner.checksum(rows, cols)


def grams_within(matrix: Matrix, groups: Groups, weights: Vector) -> list[Vector]:
    """sum_i weights_i x_ij x_il for the pairs of columns of each group of two and more.

    In the shapes of a `Recoding`'s blocks. One pass, but for storages that cannot hold its columns.
    """
    found = [np.zeros((*members.shape, members.shape[1])) for members in groups.several]
    if matrix.tall:
        for rows, block in matrix.row_blocks(np.arange(matrix.shape[1])):
            for members, gram in zip(groups.several, found, strict=True):
                part = block[:, members].transpose(1, 2, 0)
                gram += np.matmul(part * weights[rows], part.transpose(0, 2, 1))
        return found
    home = matrix.home
    xp, given = home.xp, home.bring(weights)
    width = TOGETHER if matrix.thin else PART // matrix.shape[0]
    if not matrix.by_columns:
        width = max(width, matrix.room or 0)  # each read may cost a pass
    for members, gram in zip(groups.several, found, strict=True):
        count, size = members.shape
        step = max(1, width // size)
        for at in (slice(i, i + step) for i in range(0, count, step)):
            few = members[at]
            if matrix.thin:
                whole = matrix.part(few.ravel()).gram(weights)
                whole = whole.reshape(len(few), size, len(few), size)
                gram[at] = np.einsum("gigj->gij", whole)
                continue
            part = xp.reshape(matrix.resident(few.ravel()), (-1, len(few), size))
            part = xp.permute_dims(part, (1, 2, 0))
            gram[at] = home.fetch(xp.matmul(part * given, xp.permute_dims(part, (0, 2, 1))))
    return found


def whitening(matrix: StandardizedMatrix, groups: Groups, shares: Vector) -> Recoding:
    """The T by which the columns of each group are uncorrelated and of variance 1.

    Parameters
    ----------
    matrix : StandardizedMatrix
        The columns, each of variance 1.
    groups : Groups
        Not all of one column.
    shares : array
        Weights of the rows, which sum to 1.

    Returns
    -------
    Recoding
        In the directions of the eigenvectors of each group's correlation matrix, the largest first;
        0 for directions in which the columns do not vary.

    Notes
    -----
    Products of columns square their condition number. Where that shows, the products of the new
    columns, which are nearly right, correct T: as in CholeskyQR2 of Yamamoto, Nakatsukasa,
    Yanagisawa and Fukaya (2015).
    """
    blocks, weak = [], False
    for gram in grams_within(matrix, groups, shares):
        # A constant column has rounding noise for a variance.
        there = np.einsum("gii->gi", gram) > 0.5
        gram = gram * there[:, :, None] * there[:, None, :]
        values, vectors = (x[..., ::-1] for x in np.linalg.eigh(gram))
        weak |= bool(np.any((values > LEAST) & (values < WEAK)))
        blocks.append(vectors * _inverse_roots(values, LEAST)[:, None])
    found = Recoding(groups, blocks)
    if not weak:
        return found
    right = []
    for block, gram in zip(
        blocks, grams_within(WhitenedMatrix(matrix, found), groups, shares), strict=True
    ):
        kept = np.any(block != 0.0, axis=1)
        values, vectors = np.linalg.eigh(gram)
        inverse = vectors * _inverse_roots(values, 0.5)[:, None]
        right.append(block @ inverse @ vectors.transpose(0, 2, 1) * kept[:, None])
    return Recoding(groups, right)


def _inverse_roots(values: Vector, least: float) -> Vector:
    """1/sqrt(values), and 0 for values that are not above `least`."""
    kept = values > least
    roots: Vector = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return roots
