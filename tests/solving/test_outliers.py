"""Rows that are proved outliers or inliers, against all sets of outliers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sparsebounds import losses, solve

C, RIDGE = 1.0, 0.01


def best(X, y):
    """The least objective and its outliers, by trying all sets."""
    n, found = len(y), []
    for size in range(n):
        for out in itertools.combinations(range(n), size):
            A, b = np.delete(X, out, axis=0), np.delete(y, out)
            w = np.linalg.solve(A.T @ A / n + RIDGE * np.eye(X.shape[1]), A.T @ b / n)
            squares = float(np.sum(np.square(b - A @ w)))
            found.append((0.5 * (squares + size * C**2) / n + 0.5 * RIDGE * w @ w, set(out)))
    return min(found, key=lambda one: one[0])


@pytest.mark.parametrize(("seed", "doubt"), [(1, 1), (2, 0)])
def test_a_search_says_of_rows_what_its_whole_tree_proves(seed, doubt):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    y = 1.5 * X[:, 0] + 0.5 * rng.normal(size=9)
    y[:3] += rng.uniform(2.0, 4.0, size=3) * rng.choice([-1, 1], 3)
    cost, out = best(X, y)
    found = solve(X, y, k=2, ridge=RIDGE, loss=losses.Truncated(c=C), exact=True)
    assert found.status == "optimal"
    assert found.lower <= cost * (1 + 1e-12)
    assert found.upper <= cost * (1 + 1e-9)
    rows = found.outliers
    assert set(rows.proved_out) <= out
    assert not set(rows.proved_in) & out
    assert len(rows.in_doubt) <= doubt


def test_outliers_are_proved_where_no_search_was_needed_for_the_gap() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 15))
    y = 2.0 * X[:, 0] - X[:, 4] + 0.3 * rng.standard_normal(100)
    y[:8] += 15.0
    how = {"k": 2, "ridge": 0.1, "loss": "truncated"}
    assert solve(X, y, exact=False, **how).status == "optimal"
    found = solve(X, y, exact=True, **how).outliers
    assert found is not None
    assert found.proved_out.tolist() == list(range(8))
    assert len(found.in_doubt) == 0
