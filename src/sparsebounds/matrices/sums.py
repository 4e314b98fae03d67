"""Sums down the columns of a matrix of another array library, in float64 on its device.

    powers    sum_i a_i (x_ij - c_j)^p, p = 1 or 2: scores, squared norms, moments
    bits      sum_i r_i bits_of(x_ij) mod 2^64: checksums

This is the plain way, in the library's own operations, a block of columns at a time; float32
entries are converted, block by block. `kernels` is the fast one. Both err by at most n roundings
of float64 a product (and one a power), in whatever order they sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from sparsebounds._support.array import Abroad, Array, Vector, bits, namespace
from sparsebounds.matrices.bits import Bits, bits_of

BLOCK = 1 << 26
"""Entries converted to float64 at a time: 512 MiB."""


class ColumnSums(Protocol):
    """Sums over the rows of one array; vectors go in and come out as NumPy's."""

    def powers(self, a: Vector, power: int = 1, center: Vector | None = None) -> Vector:
        """sum_i a_i (x_ij - center_j)^power, one number per column."""
        ...

    def bits(self, rows: Bits) -> Bits:
        """sum_i rows_si bits_of(x_ij) mod 2^64: one row for each of `rows`."""
        ...


class PlainSums:
    """`ColumnSums` by the library's own operations."""

    def __init__(self, array: Array, home: Abroad) -> None:
        self._array, self._home = array, home

    def powers(self, a: Vector, power: int = 1, center: Vector | None = None) -> Vector:
        weights, sums = self._home.bring(a), []
        for part, block in float64_blocks(self._array):
            if center is not None:
                block = block - self._home.bring(center[part])[None, :]
            sums.append(self._home.fetch(weights @ (block if power == 1 else block * block)))
        return np.concatenate(sums)

    def bits(self, rows: Bits) -> Bits:
        total = np.empty((len(rows), self._array.shape[1]), dtype=np.uint64)
        # Products and sums of signed integers that wrap have the bits of unsigned ones.
        signed = [self._home.bring(row.view(np.int64)) for row in rows]
        for part, block in float64_blocks(self._array):
            folded = bits(block + 0.0)
            if folded is None:
                total[:, part] = rows @ bits_of(np.ascontiguousarray(self._home.fetch(block)))
                continue
            folded = folded ^ ((folded >> 32) & 0xFFFFFFFF)
            for s, row in enumerate(signed):
                sums = self._home.xp.sum(row[:, None] * folded, axis=0)
                total[s, part] = self._home.fetch(sums).view(np.uint64)
        return total


def float64_blocks(array: Array) -> Iterator[tuple[slice, Array]]:
    """(columns, float64 block) over a whole matrix."""
    (n, m), xp = array.shape, namespace(array)
    step = max(1, BLOCK // n)
    for start in range(0, m, step):
        part = slice(start, min(m, start + step))
        yield part, xp.astype(array[:, part], xp.float64, copy=False)
