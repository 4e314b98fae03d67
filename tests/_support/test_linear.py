"""Small systems: solved where they can be, and never an exception."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds._support.linear import inverse, solved


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
