"""A matrix held by another array library (torch, CuPy, array_api_strict), read where it lives.

Products are taken in float64 by the library itself, block by block if X is float32, and only
vectors and working columns come back to the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from array_api_compat import device

from sparsebounds._array import Array, Index, Vector, namespace, to_numpy
from sparsebounds.matrices.base import Matrix, inner_product_radius, norms_from_squares
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.words import Words, words

BLOCK = 1 << 24
"""Entries converted to float64 at a time: 128 MiB."""


class DeviceMatrix(Matrix):
    """A view of the caller's array, on its device."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._xp = namespace(array)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.passes = 0.0

    @cached_property
    def norms(self) -> Vector:
        squares = [to_numpy(self._xp.sum(block * block, axis=0)) for _, block in self._blocks()]
        return norms_from_squares(np.concatenate(squares), self.shape[0])

    def scores(self, a: Vector) -> Vector:
        vector = self._moved(a)
        return np.concatenate(
            [to_numpy(self._xp.matmul(block.T, vector)) for _, block in self._blocks()]
        )

    def score_radius(self, a: Vector) -> Vector:
        return inner_product_radius(self.shape[0], self.norms, a)

    def columns(self, index: Index) -> Vector:
        self.passes += len(index) / self.shape[1]
        chosen = self._xp.asarray(index, device=device(self._array))
        block = self._xp.take(self._array, chosen, axis=1)
        return to_numpy(self._xp.astype(block, self._xp.float64))

    def part(self, index: Index) -> DenseMatrix:
        # A few columns are at home on the host; float32 entries are the same in float64.
        return DenseMatrix(self.columns(index))

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        vector = self._moved(weights)
        means, spreads = [], []
        for _, block in self._blocks():
            mean = self._xp.matmul(block.T, vector)
            rest = block - mean[None, :]
            means.append(to_numpy(mean))
            spreads.append(to_numpy(self._xp.matmul((rest * rest).T, vector)))
        return np.concatenate(means), np.concatenate(spreads)

    def checksum(self, rows: Words, cols: Words) -> Words:
        total = np.zeros(len(rows), dtype=np.uint64)
        for part, block in self._blocks():
            bits = words(np.ascontiguousarray(to_numpy(block)))
            total += np.sum((rows @ bits) * cols[:, part], axis=1)
        return total

    def _moved(self, a: Vector) -> Array:
        return self._xp.asarray(a, dtype=self._xp.float64, device=device(self._array))

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """(columns, float64 block) over the whole matrix: one pass."""
        n, m = self.shape
        self.passes += 1.0
        step = m if self._array.dtype == self._xp.float64 else max(1, BLOCK // n)
        for start in range(0, m, step):
            part = slice(start, min(m, start + step))
            yield part, self._xp.astype(self._array[:, part], self._xp.float64, copy=False)
