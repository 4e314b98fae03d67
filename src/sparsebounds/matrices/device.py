"""A matrix held by another array library (torch, CuPy, array_api_strict), read where it lives.

Sums over rows are taken in float64 on the device, whatever the precision of the entries; vectors
come back to the host, and working columns stay (`resident`).
"""

from __future__ import annotations

import importlib.util
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import device

from sparsebounds._support.array import Abroad, Array, Index, Mask, Vector
from sparsebounds.matrices.base import Matrix, norms_from_squares
from sparsebounds.matrices.bits import Bits
from sparsebounds.matrices.sums import ColumnSums, PlainSums, float64_blocks


class DeviceMatrix(Matrix):
    """A view of the caller's array, on its device."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._home = Abroad(array)
        self._sums = column_sums(array, self._home)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.passes = 0.0

    @property
    def home(self) -> Abroad:
        return self._home

    @property
    def batch(self) -> int:
        # Products are quick here: the host's factorisations, cubes of this, are to be balanced.
        return int(0.25 * float(self.entries) ** (1.0 / 3.0))

    @property
    def by_products(self) -> bool:
        return True

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
        xp = self._home.xp
        block = xp.take(self._array, self._home.bring(index), axis=1)
        return xp.astype(block, xp.float64)

    def columns(self, index: Index) -> Vector:
        return self._home.fetch(self.resident(index))

    def kept(self, keep: Mask) -> DeviceMatrix:
        """A copy of these rows, on the device."""
        rows = self._home.rows(self._array, np.flatnonzero(keep))
        matrix = DeviceMatrix(rows)
        matrix.names = self.names
        return matrix

    def combine(self, weights: Vector) -> Vector:
        self.passes += 1.0
        bring, blocks = self._home.bring, float64_blocks(self._array)
        total: Any = sum(block @ bring(weights[part]) for part, block in blocks)
        return self._home.fetch(total)

    def project(self, basis: Vector) -> Vector:
        self.passes += 1.0
        rows = self._home.bring(basis.T)
        blocks = float64_blocks(self._array)
        return np.concatenate([self._home.fetch(rows @ block) for _, block in blocks], axis=1)

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        self.passes += 2.0
        mean = self._sums.powers(weights)
        return mean, self._sums.powers(weights, 2, mean)

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        self.passes += 1.0
        total: Bits = np.sum(self._sums.bits(rows) * cols, axis=1)
        return total


def column_sums(array: Array, home: Abroad) -> ColumnSums:
    """Kernels on a CUDA device, where there is Triton to compile them; else plain operations."""
    on_cuda = getattr(device(array), "type", "cuda" if "cupy" in home.xp.__name__ else "") == "cuda"
    if on_cuda and all(importlib.util.find_spec(name) for name in ("torch", "triton")):
        from sparsebounds.matrices.kernels import FusedSums

        return FusedSums(array)
    return PlainSums(array, home)
