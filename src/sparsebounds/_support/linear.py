"""Small linear systems that may be singular; large products and systems by several threads."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Array, Vector
from sparsebounds._support.threads import spread, threads

READ = 1 << 21
"""Numbers that are worth a thread where each is read for one product: a millisecond or two."""

MULTIPLIED = 1 << 25
"""Products that are worth a thread where numbers are used again and again: as long."""

LARGE, PANEL, SEVERAL = 1000, 256, 4
"""Systems of so many unknowns are factorised in pieces, so many columns at a time, where there are
so many threads: it takes half as much work again."""

DEEP = 8
"""A sum so many times as long as a product's sides is cut itself, into several sums."""


def solved(matrix: Vector, right: Vector) -> Vector:
    """The solution x of matrix x = right; the shortest least-squares one of a singular system.

    0 where an entry is not finite.
    """
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
    if math.isfinite(found.sum()):  # nan, where any entry is not finite
        return np.asarray(found)
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(right))):
        return np.zeros(right.shape)
    try:
        return np.nan_to_num(np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0]))
    except np.linalg.LinAlgError:  # no singular values: entries that differ by too many orders
        return np.zeros(right.shape)


def inverse(matrix: Vector) -> Vector:
    """The inverse of a matrix, or the pseudo-inverse of a singular one."""
    return solved(matrix, np.eye(len(matrix)))


def positive_inverse(matrix: Vector) -> Vector:
    """The inverse of a symmetric positive definite matrix; as `inverse` where it is none."""
    if len(matrix):
        factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
        found, failed = (
            (factor, failed) if failed else lapack.dpotri(factor, lower=1, overwrite_c=1)
        )
        if not failed and math.isfinite(found.sum()):
            whole: Vector = found + found.T
            np.einsum("ii->i", whole)[:] = np.diagonal(found)
            return whole
    return inverse(matrix)


def inverses(matrices: Vector) -> Vector:
    """The inverses of symmetric positive definite matrices, along the first axis."""
    try:
        return np.asarray(np.linalg.inv(matrices), np.float64)
    except np.linalg.LinAlgError:
        return np.stack([positive_inverse(one) for one in matrices])


def quadratic_forms(matrix: Vector, right: Vector, least: Vector) -> Vector:
    """right.matrix^-1 right for many small systems, whose own axes are the first ones.

    There may be several right sides per system, along axes after the first. Pivots are `least` or
    more: those of a matrix that exceeds a diagonal are at least that diagonal.
    """
    total, matrix = np.zeros(()), matrix.copy() if len(matrix) > 1 else matrix
    several = (1,) * (right.ndim + 1 - matrix.ndim)
    for i in range(len(matrix)):
        pivot, first = np.maximum(matrix[i, i], least[i]), right[0]
        total = total + np.square(first) / pivot
        share = matrix[i + 1 :, i] / pivot
        matrix[i + 1 :, i + 1 :] -= share[:, None] * matrix[i, i + 1 :]
        right = right[1:] - share.reshape((len(share), *several, *share.shape[1:])) * first
    return total


def whiteners(matrices: Vector, least: Vector) -> Vector:
    """Lower triangles T with T A T^T = 1 of symmetric matrices A, along the first axis.

    Pivots are `least` or more, as in `quadratic_forms`.
    """
    size = matrices.shape[-1]
    rows = np.concatenate((matrices, np.tile(np.eye(size), (len(matrices), 1, 1))), axis=2)
    for i in range(size):
        root = np.sqrt(np.maximum(rows[:, i, i], least[:, i]))[:, None]
        rows[:, i] /= root
        share = rows[:, i + 1 :, i] / root
        rows[:, i + 1 :] -= share[:, :, None] * rows[:, i, None]
    return rows[:, :, size:]


def product(left: Array, right: Array) -> Array:
    """left @ right, of matrices or of a matrix and a vector, in pieces where it is large."""
    if not isinstance(left, np.ndarray):
        return left @ right
    flat, (tall, deep) = right.ndim == 1, left.shape
    wide = 1 if flat else right.shape[1]
    pieces = left.size / READ if flat else tall * deep * wide / MULTIPLIED
    if pieces < 2.0:
        return left @ right
    if deep > DEEP * max(tall, wide):
        return sum(spread(lambda part: left[:, part] @ right[part], deep, pieces))
    out = np.empty((tall, *right.shape[1:]), np.result_type(left, right))

    def rows(part: slice) -> None:
        np.matmul(left[part], right, out=out[part])

    def columns(part: slice) -> None:
        np.matmul(left, right[:, part], out=out[:, part])

    spread(rows if tall >= wide else columns, max(tall, wide), pieces)
    return out


def gram(rows: Array) -> Array:
    """rows @ rows.T, in pieces where it is large."""
    size, deep = rows.shape
    pieces = 0.5 * size * size * deep / MULTIPLIED
    if pieces < 2.0 or not isinstance(rows, np.ndarray):
        return rows @ rows.T
    if deep > DEEP * size:
        return sum(spread(lambda part: rows[:, part] @ rows[:, part].T, deep, pieces))
    out = np.empty((size, size), rows.dtype)

    def some(start: int, stop: int) -> None:
        fresh = rows[start:stop]
        out[start:stop, start:stop] = fresh @ fresh.T
        out[start:stop, :start] = fresh @ rows[:start].T
        out[:start, start:stop] = out[start:stop, :start].T

    _triangle(some, size, pieces)
    return out


def positive_solved(matrix: Vector, right: Vector) -> tuple[Vector, Vector, bool]:
    """(factor, x, failed): matrix x = right for a positive definite matrix, as LAPACK's dposv.

    The factor is below the diagonal. A large one is found panel by panel: what each of them takes
    from the rest of the matrix is a product.
    """
    size = len(matrix)
    if size < LARGE or threads() < SEVERAL:
        factor, solution, failed = lapack.dposv(matrix, right, lower=1)
        return factor, solution, failed != 0
    factor = np.array(matrix, order="F")
    for start in range(0, size, PANEL):
        stop = min(size, start + PANEL)
        corner, failed = lapack.dpotrf(factor[start:stop, start:stop], lower=1)
        if failed:
            return factor, right, True
        factor[start:stop, start:stop] = corner
        below = product(factor[stop:, start:stop], lapack.dtrtri(corner, lower=1)[0].T)
        factor[stop:, start:stop] = below

        def less(
            first: int, last: int, rest: Vector = factor[stop:, stop:], by: Vector = below
        ) -> None:
            for top in range(first, last, PANEL):
                low = min(last, top + PANEL)
                rest[top:low, :low] -= (by[:low] @ by[top:low].T).T

        _triangle(less, size - stop, 0.5 * below.size * (size - stop) / MULTIPLIED)
    return factor, lapack.dpotrs(factor, right, lower=1)[0], False


def _triangle(work: Callable[[int, int], None], size: int, pieces: float) -> None:
    """The work on the rows of a lower triangle, from one to another: pieces of equal area."""

    def rows(part: slice) -> None:
        work(math.isqrt(size * part.start), math.isqrt(size * part.stop))

    spread(rows, size, pieces)
