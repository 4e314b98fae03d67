"""Small systems are solved where they can be, and products in pieces are the products."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds._support import linear, threads
from sparsebounds._support.linear import gram, inverse, positive_solved, product, solved


def test_solutions(rng: np.random.Generator) -> None:
    for _ in range(20):
        root = rng.normal(size=(5, 5))
        matrix, x = root @ root.T + np.eye(5), rng.normal(size=5)
        assert solved(matrix, matrix @ x) == pytest.approx(x)
        assert inverse(matrix) @ matrix == pytest.approx(np.eye(5), abs=1e-10)


def test_a_singular_system_has_its_shortest_solution() -> None:
    assert solved(np.ones((2, 2)), np.array([2.0, 2.0])) == pytest.approx([1.0, 1.0])
    assert inverse(np.diag([2.0, 0.0])) == pytest.approx(np.diag([0.5, 0.0]))
    for bad in (np.nan, np.inf):
        assert np.array_equal(solved(np.full((2, 2), bad), np.ones(2)), np.zeros(2))
    assert solved(np.zeros((0, 0)), np.zeros(0)).shape == (0,)


def test_products_in_pieces(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """By rows, by columns and by sums; of integers, so that no rounding hides a missing piece."""
    monkeypatch.setattr(threads, "threads", lambda: 3)
    monkeypatch.setattr(linear, "READ", 8)
    monkeypatch.setattr(linear, "MULTIPLIED", 8)
    for shape in [(7, 5), (1, 40), (40, 1), (3, 50), (4, 4)]:
        left = rng.integers(-9, 9, size=shape).astype(float)
        for one in (left, np.asfortranarray(left), np.repeat(left, 2, axis=1)[:, ::2]):
            for width in (1, 2, 60):
                right = rng.integers(-9, 9, size=(shape[1], width)).astype(float)
                assert np.array_equal(product(one, right), one @ right)
            assert np.array_equal(product(one, right[:, 0]), one @ right[:, 0])
            assert np.array_equal(gram(one), one @ one.T)


def test_systems_in_pieces(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "threads", lambda: 4)
    monkeypatch.setattr(threads, "threads", lambda: 4)
    for name, value in (("LARGE", 2), ("PANEL", 3), ("MULTIPLIED", 2)):
        monkeypatch.setattr(linear, name, value)
    for size in (1, 2, 3, 4, 11, 24):
        root = rng.normal(size=(size, size))
        matrix, x = root @ root.T + np.eye(size), rng.normal(size=size)
        for stored in (matrix, np.asfortranarray(np.tril(matrix))):
            factor, found, failed = positive_solved(stored, matrix @ x)
            assert not failed
            np.testing.assert_allclose(found, x, rtol=1e-10, atol=1e-10)
            lower = np.tril(factor)
            np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-12, atol=1e-12)
        for at in (0, size - 1):
            matrix[at, at] = -1.0
            assert positive_solved(matrix, x)[2]
