"""The matrix (x_ij - center_j) / scale_j, from a matrix X and two vectors, never formed.

The certified matrix is this real matrix for the stored floats center and scale.
Scores: (x_j.a - center_j sum(a)) / scale_j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparsebounds._support.array import Array, Index, Vector
from sparsebounds._support.rounding import TINY, U, gamma, up
from sparsebounds.matrices.base import Entries, Matrix
from sparsebounds.matrices.bits import Bits
from sparsebounds.matrices.largest import RowSums, RowTerms
from sparsebounds.matrices.scratch import Scratch


class StandardizedMatrix(Matrix):
    """A matrix with every column shifted and scaled, implicitly.

    Parameters
    ----------
    base : Matrix
        What is shifted.
    center, scale : array
        One number per column: entries are (x_ij - center_j) / scale_j.

    Examples
    --------
    >>> base = sb.matrices.DenseMatrix(np.array([[1.0], [3.0]]))
    >>> matrix = sb.matrices.StandardizedMatrix(base, np.array([2.0]), np.array([0.5]))
    >>> matrix.columns(np.array([0])).tolist()
    [[-2.0], [2.0]]
    """

    entry_roundings = 2

    def __init__(self, base: Matrix, center: Vector, scale: Vector) -> None:
        self.base = base
        self.center = center
        self.scale = scale
        self.shape = base.shape
        self.elementwise, self.home, self.sparse = base.elementwise, base.home, base.sparse
        self.by_columns, self.by_products = base.by_columns, base.by_products
        self.room, self.tall = base.room, base.tall

    @property
    def stated(self) -> tuple[Vector, ...]:
        """(center, scale)."""
        return self.center, self.scale

    def inward(self, coef: Vector) -> Vector:
        """Coefficients on these columns, from those on the user's."""
        return coef * self.scale

    def outward(self, w: Vector) -> Vector:
        """Coefficients on the user's columns, from those on these."""
        return w / self.scale

    @property
    def passes(self) -> float:  # type: ignore[override]
        return self.base.passes

    @property
    def thin(self) -> bool:  # type: ignore[override]
        return self.base.thin

    @property
    def entries(self) -> int:
        return self.base.entries

    def filled(self, index: Index) -> Vector:
        return self.base.filled(index)

    @property
    def listed(self) -> Entries | None:
        found = self.base.listed
        if found is None:
            return None
        counts = np.diff(found.ends)
        center, scale = np.repeat(self.center, counts), np.repeat(self.scale, counts)
        rest = (found.rest - self.center) / self.scale
        return found._replace(values=(found.values - center) / scale, rest=rest)

    @property
    def batch(self) -> int:
        return self.base.batch

    @property
    def norms(self) -> Vector:
        shift = up(np.abs(self.center) * up(np.sqrt(float(self.shape[0]))))
        return up(up(self.base.norms + shift) / self.scale)

    def scores(self, a: Vector) -> Vector:
        return (self.base.scores(a) - self.center * np.sum(a)) / self.scale

    def score_radius(self, a: Vector) -> Vector:
        return self._radius(a, self.base.score_radius(a))

    def radius_elsewhere(self, a: Vector) -> Vector:
        return self._radius(a, self.base.radius_elsewhere(a))

    def _radius(self, a: Vector, inner: Vector) -> Vector:
        """`score_radius`, from that of the base."""
        # fl(sum a) errs by g_n sum|a|; then one product, one difference and one quotient,
        # each relative to a quantity of at most |x_j.a| + |center_j sum a|.
        n = self.shape[0]
        total = up(float(np.sum(np.abs(a))) * (1.0 + 2.0 * gamma(n + 1)))
        size = up(up(self.base.norms * total) + up(np.abs(self.center) * total))
        error = up(inner + up(up(np.abs(self.center) * up(gamma(n) * total)) + up(4.0 * U * size)))
        return up(up(error / self.scale) * (1.0 + 8.0 * U) + 4.0 * TINY)

    def scores_many(self, a: Vector) -> Vector:
        totals = np.sum(a, axis=1)[:, None]
        scores: Vector = (self.base.scores_many(a) - self.center * totals) / self.scale
        return scores

    def score_radius_many(self, a: Vector) -> Vector:
        # As above, with a few more roundings of single operations.
        n, more = self.shape[0], 1.0 + 2.0**-40
        total = np.sum(np.abs(a), axis=1)[:, None] * (1.0 + 2.0 * gamma(n + 8))
        inner = self.base.score_radius_many(a)
        size = (self.base.norms + np.abs(self.center)) * total
        error = inner + np.abs(self.center) * (gamma(n) * total) + 4.0 * U * size
        radius: Vector = error * more / self.scale * more + 8.0 * TINY
        return radius

    def columns(self, index: Index) -> Vector:
        return (self.base.columns(index) - self.center[index]) / self.scale[index]

    def resident(self, index: Index) -> Array:
        bring = self.home.bring
        return (self.base.resident(index) - bring(self.center[index])) / bring(self.scale[index])

    def row_blocks(self, index: Index) -> Iterator[tuple[slice, Vector]]:
        center, scale, scratch = self.center[index], self.scale[index], Scratch()
        even = bool(np.all(scale == 1.0))
        for rows, block in self.base.row_blocks(index):
            entries = np.subtract(block, center, out=scratch.like(block))
            if not even:
                entries /= scale
            yield rows, entries

    def part(self, index: Index) -> StandardizedMatrix:
        return StandardizedMatrix(self.base.part(index), self.center[index], self.scale[index])

    @property
    def unscaled(self) -> tuple[Matrix, Vector]:
        ones = np.ones(len(self.scale))
        return StandardizedMatrix(self.base, self.center, ones), self.scale

    def expect(self, strength: Vector) -> None:
        self.base.expect(strength)

    def combine(self, weights: Vector) -> Vector:
        if not self.by_products:
            return super().combine(weights)
        scaled = weights / self.scale[:, None]
        return self.base.combine(scaled) - self.center @ scaled

    def product(self, w: Vector) -> Vector:
        scaled = w / self.scale
        if self.sparse:
            image: Vector = self.base.product(scaled) - self.center @ scaled
            return image
        used, out, scratch = self._used(w), np.empty(self.shape[0]), Scratch()
        center, scaled = self.center[used], scaled[used]
        for rows, block in self.base.row_blocks(used):
            np.matmul(np.subtract(block, center, out=scratch.like(block)), scaled, out=out[rows])
        return out

    def gram(self, weights: Vector) -> Vector:
        if self.sparse:
            # (X - 1 c^T)^T D (X - 1 c^T) is X^T D X and corrections of rank one.
            sums, half = self.base.scores(weights), 0.5 * float(np.sum(weights)) * self.center
            shift = np.outer(self.center, sums - half)
            products = self.base.gram(weights) - shift - shift.T
        else:
            # Centred before they are multiplied, and scaled after that.
            products = self.base.comoments(weights, self.center, weights)[0]
        scaled: Vector = products / self.scale / self.scale[:, None]
        return scaled

    def comoments(
        self, weights: Vector, shift: Vector, vector: Vector
    ) -> tuple[Vector, Vector, Vector]:
        center = self.center + self.scale * shift
        gram, sums, right = self.base.comoments(weights, center, vector)
        return gram / self.scale / self.scale[:, None], sums / self.scale, right / self.scale

    def swept(self, w: Vector, slopes: Callable[[slice, Vector], Vector]) -> tuple[Vector, Vector]:
        image, scores = np.empty(self.shape[0]), np.zeros(self.shape[1])
        scaled, scratch = w / self.scale, Scratch()
        for rows, block in self.base.row_blocks(np.arange(self.shape[1])):
            rest = np.subtract(block, self.center, out=scratch.like(block))
            np.matmul(rest, scaled, out=image[rows])
            scores += slopes(rows, image[rows]) @ rest
        return image, scores / self.scale

    def centred(self, shares: Vector) -> Matrix:
        if not (self.sparse or self.tall):
            return super().centred(shares)
        return StandardizedMatrix(self.base, self.base.scores(shares), self.scale)

    def project(self, basis: Vector) -> Vector:
        if not self.by_products:
            return super().project(basis)
        return (self.base.project(basis) - np.outer(basis.sum(axis=0), self.center)) / self.scale

    def misfits(self, left: Vector, right: Vector, weights: Vector, index: Index) -> Vector:
        # (x - center) / scale - l.r = (x - (scale l.r + center 1)) / scale.
        center, scale = self.center[index], self.scale[index]
        wider = np.column_stack((left, np.ones(len(left))))
        found = self.base.misfits(wider, np.vstack((scale * right, center)), weights, index)
        return found / scale**2

    def largest(self, terms: RowTerms) -> RowSums:
        return self.base.largest(terms.below(self.center, self.scale))

    def parts(self, least: int = 1) -> Iterator[Index]:
        return self.base.parts(least)

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        mean, spread = self.base.moments(weights)
        return (mean - self.center) / self.scale, spread / self.scale**2

    @property
    def signature(self) -> Bits:
        return self.base.signature

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        return self.base.checksum(rows, cols)


def column_statistics(matrix: Matrix, shares: Vector, *, centred: bool) -> tuple[Vector, Vector]:
    """The center and scale of the columns, on which a problem is standardized.

    Parameters
    ----------
    matrix : Matrix
        The columns.
    shares : array
        Weights of the rows, which sum to 1.
    centred : bool
        Whether to center: weighted mean and standard deviation; if not, 0 and the root mean square.

    Returns
    -------
    center, scale : array
        One number per column. A constant column shows rounding noise instead of 0 and is left
        unscaled.

    Examples
    --------
    >>> matrix = sb.matrices.DenseMatrix(np.array([[1.0], [3.0]]))
    >>> center, scale = sb.matrices.column_statistics(matrix, np.full(2, 0.5), centred=True)
    >>> center.tolist(), scale.tolist()
    ([2.0], [1.0])
    """
    n = matrix.shape[0]
    center, spread = matrix.moments(shares)
    constant = spread <= (n * np.finfo(np.float64).eps * np.abs(center)) ** 2
    if not centred:
        spread, center = spread + center**2, np.zeros(len(center))
        constant = spread == 0.0
    return center, np.where(constant, 1.0, np.sqrt(spread))
