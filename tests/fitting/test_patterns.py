"""Rows that agree on a support and in their response are one row: no fit can tell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds.fitting import Kinds, Patterns, fitted, merged
from sparsebounds.fitting import patterns as rooms
from sparsebounds.losses import REGISTRY, MeanLoss

N, M, COUNT = 120, 7, 5
LOSSES = sorted(name for name, loss in REGISTRY.items() if loss.convex and loss.name != "squared")


def marked(seed: int) -> np.ndarray:
    """Columns, one per row: dummies of one question, marks, a column of zeros, a duplicate."""
    rng = np.random.default_rng(seed)
    answer, marks = rng.integers(0, 3, N), rng.integers(1, 5, N) / 3.0
    dummies = (answer == np.arange(3)[:, None]).astype(float)
    rare = (rng.random(N) < 0.05).astype(float)
    return np.vstack((dummies, marks, np.zeros(N), rare, marks)) - 0.1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [0, 1, 2, M])
def test_fits_are_those_of_all_rows(loss: str, size: int) -> None:
    """Problems with shares and responses of their own, of which one leaves rows out."""
    for seed in seeds(3, "patterns", loss, size):
        rng = np.random.default_rng(seed)
        columns = marked(seed)
        y = rng.integers(0, 3, (COUNT, N)).astype(float)
        if REGISTRY[loss].two_class:
            y = np.where(y > 0.0, 1.0, -1.0)
        p = rng.integers(1, 4, (COUNT, N)).astype(float)
        p[0, :40] = 0.0
        F = MeanLoss(REGISTRY[loss](), y, p / p.sum(axis=1)[:, None])
        supports = np.sort([rng.permutation(M)[:size] for _ in range(COUNT)], axis=1).astype(int)
        responses, patterns = Kinds.of(y), Patterns(columns, N).of(supports)
        assert responses is not None
        assert patterns is not None
        few, A = merged(F, responses, columns, supports, patterns)
        assert A.shape[2] < N
        np.testing.assert_allclose(few.p.sum(axis=1), 1.0, rtol=1e-14)
        starts = np.zeros((COUNT, size)), np.zeros(COUNT), np.full(COUNT, np.inf)
        given = bool(seed % 2), columns[supports], np.full((COUNT, size), 0.05), *starts
        whole = fitted(F, *given)
        found = fitted(few, given[0], A, *given[2:])
        fine = np.isfinite(whole.value)
        np.testing.assert_array_equal(np.isfinite(found.value), fine)
        assert fine.any()
        for name in ("value", "w", "b"):
            one, other = (getattr(each, name)[fine] for each in (found, whole))
            np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-8)


def test_patterns_are_the_rows_that_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of supports that begin alike, too, and where nothing is kept for long."""
    columns, rng = marked(3), np.random.default_rng(3)
    for memory in (rooms.MEMORY, 1):
        monkeypatch.setattr(rooms, "MEMORY", memory)
        patterns = Patterns(columns, N)
        for size in (3, 4, 5):
            supports = np.sort([rng.permutation(M)[:size] for _ in range(30)], axis=1)
            for support, pattern in zip(supports, patterns.of(supports) or [], strict=True):
                rows = columns[support].T
                number = len(np.unique(rows, axis=0))
                assert len(pattern.first) == number == len(np.unique(pattern.of))
                np.testing.assert_array_equal(rows[pattern.first][pattern.of], rows)


def test_too_many_patterns_are_none() -> None:
    columns = marked(4)
    supports = np.array([[0, 1], [2, 3]])
    most = max(len(pattern.first) for pattern in Patterns(columns, N).of(supports) or [])
    assert Patterns(columns, most).of(supports) is not None
    assert Patterns(columns, most - 1).of(supports) is None
    continuous = np.vstack((columns, np.random.default_rng(4).normal(size=N)))
    assert Patterns(continuous, N).of(np.array([[0, M]])) is None
    assert Patterns(continuous, N).of(np.array([[0, M - 1]])) is not None


def test_few_values_are_asked_for() -> None:
    """All entries count, although the first ones are looked at first."""
    late = np.concatenate((np.zeros(2000), np.arange(50.0)))
    assert Kinds.of(late) is None
    table = np.array([[2.0, -1.0], [-1.0, 2.0]])
    kinds = Kinds.of(table)
    assert kinds is not None
    np.testing.assert_array_equal(kinds.values[kinds.kind], table)
    np.testing.assert_array_equal(kinds.at(np.array([1])).kind, [[0, 1]])
