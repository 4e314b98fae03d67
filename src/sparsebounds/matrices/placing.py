"""From a file to where the work is done: the memory of a device, or the workers of Dask."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._support.errors import InputError
from sparsebounds._support.extras import library
from sparsebounds._support.memory import in_words
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.checks import exact_float
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.device import DeviceMatrix
from sparsebounds.matrices.storage import Block, Storage
from sparsebounds.matrices.stored import StoredMatrix


def on_device(stored: StoredMatrix, name: str) -> DeviceMatrix:
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

    def plan(i: int, j: int) -> Callable[[Matrix], None]:
        return partial(_copied, to=X[stored.rows[i], stored.cols[j]], dtype=dtype)

    for _ in stored.fold(plan, lambda *_: None, "rows"):
        pass
    matrix = DeviceMatrix(X)
    matrix.names = stored.names
    return matrix


def _copied(block: Matrix, to: Any, dtype: np.dtype[Any]) -> None:
    import torch

    assert isinstance(block, DenseMatrix)
    # torch does not know every type, nor other orders of bytes.
    to.copy_(torch.from_numpy(np.ascontiguousarray(block.array, dtype)))


def on_dask(path: Path, dataset: str | None, stored: StoredMatrix) -> Matrix:
    """The matrix as chunks that Dask's workers read from the file themselves."""
    da = library("dask.array", "dask", "on='dask' needs dask")
    from sparsebounds.matrices.dask import DaskMatrix

    dtype = stored.storage.dtype
    sizes = [[part.stop - part.start for part in parts] for parts in (stored.rows, stored.cols)]
    chunks = da.map_blocks(
        partial(_chunk, path=str(path.resolve()), dataset=dataset, written=_written(path)),
        chunks=(tuple(sizes[0]), tuple(sizes[1])),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )
    matrix = DaskMatrix(chunks)
    matrix.names = stored.names
    return matrix


def _written(path: Path) -> int:
    """When a file was written: another one of its name is opened anew."""
    return path.stat().st_mtime_ns


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
    """The file, opened once a process."""
    from sparsebounds.matrices.opening import opened

    return opened(Path(path), dataset)
