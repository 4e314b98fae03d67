"""What every X must be, wherever it is stored: a matrix of real numbers that is not empty."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds._support.errors import InputError, InputTypeError


def check_dimensions(ndim: int) -> None:
    """Refuse what is no matrix."""
    if ndim != 2:
        remedy = "X.reshape(-1, 1) for a single feature"
        if ndim > 2:
            remedy = "X.reshape(len(X), -1) where each entry of X is a row"
        raise InputError(
            f"X must be a matrix of two dimensions, rows by features; it has {ndim}. Use {remedy}."
        )


def check_kind(dtype: np.dtype[Any]) -> None:
    """Refuse what are not real numbers."""
    if dtype.kind not in "fiub":
        raise InputTypeError(
            f"X has dtype {dtype}; it must hold real numbers (float, integer or boolean). "
            "Convert it, for example with X.astype(float)."
        )


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a matrix without rows or columns."""
    if 0 in shape:
        raise InputError(
            f"X is empty: its shape is {shape}; it needs at least one row and one column."
        )


def exact_float(dtype: np.dtype[Any]) -> type[np.float32] | type[np.float64]:
    """float32 where that holds every number of this type, else float64."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64
