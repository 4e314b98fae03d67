"""Rows and columns of X where it lives: other array libraries, Dask, files, our own matrices.

scikit-learn turns its input into a NumPy array; these arrays stay where they are. Of a fitted model
only its columns are read:

    torch, CuPy, ...      X[:, support] w on X's device; the n numbers come to the host, or are X's
                          library's again where scikit-learn's array_api_dispatch asks for that
    Dask                  lazily, block by block: what comes out is a Dask array
    memmap, Zarr, HDF5    the columns of the support
    Matrix                the same
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device, is_array_api_obj, is_dask_array, is_numpy_array
from sklearn import get_config

from sparsebounds._support.array import Index, Vector, namespace, to_numpy
from sparsebounds._support.errors import InputError
from sparsebounds.matrices import Matrix, as_matrix, on_disk


def stays(X: Any) -> bool:
    """Whether X is an array that must not become one of NumPy."""
    if isinstance(X, (Matrix, np.memmap)) or on_disk(X):
        return True
    return bool(is_array_api_obj(X)) and not is_numpy_array(X)


def response(y: Any) -> Any:
    """y on the host, from whatever library it is of."""
    return to_numpy(y) if stays(y) else y


def truth(y: Any) -> Any:
    """What predictions are compared with: in the library that they come in."""
    return y if get_config()["array_api_dispatch"] else response(y)


def some_rows(X: Any, rows: Index) -> Any:
    """X[rows], in X's own library; only for arrays that stay."""
    if isinstance(X, Matrix) or on_disk(X):
        raise InputError(
            f"X is of type {type(X).__name__}, whose rows cannot be cut into folds where it lies; "
            "choose by criterion='bic', 'aic' or 'ebic', or pass a Dask array or one in memory."
        )
    return _taken(X, rows, 0)


def some_columns(X: Any, support: Index) -> Any:
    """X[:, support] in X's own library (NumPy for files and matrices); for arrays that stay."""
    if isinstance(X, Matrix) or on_disk(X):
        return as_matrix(X)[0].columns(support)
    return _taken(X, support, 1)


def _taken(X: Any, places: Index, axis: int) -> Any:
    if is_dask_array(X) or is_numpy_array(X):
        return X[:, places] if axis else X[places]
    xp = namespace(X)
    return xp.take(X, xp.asarray(places, device=device(X)), axis=axis)


def linear(X: Any, coef: Vector, intercept: Any) -> Any:
    """X coef + intercept, one column per row of coef (or one vector): NumPy, or lazy for Dask."""
    many = np.atleast_2d(coef)
    support = np.flatnonzero(np.any(many != 0.0, axis=0))
    columns, weights = some_columns(X, support), many[:, support].T

    def finish(z: Any) -> Vector:
        z = z + np.asarray(intercept)
        if not np.all(np.isfinite(z)):
            raise InputError("X holds NaN or infinity in a column of the model; drop such rows.")
        return np.asarray(z[:, 0] if coef.ndim == 1 else z)

    if is_dask_array(columns):
        return _by_rows(columns, lambda block: finish(block.astype(np.float64) @ weights))
    xp = namespace(columns)
    moved = xp.asarray(weights, dtype=xp.float64, device=device(columns))
    return finish(to_numpy(xp.matmul(xp.astype(columns, xp.float64), moved)))


def rowwise(z: Any, work: Callable[[Any], Any]) -> Any:
    """`work` on predictors, one row per row of X, or on every block of them."""
    return _by_rows(z, work) if is_dask_array(z) else work(z)


def returned(X: Any, found: Any) -> Any:
    """What a method returns: NumPy, or an array of X's library and device if that is asked for.

    Labels that no such library holds (words) are NumPy's; from Dask comes Dask.
    """
    if is_dask_array(found):
        return found
    foreign = bool(is_array_api_obj(X)) and not is_numpy_array(X)
    if not (foreign and get_config()["array_api_dispatch"]):
        return to_numpy(found)
    if not is_numpy_array(found) or found.dtype.kind not in "fiub":
        return found
    return namespace(X).asarray(found, device=device(X))


def _by_rows(array: Any, work: Callable[[Any], Any]) -> Any:
    """A function of rows on every block of a Dask array; its shape and type come from no rows."""
    whole = array.rechunk({1: -1}) if array.ndim == 2 else array
    like = work(np.zeros((0, *whole.shape[1:]), dtype=whole.dtype))
    chunks = (whole.chunks[0], *((size,) for size in like.shape[1:]))
    drop = list(range(like.ndim, whole.ndim))
    return whole.map_blocks(work, dtype=like.dtype, chunks=chunks, drop_axis=drop)
