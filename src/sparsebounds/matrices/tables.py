"""From what users hold (arrays, frames, scipy.sparse, Dask, lists) to a Matrix and names."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import (
    device,
    is_array_api_obj,
    is_dask_array,
    is_jax_array,
    is_numpy_array,
)

from sparsebounds._support.array import Abroad, Mask, namespace, on_host, to_numpy
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.validate import LARGEST
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.checks import check_dimensions, check_kind, check_shape
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.device import DeviceMatrix
from sparsebounds.matrices.opening import is_stored, storage_of
from sparsebounds.matrices.sparse import SparseMatrix
from sparsebounds.matrices.storage import check_open
from sparsebounds.matrices.stored import StoredMatrix


def as_matrix(X: Any, keep: Mask | None = None) -> tuple[Matrix, tuple[str, ...] | None]:
    """The matrix behind X, and its column names.

    Parameters
    ----------
    X : array, sparse matrix, data frame or Matrix
        Arrays of float32 and float64 are viewed, not copied; integers and booleans become float64.
        Zarr and HDF5 arrays, and memory maps beyond 1 GiB, are read by blocks; Dask arrays (and
        frames) chunk by chunk, where their scheduler runs, and never gathered.
    keep : mask, optional
        The rows to take.

    Returns
    -------
    matrix : Matrix
        The entries.
    names : tuple of str or None
        Those of the columns, if they have any.

    Raises
    ------
    ValueError, TypeError
        Where an entry is no finite number.

    Examples
    --------
    >>> matrix, names = sb.matrices.as_matrix([[1, 2], [3, 4]], keep=np.array([True, False]))
    >>> matrix.shape, names
    ((1, 2), None)
    """
    if isinstance(X, Matrix):
        given = X if keep is None else X.kept(keep)
        _check_finite(given, given.names)
        return given, given.names
    names = _column_names(X)
    if _is_dask_frame(X):
        X = _of_numbers(X, names).to_dask_array(lengths=True)
    if is_stored(X):
        matrix: Matrix = StoredMatrix(storage_of(X), keep=keep)
    elif is_dask_array(X):
        matrix = _dask(X, keep)
    elif _is_scipy_sparse(X):
        matrix = _sparse(X, keep)
    elif _is_foreign_array(X):
        matrix = _device(X, keep)
    else:
        matrix = _dense(X, names, keep)
    check_shape(matrix.shape)
    if names is not None and len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"X has more than one column named {twice[0]!r}; rename or drop them.")
    _check_finite(matrix, names)
    return matrix, names


def row_count(X: Any) -> int:
    """The number of rows of X, not all of which need be kept."""
    check_open(X)
    if isinstance(X, (str, bytes, os.PathLike)):
        raise InputTypeError(
            f"X={X!r} is a text; pass a matrix, or sparsebounds.open_matrix of a file's name."
        )
    shape = getattr(X, "shape", None)
    if _is_dask_frame(X):
        return len(X)
    if shape and isinstance(shape[0], Real) and shape[0] != shape[0]:
        raise InputError(
            "X is a Dask array whose number of rows is not known; call X.compute_chunk_sizes() "
            "first."
        )
    if shape:
        return int(shape[0])
    if shape == () or not hasattr(X, "__len__"):
        raise InputTypeError(
            f"X is of type {type(X).__name__}; pass a matrix, rows by features: an array, a data "
            "frame, a scipy.sparse matrix or a list of rows."
        )
    return len(X)


def label(column: int, names: tuple[str, ...] | None) -> str:
    """A column as an error message names it."""
    return f"column {names[column]!r}" if names is not None else f"column {column}"


def _is_scipy_sparse(X: Any) -> bool:
    return type(X).__module__.startswith("scipy.sparse")


def _is_dask_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "to_dask_array")


def _column_names(X: Any) -> tuple[str, ...] | None:
    if hasattr(X, "columns") and (hasattr(X, "to_numpy") or hasattr(X, "to_dask_array")):
        return tuple(str(name) for name in X.columns)
    return None


def _is_foreign_array(X: Any) -> bool:
    """An array of a library other than NumPy that follows the array API (torch, CuPy, ...)."""
    return bool(is_array_api_obj(X)) and not is_numpy_array(X) and not is_dask_array(X)


def _of_numbers(X: Any, names: tuple[str, ...] | None) -> Any:
    """A Dask frame whose columns are numbers, all of one type."""
    kinds = list(X.dtypes)
    _check_columns([name for name, kind in zip(names or (), kinds, strict=True) if not _real(kind)])
    return X if len(set(kinds)) == 1 and isinstance(kinds[0], np.dtype) else X.astype(np.float64)


def _real(dtype: Any) -> bool:
    return dtype.kind in "fiub"


def _dask(X: Any, keep: Mask | None) -> Matrix:
    from sparsebounds.matrices.dask import DaskMatrix

    check_dimensions(X.ndim)
    check_kind(X.dtype)
    check_shape(X.shape)
    matrix = DaskMatrix(X)
    return matrix if keep is None else matrix.kept(keep)


def _device(X: Any, keep: Mask | None) -> Matrix:
    xp = namespace(X)
    check_dimensions(X.ndim)
    if is_jax_array(X):
        raise InputTypeError(
            "X is a JAX array, which cannot be written to; pass torch.from_dlpack(X), which shares "
            "its memory, or numpy.asarray(X)."
        )
    if "sparse" in str(getattr(X, "layout", "")):
        raise InputTypeError(
            f"X is a sparse {type(X).__name__}, of which no bounds can be computed; pass "
            "X.to_dense(), or a scipy.sparse matrix."
        )
    if not xp.isdtype(X.dtype, ("bool", "integral", "real floating")):
        raise InputTypeError(
            f"X has dtype {X.dtype}; it must hold real numbers (float, integer or boolean)."
        )
    _check_double(X)
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if keep is not None:
        X = Abroad(X).rows(X, np.flatnonzero(keep))
    # A tensor in the host's memory is a NumPy array by another name.
    return DenseMatrix(to_numpy(X)) if on_host(X) else DeviceMatrix(X)


def _sparse(X: Any, keep: Mask | None) -> SparseMatrix:
    check_dimensions(X.ndim)
    check_kind(X.dtype)
    return SparseMatrix(X if keep is None else X.tocsr()[keep])


def _dense(X: Any, names: tuple[str, ...] | None, keep: Mask | None) -> DenseMatrix:
    try:
        array = X.to_numpy() if names is not None else np.asarray(X)
    except ValueError as error:
        lengths = sorted({len(row) for row in X if hasattr(row, "__len__")})
        if len(lengths) > 1:
            raise InputError(
                f"X has rows of {lengths[0]} and of {lengths[-1]} entries; pass one entry per "
                "feature in every row."
            ) from error
        raise InputError(f"X cannot be read as a matrix: {error}.") from error
    if isinstance(X, np.ma.MaskedArray):
        raise InputTypeError("X is a masked array; fill or drop its masked entries first.")
    check_dimensions(array.ndim)
    if names is not None and (array.dtype == object or _holds_dates(X)):
        array = _number_columns(X, names)
    check_kind(array.dtype)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return DenseMatrix(array if keep is None else array[keep])


def _holds_dates(X: Any) -> bool:
    """Whether a polars frame has dates or times, which its to_numpy turns into numbers."""
    return any(getattr(dtype, "is_temporal", bool)() for dtype in getattr(X, "dtypes", ()))


def _number_columns(X: Any, names: tuple[str, ...]) -> Any:
    """A frame of mixed types (float and boolean, say) as one float64 array."""
    columns = [np.asarray(X[column]) for column in X.columns]
    _check_columns(
        [name for name, column in zip(names, columns, strict=True) if not _real(column.dtype)]
    )
    return np.column_stack([column.astype(np.float64) for column in columns])


def _check_columns(text: list[str]) -> None:
    """Refuse columns that are not numbers, given by their names."""
    if text:
        raise InputTypeError(
            f"X has columns that are not numbers: {_listing([repr(name) for name in text])}. "
            "Encode them (for example one-hot) or leave them out."
        )


def _check_double(X: Any) -> None:
    """Refuse a device, or a library, that computes in less than float64: bounds rest on it."""
    xp = namespace(X)
    try:
        there = xp.zeros(1, dtype=xp.float64, device=device(X)).dtype == xp.float64
    except (TypeError, RuntimeError):
        there = False
    if not there:
        raise InputError(
            f"X is a {type(X).__name__} on {device(X)}, where there is no float64, in which bounds "
            "are proved; move X to one that has it, for example the host: numpy.asarray(X)."
        )


def _check_finite(matrix: Matrix, names: tuple[str, ...] | None) -> None:
    if np.all(np.isfinite(matrix.norms)):
        return
    suspects = np.flatnonzero(~np.isfinite(matrix.norms))
    found: dict[str, list[str]] = {"NaN": [], "infinity": []}
    for column in suspects.tolist():
        values = matrix.columns(np.array([column]))
        kind = "NaN" if np.isnan(values).any() else "infinity" if np.isinf(values).any() else None
        if kind is not None:
            found[kind].append(label(column, names))
    said = " and ".join(f"{kind} in {_listing(some)}" for kind, some in found.items() if some)
    if said:
        raise InputError(f"X holds {said}; drop or impute such rows or columns.")
    raise InputError(
        f"X holds values beyond {LARGEST:g} in {label(int(suspects[0]), names)}; "
        "rescale that column."
    )


def _listing(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
