"""A Parquet file whose columns are the features: read by groups of columns, through polars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds.matrices.storage import Block, Storage


class ParquetStorage(Storage):
    """The columns of a file, all of them numbers; missing values are read as NaN."""

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
