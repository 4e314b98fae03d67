"""X ~ 1 c^T + L B: one factorisation whose first r columns and rows are X_r, for every rank r.

Rows are scaled by roots_i = sqrt(n p_i), so that a weight of 2 is a row written twice, and with
an intercept columns are centred, since b absorbs their means c. With orthonormal columns Q,

    X~ = diag(roots) (X - 1 c^T),    B = Q^T X~,    L = diag(roots)^-1 Q.

Three sources of Q. The left singular vectors: on wide data from the triangular factor of X~^T,
found a block of columns at a time, so that no second n x m array exists; on tall data by LAPACK.
A randomised range finder: products with X alone, so sparse data stay sparse. Or the user's own.
Any Q gives valid bounds; a poor one only loosens them.

The residual is accumulated, not estimated: |X~ - Q_r B_r|^2 = |X~ - Q B|^2 + sum_{i > r} |B_i|^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import svd

from sparsebounds._support.array import Index, Vector, to_numpy
from sparsebounds._support.errors import InputError
from sparsebounds.matrices import LowRankMatrix, Matrix, StandardizedMatrix
from sparsebounds.program import Program

Method = Literal["svd", "randomized", "basis"]

OVERSAMPLE = 10
"""Random directions beyond the rank asked for."""

CANCELLED = 1e-6
"""|x|^2 - |Q^T x|^2 keeps ten digits while it is above this share of |x|^2."""

NOT_ORTHONORMAL = 1e-8


@dataclass(frozen=True)
class Factors:
    """The factors for every rank up to R."""

    left: Vector
    """L, n x R."""

    right: Vector
    """B, R x m."""

    center: Vector
    """c; 0 without an intercept."""

    explained: Vector
    """For r = 1, ..., R, the share of |X~|^2 that X_r keeps."""

    def at(self, rank: int) -> LowRankMatrix:
        """X_r (less 1 c^T), by views of the factors."""
        return LowRankMatrix(self.left[:, :rank], self.right[:rank])


@dataclass(frozen=True)
class Rows:
    """X~: the program's matrix, its rows scaled and, with an intercept, its columns centred."""

    matrix: Matrix
    roots: Vector
    center: Vector
    squares: Vector
    """|x~_j|^2."""

    @classmethod
    def of(cls, program: Program) -> Rows:
        """X~ of a program."""
        mean, spread = program.matrix.moments(program.F.p)
        roots = np.sqrt(program.n * program.F.p)
        if not program.fit_intercept:
            squares = program.n * (spread + mean**2)
            return cls(program.matrix, roots, np.zeros(program.m), squares)
        centred = StandardizedMatrix(program.matrix, mean, np.ones(program.m))
        return cls(centred, roots, mean, program.n * spread)

    def block(self, part: Any) -> Vector:
        """Columns of X~."""
        return self.roots[:, None] * self.matrix.columns(part)

    def combine(self, weights: Vector) -> Vector:
        """X~ weights."""
        return self.roots[:, None] * self.matrix.combine(weights)

    def project(self, basis: Vector) -> Vector:
        """basis^T X~."""
        return np.ascontiguousarray(self.matrix.project(self.roots[:, None] * basis))

    def misfits(self, Q: Vector, B: Vector, index: Index) -> Vector:
        """|x~_j - Q B_j|^2 for the columns j in `index`, for which B has a column each."""
        return self.matrix.misfits(Q / self.roots[:, None], B, self.roots**2, index)


def factorise(
    program: Program, rank: int, method: Method, basis: Vector | None, power: int, seed: int
) -> Factors:
    """The factors of X for every rank up to `rank`."""
    rows = Rows.of(program)
    if basis is not None:
        Q = basis[:, :rank]
    elif method == "svd":
        Q = _singular_vectors(rows, rank)
    else:
        Q = _range_finder(rows, rank, power, np.random.default_rng(seed))
    B = rows.project(Q)
    energy = np.einsum("lj,lj->l", B, B)
    tail = np.append(np.cumsum(energy[:0:-1])[::-1], 0.0)
    total = float(np.sum(rows.squares))
    lost = (residual(rows, Q, B) + tail) / total if total > 0 else np.zeros(rank)
    return Factors(
        left=np.ascontiguousarray(Q / rows.roots[:, None]),
        right=B,
        center=rows.center,
        explained=np.clip(1.0 - lost, 0.0, 1.0),
    )


def checked_basis(basis: Any, n: int) -> Vector:
    """The user's Q: n rows, orthonormal columns."""
    Q = to_numpy(basis)
    if Q.ndim != 2 or Q.shape[0] != n or not 0 < Q.shape[1] <= n or Q.dtype.kind not in "fiub":
        raise InputError(
            f"basis has shape {Q.shape} and dtype {Q.dtype}; pass real orthonormal columns of "
            f"length {n}, one entry per row of X."
        )
    Q = Q.astype(np.float64)
    error = float(np.max(np.abs(Q.T @ Q - np.eye(Q.shape[1]))))
    if not error <= NOT_ORTHONORMAL:
        raise InputError(
            f"basis is not orthonormal: basis.T @ basis differs from the identity by {error:.1e}; "
            "pass numpy.linalg.qr(basis)[0]."
        )
    return Q


def _singular_vectors(rows: Rows, rank: int) -> Vector:
    """The leading left singular vectors of X~."""
    n, m = rows.matrix.shape
    if n > m:
        return _left_vectors(rows.block(np.arange(m)))[:, :rank]
    R = np.empty((0, n))
    for part in rows.matrix.parts(least=n):
        R = _triangle(np.vstack((R, rows.block(part).T)))
    # X~^T = (orthonormal) R, so X~ and R^T share their left singular vectors.
    return _left_vectors(R.T)[:, :rank]


def _range_finder(rows: Rows, rank: int, power: int, rng: np.random.Generator) -> Vector:
    """Nearly the leading left singular vectors: random combinations of columns, iterated."""
    n, m = rows.matrix.shape
    size = min(rank + OVERSAMPLE, n, m)
    Q = _orthonormal(rows.combine(rng.normal(size=(m, size))))
    for _ in range(power):
        Q = _orthonormal(rows.combine(_orthonormal(rows.project(Q).T)))
    # Rotated so that the first r columns are the best of their span.
    return Q @ _left_vectors(_triangle(rows.project(Q).T).T)[:, :rank]


def _orthonormal(columns: Vector) -> Vector:
    Q, _ = np.linalg.qr(columns)
    return np.asarray(Q)


def _triangle(tall: Vector) -> Vector:
    """R of the QR factorisation."""
    return np.asarray(np.linalg.qr(tall, mode="r"), dtype=np.float64)


def _left_vectors(matrix: Vector) -> Vector:
    """The left singular vectors."""
    return np.asarray(svd(matrix, full_matrices=False, check_finite=False)[0])


def residual(rows: Rows, Q: Vector, B: Vector) -> float:
    """|X~ - Q B|^2: by Pythagoras where that keeps its digits, else from the entries themselves."""
    rest = rows.squares - np.einsum("lj,lj->j", B, B)
    lost = rest <= CANCELLED * rows.squares
    doubtful = np.flatnonzero(lost)
    total = float(np.sum(rest[~lost]))
    if len(doubtful):
        total += float(np.sum(rows.misfits(Q, B[:, doubtful], doubtful)))
    return total
