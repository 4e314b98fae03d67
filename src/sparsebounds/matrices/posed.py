"""The matrix that a problem is posed on: the user's, standardized, or whitened within groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.recoding import Recoding
from sparsebounds.matrices.standardized import StandardizedMatrix, column_statistics
from sparsebounds.matrices.whitened import WhitenedMatrix, whitening
from sparsebounds.penalties import Groups


def posed(
    matrix: Matrix, stated: tuple[Vector, ...], groups: Groups
) -> StandardizedMatrix | WhitenedMatrix:
    """The matrix on stated (center, scale), or (center, scale, entries of T)."""
    inner = StandardizedMatrix(matrix, *stated[:2])
    if len(stated) == 2:
        return inner
    return WhitenedMatrix(inner, Recoding.stated(groups, stated[2]))


def standardized(
    matrix: Matrix, shares: Vector, centred: bool, groups: Groups, given: Any = None
) -> tuple[Vector, ...]:
    """What the problem is stated with: the data's own numbers, or given ones, which are checked."""
    if given is None:
        inner = StandardizedMatrix(matrix, *column_statistics(matrix, shares, centred=centred))
        if groups.single:
            return inner.stated
        return WhitenedMatrix(inner, whitening(inner, groups, shares)).stated
    lengths = matrix.shape[1], matrix.shape[1], Recoding.length(groups)
    stated = tuple(
        check.real_vector("standardize", one, length, "column")
        for one, length in zip(given, lengths, strict=False)
    )
    if np.any(stated[1] <= 0):
        raise InputError("standardize holds a scale that is not greater than 0.")
    return stated
