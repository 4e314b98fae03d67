"""Drafts on sparse columns, by their entries and one row per kind of the others."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sparsebounds import solve
from sparsebounds.fitting import ByEntries, Kinds, Wanted, drafted
from sparsebounds.losses import REGISTRY, MeanLoss
from sparsebounds.models import pool
from sparsebounds.program import Program

N, M = 90, 12
LOSSES = sorted(name for name, loss in REGISTRY.items() if loss.convex and loss.name != "squared")


def sparse_program(loss: str, seed: int, **options: Any) -> Program:
    """Few responses, uneven weights, a column without entries and one with nothing else."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((N, M), density=0.08, random_state=rng, format="lil")
    X[:, 3], X[:, 4] = 0.0, 1.0
    y = rng.integers(0, 3, N).astype(float)
    if REGISTRY[loss].two_class:
        y = np.where(y > 0.0, 1.0, -1.0)
    weights = rng.integers(0, 3, N) + 0.5
    return Program(X.tocsc(), y, k=M, ridge=0.05, loss=loss, sample_weight=weights, **options)


@pytest.mark.parametrize("loss", LOSSES)
def test_they_are_those_of_all_rows(loss: str) -> None:
    """With an intercept and without, and with columns centred and scaled; supports of all sizes."""
    for seed, (intercept, scaled) in enumerate(itertools.product((False, True), repeat=2)):
        program = sparse_program(loss, seed, fit_intercept=intercept, standardize=scaled)
        entries, kinds = program.matrix.listed, Kinds.responses(program.F)
        assert entries is not None
        assert kinds is not None
        rng = np.random.default_rng(seed)
        sizes = [0, 1, M, *rng.integers(0, M, 5)]
        supports = [np.sort(rng.permutation(M)[:size]) for size in sizes]
        supports += [np.array([3]), np.array([4]), np.array([3, 5])]
        count = len(supports)
        starts = np.zeros((count, M)), np.full(count, program.null_intercept)
        rows = program.matrix.columns(np.arange(M)).T.__getitem__
        alike, limit = ByEntries(program, entries, kinds), np.full(count, np.inf)
        for known in (count, count // 2):
            wanted = Wanted(program.ridges, supports, *starts, limit)
            whole = drafted(program, rows, wanted)
            found = alike.drafted(alike.rows(supports), wanted)
            fine = np.isfinite(whole.value)
            np.testing.assert_array_equal(np.isfinite(found.value), fine)
            assert np.count_nonzero(fine) >= known
            for name in ("value", "b", "w"):
                one, other = (getattr(each, name)[fine] for each in (found, whole))
                np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-9)
            limit = np.full(count, np.median(whole.value) + 1e-6)


@pytest.mark.parametrize("scaled", [False, True])
def test_entries_and_the_rest_are_the_columns(scaled: bool) -> None:
    program = sparse_program("logistic", 1, fit_intercept=scaled, standardize=scaled)
    entries = program.matrix.listed
    assert entries is not None
    columns = np.tile(entries.rest, (N, 1))
    columns[entries.rows, np.repeat(np.arange(M), np.diff(entries.ends))] = entries.values
    np.testing.assert_array_equal(columns, program.matrix.columns(np.arange(M)))


def test_few_rows_are_left_and_few_responses_asked_for() -> None:
    program = sparse_program("logistic", 2)
    entries, kinds = program.matrix.listed, Kinds.responses(program.F)
    assert entries is not None
    assert kinds is not None
    assert ByEntries(program, entries, kinds).mass.sum() == pytest.approx(1.0)
    F, rng = program.F, np.random.default_rng(0)
    alike, counts = ByEntries(program, entries, kinds), np.diff(entries.ends)
    assert (
        alike.rows([np.array([0, 1]), np.array([2])]) == max(counts[0] + counts[1], counts[2]) + 2
    )
    assert Kinds.responses(MeanLoss(F.loss, F.y, F.p, np.zeros(N))) is None
    assert Kinds.responses(MeanLoss(F.loss, rng.normal(size=N), F.p)) is None
    # The first rows do not show it.
    late = np.concatenate((np.zeros(2000), np.arange(50.0)))
    assert Kinds.responses(MeanLoss(F.loss, late, np.full(2050, 1 / 2050))) is None
    assert Program(np.eye(3), np.ones(3), k=1, ridge=0.1).matrix.listed is None


def test_a_search_finds_the_same_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is proved by drafts, and they are better or worse by rounding alone."""
    rng = np.random.default_rng(5)
    X = sp.random_array((600, 200), density=0.01, random_state=rng, format="csc")
    y = np.where(X @ rng.normal(size=200) + 0.1 * rng.normal(size=600) > 0.0, 1, -1)
    given: dict[str, Any] = {"k": 6, "ridge": 1e-3, "loss": "logistic", "exact": False}
    drafts = []
    made = ByEntries.drafted
    monkeypatch.setattr(ByEntries, "drafted", lambda *args: drafts.append(1) or made(*args))
    quick = solve(X, y, **given)
    assert drafts
    monkeypatch.setattr(pool, "FEWER", np.inf)
    slow = solve(X, y, **given)
    assert quick.support.tolist() == slow.support.tolist()
    assert quick.upper == pytest.approx(slow.upper, rel=1e-12)
