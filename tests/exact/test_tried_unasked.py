"""Wide tables, one or two features: all supports are tried unasked, and the optimum is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sparsebounds as sb

N, M, RIDGE = 14, 1600, 0.05


def best_of(X: Any, y: Any, k: int) -> float:
    """The least objective of one column, or of two, in closed form."""
    Q, c = X.T @ X / N, X.T @ y / N
    a = np.diagonal(Q) + RIDGE
    gains = 0.5 * c**2 / a
    if k == 2:
        other = (c[None, :] ** 2 * a[:, None] - 2 * Q * c[:, None] * c[None, :]) + (
            c[:, None] ** 2 * a[None, :]
        )
        pairs = 0.5 * other / (a[:, None] * a[None, :] - Q**2)
        np.fill_diagonal(pairs, -np.inf)
        gains = np.append(gains, pairs.max())
    return float(0.5 * y @ y / N - gains.max())


@pytest.mark.parametrize("k", [1, 2])
def test_wide_tables_of_one_or_two_features(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    rng = np.random.default_rng(k)
    X = rng.normal(size=(N, M)) + rng.normal(size=(N, 1))
    y = X[:, 3] - X[:, 700] + rng.normal(size=N)
    best = best_of(X, y, k)
    # Products that are too many for a search are few enough to try all supports.
    monkeypatch.setattr("sparsebounds.exact.search.BEGIN", 1e6)
    found = sb.solve(X, y, k=k, ridge=RIDGE)
    assert found.status == "optimal"
    assert found.lower <= best <= found.upper * (1.0 + 1e-12)
    assert found.certificate.verify(X, y)
    assert "No exact search was begun" in sb.solve(X, y, k=k + 2, ridge=RIDGE).message


def test_room_is_kept_to_where_nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two features of so many take memory; who asks for the proof has it."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(N, M)), rng.normal(size=N)
    for home in ("ridge", "reduction", "search"):
        monkeypatch.setattr(f"sparsebounds.exact.{home}.ROOM", 1e6)
    assert sb.solve(X, y, k=2, ridge=RIDGE).status == "bounded"
    found = sb.solve(X, y, k=2, ridge=RIDGE, exact=True)
    assert found.stats.nodes == 1
    assert found.lower <= best_of(X, y, 2) <= found.upper * (1.0 + 1e-12)
