"""A storage of one's own: five members are enough for everything that the package does with X."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.matrices import Matrix
from sparsebounds.matrices.base import norms_from_squares
from sparsebounds.matrices.bits import Bits, bits_of


class Bytes(Matrix):
    """Whole numbers from -128 to 127, one byte each."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers.astype(np.int8)
        self.shape = self._numbers.shape
        self.passes = 0.0

    def _whole(self) -> np.ndarray:
        self.passes += 1.0
        return self._numbers.astype(np.float64)

    @cached_property
    def norms(self) -> np.ndarray:
        return norms_from_squares(np.sum(self._whole() ** 2, axis=0), self.shape[0])

    def scores(self, a: np.ndarray) -> np.ndarray:
        return a @ self._whole()

    def columns(self, index: np.ndarray) -> np.ndarray:
        self.passes += len(index) / self.shape[1]
        return self._numbers[:, index].astype(np.float64)

    def moments(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X = self._whole()
        mean = weights @ X
        return mean, weights @ (X - mean) ** 2

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        return np.einsum("si,ij,sj->s", rows, bits_of(self._whole()), cols)


@pytest.mark.parametrize("form", [{"k": 3, "ridge": 0.1}, {"l0": 0.3, "ball": 2.0}])
def test_a_toy_storage_does_all_that_an_array_does(form: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, size=(40, 8)).astype(np.float64)
    y = X[:, 1] - X[:, 4] + rng.normal(size=40)
    options = form | {"fit_intercept": True, "standardize": True, "exact": True}
    toy, array = sb.solve(Bytes(X), y, **options), sb.solve(X, y, **options)
    assert np.array_equal(toy.support, array.support)
    assert toy.lower == pytest.approx(array.lower, rel=1e-9)
    assert toy.certificate.fingerprint == array.certificate.fingerprint
    assert toy.certificate.verify(X, y)
    assert array.certificate.verify(Bytes(X), y)
    assert len(sb.path(Bytes(X), y, ks=[1, 2], ridge=0.1)) == 2
    program = sb.Program(Bytes(X), y, k=3, ridge=0.1)
    assert sb.rank_bounds(program, [2]).rows[0].lower <= sb.solve(X, y, k=3, ridge=0.1).upper
