"""Problems in step: worth what is said on their own rows, and nearly always the best."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds.estimators._lockstep import step_models
from sparsebounds.estimators._workers import Workers
from sparsebounds.losses import Logistic
from sparsebounds.models import Alike, State, in_step, lockstep, step_losses
from sparsebounds.program import Program
from sparsebounds.testing import brute_force


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize(
    ("standardize", "fit_intercept", "wide"),
    [(True, True, False), (True, False, False), (False, True, True), (False, False, False)],
)
def test_each_fold_as_if_alone(
    monkeypatch: pytest.MonkeyPatch, loss: str, standardize: bool, fit_intercept: bool, wide: bool
) -> None:
    """Weights, a column that is constant in one fold, features that stay in and out.

    Where there are more features than are in play, the squared loss has no Gram matrices.
    """
    if wide:
        monkeypatch.setattr(lockstep, "WIDEST", 4)
        monkeypatch.setattr(step_losses, "POOL", 2)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 8)) * 10.0 ** rng.uniform(-1, 1, 8) + 3.0
    X[:20, 6] = 1.0
    y = (X / X.std(axis=0))[:, :4] @ [1.0, -1.0, 0.5, 0.5] + rng.normal(size=60)
    y = np.where(y > np.median(y), 1.0, -1.0) if loss == "logistic" else y + 50.0 * fit_intercept
    weights, ridges, ks = rng.integers(1, 3, 60).astype(float), [0.05, 0.5], [0, 1, 3, 20]
    posed = {"loss": loss, "standardize": standardize, "fit_intercept": fit_intercept}
    posed |= {"always": [5], "never": [7]}
    options = {"standardize": standardize, "ks": ks, "watch": None, "time_limit": None}
    whole = Program(X, y, k=0, ridge=1.0, sample_weight=weights, **posed)
    trains = [np.arange(40), np.arange(20), np.arange(10, 60)]
    models = step_models(whole, X, weights, trains, [y], ridges, options, Workers(1))
    found = total = 0
    for f, train in enumerate(trains):
        for r, ridge in enumerate(ridges):
            for i, k in enumerate(ks):
                given = {"ridge": ridge, "sample_weight": weights[train], **posed}
                program = Program(X[train], y[train], k=min(k, 6), **given)
                w, b = models[f][r][i][0]
                value, best = program.objective(w, b), brute_force(program).value
                assert best - 1e-9 * abs(best) <= value < np.inf
                found += value <= best + 1e-6 * abs(best)
                total += 1
    assert found >= 0.9 * total


def test_a_start_far_off_is_given_up_for_zero() -> None:
    """Where the quadratic's minimum lies far down an exponential, plain steps end nowhere."""
    rng = np.random.default_rng(0)
    columns = rng.standard_t(2, size=(2, 50))
    y = np.where(columns[0] - columns[1] + 0.5 * rng.normal(size=50) > 0.0, 1.0, -1.0)
    shares, one = np.full((1, 50), 0.02), np.ones(1)
    ridges, none = np.full((1, 2), 1e-6), np.zeros(1, dtype=np.int64)
    some = np.zeros(0, dtype=np.int64), np.ones(2, dtype=bool)
    alike = Alike(columns, Logistic(), y[None], shares, one, ridges, none, True, *some)
    step, inside = in_step(alike), np.array([[0, 1]])
    far = State(none, inside, np.array([[40.0, -40.0]]), np.zeros(1), np.full(1, np.inf))
    with np.errstate(all="ignore"):
        assert step.fit(far, far.value).value[0] == np.inf
        found = step._surely(far)
    program = Program(columns.T, y, k=2, ridge=1e-6, loss="logistic", fit_intercept=True)
    best = brute_force(program)
    assert found.value[0] == pytest.approx(best.value, rel=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber"])
def test_rows_that_agree_make_the_same_models(monkeypatch: pytest.MonkeyPatch, loss: str) -> None:
    """On dummies rows are merged, or not: no model differs by more than rounding."""
    rng = np.random.default_rng(6)
    X = (rng.random((400, 12)) < 0.3).astype(float)
    scores = X[:, :4] @ [1.0, -1.0, 0.8, 0.6] + 0.3 * rng.normal(size=400)
    y = np.clip(np.round(scores), 0.0, 3.0)
    if loss == "logistic":
        y = np.where(scores > 0.3, 1.0, -1.0)
    whole = Program(X, y, k=0, ridge=1.0, loss=loss, fit_intercept=True, standardize=True)
    trains = [np.arange(300), np.arange(100, 400)]
    options = {"standardize": True, "ks": [0, 2, 4], "watch": None, "time_limit": None}

    def found() -> list[list[float]]:
        given = [y], [0.01, 0.1], options, Workers(1)
        models = step_models(whole, X, np.ones(400), trains, *given)
        return [[whole.objective(*size[0]) for ridge in fold for size in ridge] for fold in models]

    merges, made = [], step_losses.merged
    monkeypatch.setattr(
        step_losses, "merged", lambda *args: merges.append(args[3].size) or made(*args)
    )
    few = found()
    assert any(merges)
    monkeypatch.setattr(step_losses, "FEWER", np.inf)
    merges.clear()
    np.testing.assert_allclose(few, found(), rtol=1e-9)
    assert not any(merges)
