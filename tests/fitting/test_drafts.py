"""Drafts: many supports at once are fitted as each of them alone, or left to the careful refit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds._support.array import Index
from sparsebounds.fitting import Draft, Wanted, draftable, drafted, refit
from sparsebounds.losses import REGISTRY
from sparsebounds.models import Ladder
from sparsebounds.program import Program
from sparsebounds.testing import random_program


def supports_of(program: Program, count: int, seed: int) -> list[Index]:
    """Supports of all sizes, the empty one first."""
    rng = np.random.default_rng(seed)
    sizes = [0, *rng.integers(0, program.m + 1, count - 1)]
    return [np.sort(rng.permutation(program.m)[:size]) for size in sizes]


def plain(program: Program) -> Program:
    """As many features as there are, no signs: what drafts are about."""
    return Program(
        program.matrix.columns(np.arange(program.m)),
        program.y,
        k=program.m,
        ridge=program.ridge,
        loss=program.loss,
        fit_intercept=program.fit_intercept,
        sample_weight=program.weights,
        offset=program.offset,
    )


@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_together_as_alone(loss: str) -> None:
    """Every loss, with and without intercept, weights and offsets as they are drawn."""
    settled = total = 0
    for seed in seeds(6, loss):
        program = random_program(seed, loss=loss, form="k+ridge", fit_intercept=bool(seed % 2))
        program = plain(program)
        assert draftable(program)
        supports = supports_of(program, 7, seed)
        rows = program.matrix.columns(np.arange(program.m)).T
        start = np.zeros((7, program.m)), np.full(7, program.null_intercept)
        wanted = Wanted(program.ridges, supports, *start, np.full(7, np.inf))
        found = drafted(program, rows.__getitem__, wanted)
        assert not np.any(np.isinf(found.value))
        for i, support in enumerate(supports):
            total += 1
            if np.isnan(found.value[i]):
                continue
            settled += 1
            alone = refit(program, support)
            scale = max(abs(alone.value), abs(program.null), 1e-300)
            assert found.value[i] == pytest.approx(alone.value, abs=1e-9 * scale)
            whole = np.zeros(program.m)
            whole[support] = found.w[i, : len(support)]
            true = program.objective(whole, float(found.b[i]))
            assert found.value[i] == pytest.approx(true, abs=1e-12 * scale)
            assert not np.any(found.w[i, len(support) :])
    assert settled >= 0.9 * total


def test_limits_are_kept() -> None:
    """A support is given up only if its best model is above the limit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=60) > 0, 1.0, -1.0)
    program = Program(X, y, loss="logistic", k=8, ridge=0.01, fit_intercept=True)
    supports = [np.array(pair) for pair in itertools.combinations(range(8), 2)]
    best = np.array([refit(program, support).value for support in supports])
    limit = float(np.median(best))
    start = np.zeros((len(supports), 2)), np.full(len(supports), program.null_intercept)
    limits = np.full(len(supports), limit)
    wanted = Wanted(program.ridges, supports, *start, limits)
    found = drafted(program, X.T.__getitem__, wanted)
    given_up = np.isinf(found.value)
    assert np.all(best[given_up] > limit)
    assert np.count_nonzero(given_up) >= len(supports) // 4
    np.testing.assert_allclose(found.value[~given_up], best[~given_up], rtol=1e-12)


def test_columns_that_are_the_same_or_nothing() -> None:
    """Rank-deficient supports have their ridge; a column of zeros has no coefficient."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    X = np.column_stack((X, X[:, 0], np.zeros(30), X[:, 1] + X[:, 2]))
    for loss, y in (("squared", rng.normal(size=30)), ("logistic", rng.choice([-1.0, 1.0], 30))):
        program = Program(X, y, loss=loss, k=6, ridge=1e-6, fit_intercept=True)
        support = [np.arange(6)]
        start = np.zeros((1, 6)), np.full(1, program.null_intercept)
        wanted = Wanted(program.ridges, support, *start, np.full(1, np.inf))
        found = drafted(program, X.T.__getitem__, wanted)
        alone = refit(program, support[0]).value
        assert np.isnan(found.value[0]) or found.value[0] == pytest.approx(alone, rel=1e-9)
        assert found.w[0, 4] == 0.0


def test_separable_classes_are_left_to_the_refit() -> None:
    """Far down an exponential plain steps do not settle; a ladder still has the best model."""
    x = np.linspace(-1.0, 1.0, 20)
    X, y = np.column_stack((x, np.cos(7 * x))), np.where(x > 0, 1.0, -1.0)
    program = Program(X, y, loss="logistic", k=1, ridge=1e-12, fit_intercept=True)
    model = Ladder(program).climb([1])[0]
    assert model.value <= refit(program, np.array([0])).value * (1 + 1e-9)


def test_a_draft_says_so() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    program = Program(X, y, k=2, ridge=0.1)
    assert all(isinstance(model, Draft) for model in Ladder(program).climb([0, 1, 2]))
    assert not draftable(Program(X, y, k=2, ball=1.0))


def test_parts_of_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 8))
    program = Program(X, rng.normal(size=20), k=4, ridge=0.1)
    supports = [np.arange(4), np.array([1, 6]), np.array([2])]

    def found() -> list[np.ndarray]:
        zeros = np.zeros((3, 4)), np.zeros(3), np.full(3, np.inf)
        draft = drafted(program, X.T.__getitem__, Wanted(program.ridges, supports, *zeros))
        return [draft.w, draft.b, draft.value]

    together = found()
    monkeypatch.setattr("sparsebounds.fitting.drafts.ENTRIES", 1)
    for one, other in zip(together, found(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
