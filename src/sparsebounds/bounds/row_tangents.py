"""Tangent planes of a node's loss at several points, and what features gain from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import TINY, gamma
from sparsebounds.bounds.many import MORE, States


@dataclass(frozen=True, eq=False)
class Tangent:
    """Bounds at several points, but for what open features gain."""

    total: Vector
    size: Vector
    grain: float
    kept: States
    """The states of the features left."""

    gains: Vector
    """One row per point."""

    def less(self, gain: Vector) -> Vector:
        """The bounds, where they gain so much."""
        size = self.size + np.abs(self.total) + np.abs(gain)
        return self.total - gain - self.grain * size - TINY

    def opened(self) -> Vector:
        """What open features gain."""
        return self.gains[:, self.kept == 0]


@dataclass(frozen=True, eq=False)
class Tilt:
    """The objective less tau (x_i.w + b), one row i and one tau per point."""

    row: Index
    """n stands for the intercept alone."""

    tau: Vector


def norms_up(x: Vector) -> Vector:
    """Floats at least the norms of the rows of x."""
    largest = np.max(np.abs(x), axis=1, initial=TINY)
    squares = np.sum(np.square(x / largest[:, None]), axis=1)
    norms: Vector = np.sqrt(squares) * largest * (1.0 + 4.0 * gamma(x.shape[1] + 8)) + TINY
    return norms


def best_sums_up(gains: Vector, room: int) -> Vector:
    """Floats at least the sums of the `room` largest positive gains in each row."""
    count = gains.shape[1]
    if room <= 0 or count == 0:
        return np.zeros(len(gains))
    if room < count:
        gains = np.partition(gains, count - room, axis=1)[:, count - room :]
    sums: Vector = np.sum(np.maximum(gains, 0.0), axis=1) * (1.0 + 4.0 * gamma(room + 8))
    return sums


def has_factor(matrix: Vector, size: Vector, n: int, wider: float) -> bool:
    """Whether a matrix less more than every rounding has a Cholesky factor (Rump, 2006).

    Its entries are sums of n terms, and `size` are the sizes that its diagonal adds up.
    """
    count = len(size)
    if count == 0:
        return True
    if not np.all(np.isfinite(matrix)):
        return False
    unit = np.exp2(-np.round(0.5 * np.log2(np.where(size > 0.0, size, 1.0))))
    square = np.square(unit)
    trace = float(np.sum(size * square)) * MORE
    spare = (4.0 * gamma(n + 64) + 16.0 * gamma(count + 32)) * trace
    spare += (n + count + 8) * TINY * float(np.sum(square))
    matrix = (matrix * unit * unit[:, None]).T
    np.einsum("ii->i", matrix)[:] -= wider * spare
    factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    return int(failed) == 0 and bool(np.all(np.isfinite(np.diagonal(factor))))
