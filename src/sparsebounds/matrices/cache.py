"""Columns once read, kept as long as there is room: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from sparsebounds._array import Index, Vector


class ColumnCache:
    """Columns of n numbers by their index, up to `limit` bytes, each an array of its own.

    `dtype` is one that holds the entries of X exactly: float32 data are kept as such.
    """

    def __init__(self, n: int, limit: int, dtype: npt.DTypeLike = np.float64) -> None:
        self._dtype = np.dtype(dtype)
        self._most = limit // max(1, self._dtype.itemsize * n)
        self._kept: OrderedDict[int, npt.NDArray[np.floating]] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes kept at present."""
        return sum(column.nbytes for column in self._kept.values())

    def missing(self, index: Index) -> Index:
        """Which of these columns are not here, each once."""
        return np.array(
            [j for j in dict.fromkeys(index.tolist()) if j not in self._kept], dtype=np.int64
        )

    def keep(self, index: Index, columns: Vector) -> None:
        """Take copies of columns that were missing, as many as there is room for."""
        first = max(0, len(index) - self._most)
        while len(self._kept) > self._most - (len(index) - first):
            self._kept.popitem(last=False)
        for j, column in zip(index[first:].tolist(), columns.T[first:], strict=True):
            self._kept[j] = column.astype(self._dtype)

    def take(self, index: Index, out: Vector) -> None:
        """Write those of the columns that are here into `out`."""
        for place, j in enumerate(index.tolist()):
            column = self._kept.get(j)
            if column is not None:
                out[:, place] = column
                self._kept.move_to_end(j)
