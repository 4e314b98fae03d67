"""Opening data that stay in their file: .npy, Zarr, HDF5 and Parquet, read by blocks."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.extras import library
from sparsebounds._support.memory import byte_count, check_room, in_words
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.checks import check_dimensions, check_kind, check_shape, exact_float
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.device import DeviceMatrix
from sparsebounds.matrices.storage import (
    Block,
    ChunkedStorage,
    MappedStorage,
    ParquetStorage,
    Storage,
    check_open,
)
from sparsebounds.matrices.stored import MEMORY, StoredMatrix

ON_DISK = ("zarr", "h5py")
"""Libraries whose arrays lie in files."""

VECTORS = 32
"""Bytes that the least of work takes for a row, or a column: four vectors."""


def open_matrix(
    source: Any,
    *,
    memory: int | str = "1 GiB",
    dataset: str | None = None,
    on: str | None = None,
) -> Matrix:
    """The matrix in a file, for the place of X anywhere; it is read by blocks, never as a whole.

    Parameters
    ----------
    source : path or array
        A file (.npy; a Zarr folder; .h5 or .hdf5; .parquet, one column per feature) or an array
        that is open already: numpy.memmap, zarr.Array, h5py.Dataset.
    memory : int or str, default "1 GiB"
        What the matrix may hold at a time, in bytes or as "500 MB": blocks, and columns that are
        kept. What a solver computes comes on top.
    dataset : str, optional
        The array inside an HDF5 file or a Zarr group.
    on : str, optional
        Where the work is done. "cuda" (or "cuda:1", ...): the file is read once, through blocks,
        into the memory of that device. "dask": blocks are read by the workers of Dask, on a cluster
        if a client of one is in use; the path is to mean the same file to all of them.

    Returns
    -------
    Matrix
        To pass in the place of X.

    Raises
    ------
    ValueError, TypeError
        Where `source` is no matrix of numbers, or `on` is not there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(pathlib.Path(folder, "X.npy"), data.X)
    ...     X = sb.open_matrix(pathlib.Path(folder, "X.npy"), memory="10 MB")
    ...     print(sb.solve(X, data.y, k=3, ridge=0.1).support)
    [ 0  9 19]
    """
    limit = byte_count("memory", memory)
    if isinstance(source, Matrix):
        raise InputTypeError("source is a Matrix already; pass it in the place of X.")
    if on == "dask" and not isinstance(source, (str, os.PathLike)):
        raise InputTypeError(
            "on='dask' needs the path of a file, which every worker can open; of an open array "
            "make chunks yourself, with dask.array.from_array."
        )
    stored = _stored(source, limit, dataset)
    if on == "dask":
        return _on_dask(Path(source), dataset, stored)
    return stored if on is None else _on_device(stored, on)


def _stored(source: Any, limit: int, dataset: str | None) -> StoredMatrix:
    if isinstance(source, (str, os.PathLike)):
        return StoredMatrix(opened(Path(source), dataset), limit)
    if dataset is not None and hasattr(source, "keys"):
        source = _member(source, dataset, type(source).__name__)
    elif dataset is not None:
        raise InputError(f"dataset={dataset!r} is for files of many arrays; source is one array.")
    return StoredMatrix(storage_of(source), limit)


def is_stored(X: Any) -> bool:
    """Whether X is an array that is to be read by blocks."""
    if isinstance(X, np.memmap):
        return X.ndim == 2 and X.nbytes > MEMORY
    return on_disk(X)


def on_disk(X: Any) -> bool:
    """Whether X is an array of a library for files."""
    return any(kind.__module__.split(".")[0] in ON_DISK for kind in type(X).__mro__)


def storage_of(array: Any) -> Storage:
    """How an open array is read."""
    if hasattr(array, "columns") or (is_array_api_obj(array) and not isinstance(array, np.ndarray)):
        raise InputTypeError(
            f"source is of type {type(array).__name__}, which is no file; "
            "pass it in the place of X."
        )
    check_open(array)
    if hasattr(array, "keys"):
        raise InputTypeError(
            f"X is a {type(array).__name__} of several arrays; pass one of them: "
            f"{', '.join(map(repr, sorted(array)[:5]))}."
        )
    if not all(hasattr(array, name) for name in ("shape", "dtype", "__getitem__")):
        raise InputTypeError(
            f"source is of type {type(array).__name__}; pass a path, a numpy.memmap, a zarr.Array "
            "or an h5py.Dataset."
        )
    check_dimensions(len(array.shape))
    check_kind(np.dtype(array.dtype))
    check_shape(tuple(array.shape))
    check_room(
        f"Vectors as long as the rows and columns of X, whose shape is {tuple(array.shape)},",
        VECTORS * sum(array.shape),
        "pass fewer rows or columns",
    )
    return MappedStorage(array) if isinstance(array, np.ndarray) else ChunkedStorage(array)


def opened(path: Path, dataset: str | None) -> Storage:
    """How a file is read."""
    kind = path.suffix.lower()
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.")
    if dataset is not None and kind in (".npy", ".parquet"):
        raise InputError(f"dataset={dataset!r} is for HDF5 and Zarr; {path} holds one array.")
    try:
        return _storage_in(path, kind, dataset)
    except (InputError, InputTypeError):
        raise
    except Exception as error:  # every library has names of its own for damage
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InputError(
            f"{path} cannot be read: {reason}. Either it is damaged, or the end of its name is "
            "that of another kind of file."
        ) from error


def _storage_in(path: Path, kind: str, dataset: str | None) -> Storage:
    if kind == ".npy":
        return storage_of(np.load(path, mmap_mode="r"))
    if kind == ".parquet":
        return ParquetStorage(path)
    if kind in (".h5", ".hdf5"):
        h5py = library("h5py", "hdf5", "open_matrix needs h5py for this file")
        return storage_of(_member(h5py.File(path, "r"), dataset, str(path)))
    if path.is_dir() or kind in (".zarr", ".zip"):
        zarr = library("zarr", "zarr", "open_matrix needs zarr for this file")
        opened = zarr.open(store=path, mode="r")
        return storage_of(
            _member(opened, dataset, str(path)) if hasattr(opened, "keys") else opened
        )
    raise InputError(
        f"{path}: the end of its name must say what it holds: .npy, .zarr, .h5, .hdf5 or .parquet, "
        f"not {kind or 'nothing'!r}; or open the array and pass that."
    )


def _member(group: Any, dataset: str | None, where: str) -> Any:
    """An array of a group; without a name, the only one."""
    names = sorted(group)
    if dataset is None and len(names) == 1:
        dataset = names[0]
    if dataset is None or dataset not in group:
        asked = "dataset names one of" if dataset is None else f"dataset={dataset!r} is none of"
        raise InputError(f"{asked} the arrays in {where}: {', '.join(map(repr, names[:10]))}.")
    return group[dataset]


# From a file to where the work is done: the memory of a device, or the workers of Dask.


def _on_device(stored: StoredMatrix, name: str) -> DeviceMatrix:
    """The matrix in the memory of a device of torch: read once, block by block."""
    torch = library("torch", "gpu", f"on={name!r} needs torch")
    dtype = np.dtype(exact_float(stored.storage.dtype))
    try:
        X = torch.empty(stored.shape, dtype=getattr(torch, dtype.name), device=name)
    except torch.OutOfMemoryError as error:
        size = in_words(stored.entries * dtype.itemsize)
        raise InputError(
            f"on={name!r}: X takes {size}, more than is free there; leave `on` out to "
            "read X by blocks."
        ) from error
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"on={name!r} is no device that torch can use: {reason}.") from error

    def copied(block: Matrix, to: Any) -> None:
        assert isinstance(block, DenseMatrix)
        # torch does not know every type, nor other orders of bytes.
        to.copy_(torch.from_numpy(np.ascontiguousarray(block.array, dtype)))

    def plan(i: int, j: int) -> Callable[[Matrix], None]:
        return partial(copied, to=X[stored.rows[i], stored.cols[j]])

    for _ in stored.fold(plan, lambda *_: None, "rows"):
        pass
    matrix = DeviceMatrix(X)
    matrix.names = stored.names
    return matrix


def _on_dask(path: Path, dataset: str | None, stored: StoredMatrix) -> Matrix:
    """The matrix as chunks that Dask's workers read from the file themselves."""
    da = library("dask.array", "dask", "on='dask' needs dask")
    from sparsebounds.matrices.dask import DaskMatrix

    dtype = stored.storage.dtype
    sizes = [[part.stop - part.start for part in parts] for parts in (stored.rows, stored.cols)]
    chunks = da.map_blocks(
        partial(_chunk, path=str(path.resolve()), dataset=dataset, written=path.stat().st_mtime_ns),
        chunks=(tuple(sizes[0]), tuple(sizes[1])),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )
    matrix = DaskMatrix(chunks)
    matrix.names = stored.names
    return matrix


def _chunk(block_info: Any, path: str, dataset: str | None, written: int) -> Block:
    (top, bottom), (left, right) = block_info[None]["array-location"]
    storage = _storage(path, dataset, written)
    room = np.empty((bottom - top) * (right - left) * storage.dtype.itemsize, np.uint8)
    storage.check()
    block = storage.read(slice(top, bottom), slice(left, right), room)
    storage.check()
    return block


@lru_cache(maxsize=8)
def _storage(path: str, dataset: str | None, written: int) -> Storage:
    """The file, opened once per process; another one of its name, `written` later, anew."""
    return opened(Path(path), dataset)
