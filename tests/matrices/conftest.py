"""The same matrix in every kind of file, for the tests of matrices that are read by blocks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def mapped(order: Any = "C", dtype: Any = np.float64) -> Callable[[np.ndarray, Path], Any]:
    def make(X: np.ndarray, folder: Path) -> Any:
        np.save(folder / "X.npy", np.asarray(X, dtype=dtype, order=order))
        return np.load(folder / "X.npy", mmap_mode="r")

    return make


def mapped_view(X: np.ndarray, folder: Path) -> Any:
    """A window of a larger map, its columns in the reverse order."""
    large = np.full((X.shape[0] + 3, 2 * X.shape[1] + 1), np.nan)
    large[2:-1, 1::2] = X[:, ::-1]
    np.save(folder / "X.npy", large)
    return np.load(folder / "X.npy", mmap_mode="r")[2:-1, -2::-2]


def zarred(rows: int, cols: int, dtype: Any = np.float64) -> Callable[[np.ndarray, Path], Any]:
    def make(X: np.ndarray, folder: Path) -> Any:
        import zarr

        chunks = (min(rows, X.shape[0]), min(cols, X.shape[1]))
        array = zarr.create_array(folder / "X.zarr", shape=X.shape, chunks=chunks, dtype=dtype)
        array[:] = X.astype(dtype)
        return array

    return make


def hdf5(chunks: Any = None, dtype: Any = np.float64) -> Callable[[np.ndarray, Path], Any]:
    def make(X: np.ndarray, folder: Path) -> Any:
        import h5py

        with h5py.File(folder / "X.h5", "w") as file:
            file.create_dataset("X", data=X.astype(dtype), chunks=chunks)
        return h5py.File(folder / "X.h5", "r")["X"]

    return make


def parquet(X: np.ndarray, folder: Path) -> Any:
    import polars as pl

    pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])}).write_parquet(folder / "X.parquet")
    return folder / "X.parquet"


WHOLE = 1 << 30
STORAGES: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "C": mapped(),
    "F": mapped("F"),
    "C float32": mapped(dtype=np.float32),
    "F float32": mapped("F", np.float32),
    "C int16": mapped(dtype=np.int16),
    "F bool": mapped("F", np.bool_),
    "big-endian": mapped(dtype=">f8"),
    "view": mapped_view,
    "zarr rows": zarred(5, WHOLE),
    "zarr rows float32": zarred(5, WHOLE, np.float32),
    "zarr columns": zarred(WHOLE, 3),
    "zarr tiles": zarred(7, 4),
    "hdf5": hdf5(),
    "hdf5 tiles int16": hdf5((7, 4), np.int16),
    "parquet": parquet,
}


Store = Callable[[np.ndarray], Any]


@pytest.fixture(params=list(STORAGES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Writes a matrix to a file of one kind after the other; what `open_matrix` takes."""
    count = itertools.count()

    def write(X: np.ndarray) -> Any:
        folder = tmp_path / str(next(count))
        folder.mkdir()
        return STORAGES[request.param](X, folder)

    return write
