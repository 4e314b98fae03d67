"""Columns once read, kept as long as there is room: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from sparsebounds._array import Index, Vector


class ColumnCache:
    """Columns of n float64 numbers by their index, up to `limit` bytes."""

    def __init__(self, n: int, limit: int) -> None:
        self._n = n
        self._most = limit // (8 * n)
        self._kept: OrderedDict[int, Vector] = OrderedDict()

    def missing(self, index: Index) -> Index:
        """Which of these columns are not here."""
        return np.array([j for j in index.tolist() if j not in self._kept], dtype=np.int64)

    def keep(self, index: Index, columns: Vector, needed: Index) -> None:
        """Take columns in; those `needed` stay even beyond the limit, until the next call."""
        for j, column in zip(index.tolist(), columns.T, strict=True):
            self._kept[j] = column
        for j in needed.tolist():
            self._kept.move_to_end(j)
        while len(self._kept) > max(self._most, len(np.unique(needed))):
            self._kept.popitem(last=False)

    def take(self, index: Index) -> Vector:
        """Columns that are here."""
        out = np.empty((self._n, len(index)), order="F")
        for place, j in enumerate(index.tolist()):
            out[:, place] = self._kept[j]
        return out
