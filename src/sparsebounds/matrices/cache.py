"""Columns once read, kept as long as there is room: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector


class ColumnCache:
    """Columns of an n x m matrix in places of one array of at most `limit` bytes.

    `dtype` is one that holds the entries of X exactly: float32 data are kept as such.
    """

    def __init__(
        self, shape: tuple[int, int], limit: int, dtype: npt.DTypeLike = np.float64
    ) -> None:
        n, m = shape
        self._shape, self._dtype = shape, np.dtype(dtype)
        self.most = min(m, limit // max(1, self._dtype.itemsize * n))
        """Columns that there is room for."""

        self._places: OrderedDict[int, int] = OrderedDict()
        self._array: npt.NDArray[np.floating] | None = None

    def missing(self, index: Index) -> Index:
        """Which of these columns are not here, each once."""
        wanted = dict.fromkeys(index.tolist())
        return np.array([j for j in wanted if j not in self._places], dtype=np.int64)

    def room(self, count: int, needed: Index) -> tuple[npt.NDArray[np.floating], Index]:
        """An array and `count` places in it to write columns to; those `needed` stay."""
        if self._array is None:
            # Untouched pages of it take no memory.
            self._array = np.empty((self._shape[0], self.most), self._dtype, order="F")
        for j in needed.tolist():
            if j in self._places:
                self._places.move_to_end(j)
        while len(self._places) > self.most - count:
            self._places.popitem(last=False)
        taken = set(self._places.values())
        free = (place for place in range(self.most) if place not in taken)
        return self._array, np.fromiter(free, np.int64)[:count]

    def keep(self, index: Index, places: Index) -> None:
        """Columns that have been written to their places."""
        self._places.update(zip(index.tolist(), places.tolist(), strict=True))

    def take(self, index: Index) -> Vector:
        """Columns that are here."""
        if len(index) == 0 or self._array is None:
            return np.empty((self._shape[0], 0))
        for j in index.tolist():
            self._places.move_to_end(j)
        out = np.empty((self._shape[0], len(index)), order="F")
        for k, j in enumerate(index.tolist()):
            out[:, k] = self._array[:, self._places[j]]
        return out
