"""A matrix held by another array library (torch, CuPy, array_api_strict), read where it lives.

Sums over rows are taken in float64 on the device, whatever the precision of the entries; vectors
come back to the host, and working columns stay (`resident`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import device

from sparsebounds._support.array import Abroad, Array, Index, Mask, Vector, bits, namespace
from sparsebounds.matrices.base import Matrix, norms_from_squares
from sparsebounds.matrices.bits import Bits, bits_of

BLOCK = 1 << 26
"""Entries converted to float64 at a time: 512 MiB."""


class DeviceMatrix(Matrix):
    """A view of the caller's array, on its device.

    Parameters
    ----------
    array : array
        Of a library that follows the array API standard, such as torch.

    Examples
    --------
    >>> import array_api_strict
    >>> sb.matrices.DeviceMatrix(array_api_strict.eye(2)).scores(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    home: Abroad
    by_products = True

    def __init__(self, array: Array) -> None:
        self._array = array
        self.home = Abroad(array)
        self._sums = column_sums(array, self.home)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.passes = 0.0

    @property
    def batch(self) -> int:
        # Products are quick here: the host's factorisations, cubes of this, are to be balanced.
        return int(0.25 * float(self.entries) ** (1.0 / 3.0))

    @cached_property
    def norms(self) -> Vector:
        self.passes += 1.0
        squares = self._sums.powers(np.ones(self.shape[0]), 2)
        return norms_from_squares(squares, self.shape[0])

    def scores(self, a: Vector) -> Vector:
        self.passes += 1.0
        return self._sums.powers(a)

    def resident(self, index: Index) -> Array:
        self.passes += len(index) / self.shape[1]
        xp = self.home.xp
        block = xp.take(self._array, self.home.bring(index), axis=1)
        return xp.astype(block, xp.float64)

    def columns(self, index: Index) -> Vector:
        return self.home.fetch(self.resident(index))

    def kept(self, keep: Mask) -> DeviceMatrix:
        """A copy of these rows, on the device."""
        rows = self.home.rows(self._array, np.flatnonzero(keep))
        matrix = DeviceMatrix(rows)
        matrix.names = self.names
        return matrix

    def combine(self, weights: Vector) -> Vector:
        self.passes += 1.0
        bring, blocks = self.home.bring, float64_blocks(self._array)
        total: Any = sum(block @ bring(weights[part]) for part, block in blocks)
        return self.home.fetch(total)

    def project(self, basis: Vector) -> Vector:
        self.passes += 1.0
        rows = self.home.bring(basis.T)
        blocks = float64_blocks(self._array)
        return np.concatenate([self.home.fetch(rows @ block) for _, block in blocks], axis=1)

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        self.passes += 2.0
        mean = self._sums.powers(weights)
        return mean, self._sums.powers(weights, 2, mean)

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        self.passes += 1.0
        total: Bits = np.sum(self._sums.bits(rows) * cols, axis=1)
        return total


class ColumnSums:
    """Sums over the rows of one array; vectors go in and come out as NumPy's.

    This is the plain way, in the library's own operations, a block of columns at a time; `kernels`
    is the fast one. Both err by at most n roundings of float64 per product (and one per power), in
    whatever order they sum.
    """

    def __init__(self, array: Array, home: Abroad) -> None:
        self._array, self._home = array, home

    def powers(self, a: Vector, power: int = 1, center: Vector | None = None) -> Vector:
        """sum_i a_i (x_ij - center_j)^power, power 1 or 2: scores, squared norms, moments."""
        weights, sums = self._home.bring(a), []
        for part, block in float64_blocks(self._array):
            if center is not None:
                block = block - self._home.bring(center[part])[None, :]
            sums.append(self._home.fetch(weights @ (block if power == 1 else block * block)))
        return np.concatenate(sums)

    def bits(self, rows: Bits) -> Bits:
        """sum_i rows_si bits_of(x_ij) mod 2^64: checksums, one row for each of `rows`."""
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


def column_sums(array: Array, home: Abroad) -> ColumnSums:
    """Kernels on a CUDA device, where there is Triton to compile them; else plain operations."""
    on_cuda = getattr(device(array), "type", "cuda" if "cupy" in home.xp.__name__ else "") == "cuda"
    if on_cuda and all(importlib.util.find_spec(name) for name in ("torch", "triton")):
        from sparsebounds.matrices.kernels import FusedSums

        return FusedSums(array)
    return ColumnSums(array, home)


def float64_blocks(array: Array) -> Iterator[tuple[slice, Array]]:
    """(columns, float64 block) over a whole matrix."""
    (n, m), xp = array.shape, namespace(array)
    step = max(1, BLOCK // n)
    for start in range(0, m, step):
        part = slice(start, min(m, start + step))
        yield part, xp.astype(array[:, part], xp.float64, copy=False)
