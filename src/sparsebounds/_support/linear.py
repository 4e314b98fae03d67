"""Small linear systems that may be singular: no data end in an exception."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from sparsebounds._support.array import Vector


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
        factor, failed = dpotrf(matrix, lower=1, clean=1)
        found, failed = (factor, failed) if failed else dpotri(factor, lower=1, overwrite_c=1)
        if not failed and math.isfinite(found.sum()):
            lower: Vector = np.tril(found, -1)
            return np.asarray(found + lower.T)
    return inverse(matrix)
