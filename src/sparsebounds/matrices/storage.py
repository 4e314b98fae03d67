"""What is known of an array in a file: how it lies there, and how its parts are read.

Three kinds: memory-mapped arrays, which the operating system reads page by page; arrays in chunks
(Zarr, HDF5), of which a chunk is read whole or not at all; tables by columns (Parquet).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index
from sparsebounds._support.errors import InputError, InputTypeError

Block = npt.NDArray[Any]

PAGE = 4096
"""Bytes that an operating system reads at least."""


class Storage(ABC):
    """An n x m array that is read by slices."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    tile: tuple[int, int]
    """Rows and columns of the least piece that is read without waste."""

    by_rows: bool
    """Whether it lies in the file row after row, rather than column after column."""

    gathers: bool = True
    """Whether `take` reads less than all columns, or needs no block of them to do so."""

    names: tuple[str, ...] | None = None

    @abstractmethod
    def read(self, rows: slice, cols: slice, room: Block) -> Block:
        """A rectangle; in `room`, a buffer of bytes, where that saves memory."""

    @abstractmethod
    def take(self, rows: slice, index: Index) -> Block:
        """Some columns of these rows."""

    @abstractmethod
    def touched(self, index: Index) -> float:
        """The share of the file that reading these columns reads."""

    def check(self) -> None:
        """Refuse a file that is closed or gone; asked before and after each pass."""


class MappedStorage(Storage):
    """A memory-mapped NumPy array of any strides. Copies of slices are made: they stay in memory
    while they are multiplied, whatever becomes of the pages."""

    def __init__(self, array: Block) -> None:
        self._array = array
        self.shape, self.dtype = (array.shape[0], array.shape[1]), array.dtype
        self.by_rows = abs(array.strides[0]) >= abs(array.strides[1])
        self.tile = (1, self.shape[1]) if self.by_rows else (self.shape[0], 1)

    def read(self, rows: slice, cols: slice, room: Block) -> Block:
        source = self._array[rows, cols]
        flat = room[: source.nbytes].view(self.dtype)
        block = flat.reshape(source.shape, order="C" if self.by_rows else "F")
        np.copyto(block, source)
        return block

    def take(self, rows: slice, index: Index) -> Block:
        return np.asarray(self._array[rows][:, index])

    def touched(self, index: Index) -> float:
        if not self.by_rows:
            return len(index) / self.shape[1]
        # Page by page, of which a row of X has so many.
        pages = np.unique(index * abs(self._array.strides[1]) // PAGE)
        return min(1.0, len(pages) * PAGE / max(1, abs(self._array.strides[0])))


class ChunkedStorage(Storage):
    """An array that has `shape`, `dtype` and perhaps `chunks`, read by pairs of slices."""

    by_rows = True

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = np.dtype(array.dtype)
        chunks = getattr(array, "chunks", None) or (1, self.shape[1])
        self.tile = (min(chunks[0], self.shape[0]), min(chunks[1], self.shape[1]))
        self.gathers = self.tile[1] < self.shape[1]

    def check(self) -> None:
        check_open(self._array)
        if not type(self._array).__module__.startswith("zarr"):
            return
        import zarr

        # Zarr takes chunks that are not there for zeros: all of them, once the folder is gone.
        store, path = self._array.store, self._array.path
        try:
            zarr.open_array(store=store, path=path, mode="r")
        except (OSError, ValueError, LookupError) as error:
            raise InputError(
                f"X is no longer where it was opened, in {store}; store and open it again."
            ) from error

    def read(self, rows: slice, cols: slice, room: Block) -> Block:
        return np.asarray(self._array[rows, cols])

    def take(self, rows: slice, index: Index) -> Block:
        out = np.empty((rows.stop - rows.start, len(index)), self.dtype)
        chunk = index // self.tile[1]
        for c in np.unique(chunk).tolist():
            places = np.flatnonzero(chunk == c)
            start = c * self.tile[1]
            piece = np.asarray(self._array[rows, start : min(start + self.tile[1], self.shape[1])])
            out[:, places] = piece[:, index[places] - start]
        return out

    def touched(self, index: Index) -> float:
        starts = np.unique(index // self.tile[1]) * self.tile[1]
        ends = np.minimum(starts + self.tile[1], self.shape[1])
        return float(np.sum(ends - starts)) / self.shape[1]


class ParquetStorage(Storage):
    """The columns of a Parquet file, all numbers, through polars; missing values are NaN."""

    by_rows = False

    def __init__(self, path: Path) -> None:
        import polars as pl

        self._path, self._scan = path, pl.scan_parquet(path, glob=False)
        kinds = self._scan.collect_schema()
        self.names: tuple[str, ...] = tuple(kinds)
        number = {name: kind.is_numeric() or kind == pl.Boolean for name, kind in kinds.items()}
        wrong = [name for name in kinds if not number[name]]
        if wrong:
            raise InputTypeError(
                f"{path} has columns that are not numbers: {', '.join(map(repr, wrong[:5]))}. "
                "Encode them (for example one-hot) or leave them out."
            )
        small = (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16, pl.Boolean)
        self._kind = pl.Float32 if all(kind in small for kind in kinds.values()) else pl.Float64
        self.dtype = np.dtype(np.float32 if self._kind == pl.Float32 else np.float64)
        count: Any = self._scan.select(pl.len()).collect().item()
        self.shape = (int(count), len(self.names))
        self.tile = (self.shape[0], 1)

    def read(self, rows: slice, cols: slice, room: Block) -> Block:
        return self.take(rows, np.arange(cols.start, cols.stop))

    def take(self, rows: slice, index: Index) -> Block:
        import polars.selectors as cs

        # polars gives each column once; by number, as names like '*' and '^...$' are patterns.
        once, places = np.unique(index, return_inverse=True)
        wanted = self._scan.select(cs.by_index(once.tolist()).cast(self._kind))
        frame = wanted.slice(rows.start, rows.stop - rows.start).collect()
        block = frame.to_numpy(order="fortran")
        return block if len(once) == len(index) and np.all(np.diff(index) > 0) else block[:, places]

    def check(self) -> None:
        if not self._path.exists():
            raise InputError(f"X is no longer where it was opened, in {self._path}; open it again.")

    def touched(self, index: Index) -> float:
        return len(index) / self.shape[1]


def check_open(array: Any) -> None:
    """Refuse an array of an HDF5 file that is closed: nothing can be asked of it."""
    if type(array).__module__.startswith("h5py") and not array:
        raise InputError("X is in an HDF5 file that has been closed; open it, and leave it open.")
