"""A matrix in factored form, L B with L of n x r and B of r x m: its entries are never formed.

Scores are B^T (L^T a), columns L B_J: both cost r (n + m) instead of n m. The matrix that bounds
speak about is the exact product of the two stored factors.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import TINY, gamma, norm_up, up
from sparsebounds.matrices.base import Matrix, norms_from_squares
from sparsebounds.matrices.bits import Bits, bits_of


class LowRankMatrix(Matrix):
    """A product of two factors, which is never formed.

    Parameters
    ----------
    left : array
        Of shape (n, r); a view is kept.
    right : array
        Of shape (r, m); a view is kept.

    Examples
    --------
    >>> matrix = sb.matrices.LowRankMatrix(np.ones((3, 1)), np.array([[1.0, 2.0]]))
    >>> matrix.shape, matrix.scores(np.ones(3)).tolist()
    ((3, 2), [3.0, 6.0])
    """

    elementwise = False

    def __init__(self, left: Vector, right: Vector) -> None:
        self.left = left
        self.right = right
        self.shape = (int(left.shape[0]), int(right.shape[1]))
        self.rank = int(left.shape[1])
        self.passes = 0.0

    @property
    def entries(self) -> int:
        return self.rank * (self.shape[0] + self.shape[1])

    @cached_property
    def norms(self) -> Vector:
        # |x_j| <= sum_l |B_lj| |L_l|.
        squares = np.einsum("il,il->l", self.left, self.left)
        return self._weighted(norms_from_squares(squares, self.shape[0]))

    @cached_property
    def _mass(self) -> Vector:
        """sum_l |B_lj|, rounded up."""
        return self._weighted(np.ones(self.rank))

    def scores(self, a: Vector) -> Vector:
        self.passes += 1.0
        return np.asarray(self.right.T @ (self.left.T @ a))

    def score_radius(self, a: Vector) -> Vector:
        # Two inner products in a row, of lengths n and r: g_n + g_r + g_n g_r <= g_(n + r).
        n, r = self.shape[0], self.rank
        lost = up(up(self._mass * (2.0 * n * TINY)) + r * TINY)
        return up(up(self.norms * up(gamma(n + r) * norm_up(a))) + lost)

    def score_radius_many(self, a: Vector) -> Vector:
        return np.stack([self.score_radius(row) for row in a])

    def columns(self, index: Index) -> Vector:
        self.passes += len(index) / self.shape[1]
        return np.asarray(self.left @ self.right[:, index])

    def image(
        self, index: Index, w: Vector, columns: Vector | None = None
    ) -> tuple[Vector, Vector]:
        # Of the factors: columns are rounded already.
        self.passes += len(index) / self.shape[1]
        block, count = self.right[:, index], len(index)
        slack = gamma(count + self.rank)
        terms = up(up(np.abs(block) @ np.abs(w)) * (1.0 + 2.0 * slack) + 2.0 * count * TINY)
        magnitude = up(np.abs(self.left) @ terms)
        radius = up(up(up(slack) * magnitude) * (1.0 + 2.0 * slack))
        lost = up(np.abs(self.left).sum(axis=1) * (2.0 * count * TINY))
        return self.left @ (block @ w), up(radius + up(lost + 2.0 * self.rank * TINY))

    def part(self, index: Index) -> LowRankMatrix:
        self.passes += len(index) / self.shape[1]
        return LowRankMatrix(self.left, self.right[:, index])

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        self.passes += 2.0
        mean = self.left.T @ weights
        rest = self.left - mean
        spread = rest.T @ (weights[:, None] * rest)
        return mean @ self.right, np.einsum("lj,lj->j", self.right, spread @ self.right)

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        """Of the factors: equal factors, their columns and rows in any one order."""
        self.passes += 1.0
        left, right = rows @ bits_of(self.left), (bits_of(self.right) @ cols.T).T
        total: Bits = np.sum(left * (right | np.uint64(1)), axis=1)
        return total

    def _weighted(self, weights: Vector) -> Vector:
        """sum_l |B_lj| weights_l for weights >= 0, rounded up."""
        sums = weights @ np.abs(self.right)
        return up(up(sums * (1.0 + 2.0 * gamma(self.rank + 1))) + self.rank * TINY)
