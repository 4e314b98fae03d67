"""One method on one data set: which of the planted features and outliers it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.common.peers.scikit_learn import huber, ransac, theil_sen
from benchmarks.robust.trimmed import sparse_lts
from sparsebounds import losses, solve

N, M, K, NOISE, RIDGE, FEW, MANY = 200, 500, 5, 0.5, 0.02, 20, 60
ERRORS = tuple((kind, level) for kind in ("shifted", "other model") for level in (0.2, 0.4))
LOSSES: dict[str, losses.Loss] = {
    "tukey": losses.Tukey(c=4.685 * NOISE),
    "truncated": losses.Truncated(c=3.0 * NOISE),
    "huber": losses.Huber(delta=1.345 * NOISE),
    "squared": losses.Squared(),
}
REGRESSORS: dict[str, tuple[Callable[[int, float, int], Any], int]] = {
    "sklearn Huber, all columns": (huber, M),
    "sklearn Huber, screened": (huber, MANY),
    "sklearn RANSAC, screened": (ransac, FEW),
    "sklearn Theil-Sen, screened": (theil_sen, FEW),
}
"""How each is made, and how many columns it sees."""

TRIMMED = "sparse LTS (our code)"
FAR = 3.0 * NOISE
"""Rows with a larger residual count as outliers, for every method."""


@dataclass
class Attempt:
    """One method on one data set."""

    errors: tuple[str, float]
    method: str
    seed: int
    hits: int
    """Planted features among those named."""

    false: int
    seconds: float
    """Processor time."""

    caught: float
    """The share of the planted outliers that are outliers of the model."""

    spared: float
    """The share of the other rows that are not."""

    screened: bool = True
    """Whether all planted features passed the screening."""

    rel_gap: float = float("nan")
    lower: float = float("nan")
    upper: float = float("nan")
    envelope: float = float("nan")
    """The bound of the envelope, where the loss is not convex."""

    @property
    def recovered(self) -> bool:
        """Whether precisely the planted features are named."""
        return self.hits == K and self.false == 0


def data(errors: tuple[str, float], seed: int) -> tuple[Any, Any, Any, Any]:
    """X, y, the planted support and the planted outliers."""
    kind, level = errors
    rng = np.random.default_rng([seed, int(100 * level)])
    X = rng.normal(size=(N, M))
    truth = np.sort(rng.choice(M, size=K, replace=False))
    y = X[:, truth] @ (rng.choice([-1.0, 1.0], size=K) * rng.uniform(1.0, 2.0, size=K))
    y += NOISE * rng.normal(size=N)
    bad = rng.choice(N, size=int(level * N), replace=False)
    if kind == "shifted":
        y[bad] += rng.choice([-1.0, 1.0], size=len(bad)) * rng.uniform(10.0, 50.0, size=len(bad))
    else:
        other = rng.choice(np.setdiff1d(np.arange(M), truth), size=K, replace=False)
        size = rng.choice([-1.0, 1.0], size=K) * rng.uniform(5.0, 10.0, size=K)
        y[bad] = X[np.ix_(bad, other)] @ size + NOISE * rng.normal(size=len(bad))
    return X, y, truth, bad


def named(residuals: Any, bad: Any) -> tuple[float, float]:
    """The shares of outliers caught and of other rows spared."""
    far = np.abs(residuals) >= FAR
    good = np.delete(far, bad)
    return float(np.mean(far[bad])), float(1.0 - np.mean(good))


def ours(name: str, errors: tuple[str, float], seed: int) -> Attempt:
    """A sparse model with its certificate, verified."""
    X, y, truth, bad = data(errors, seed)
    started = process_time()
    found = solve(X, y, k=K, ridge=RIDGE, loss=LOSSES[name], fit_intercept=True)
    seconds = process_time() - started
    assert found.certificate.verify(X, y).ok
    hits = len(np.intersect1d(found.support, truth))
    rows = named(y - X @ found.coef - found.intercept, bad)
    attempt = Attempt(errors, name, seed, hits, len(found.support) - hits, seconds, *rows)
    attempt.rel_gap, attempt.lower, attempt.upper = found.rel_gap, found.lower, found.upper
    if found.stats.tightening:
        attempt.envelope = found.stats.tightening[-1]
    return attempt


def screening(X: Any, y: Any, count: int) -> Any:
    """The columns of largest rank correlation with y."""
    ranks = np.apply_along_axis(rankdata, 0, X) - 0.5 * (N + 1)
    score = np.abs(ranks.T @ (rankdata(y) - 0.5 * (N + 1)))
    return np.sort(np.argsort(-score)[:count])


def theirs(name: str, errors: tuple[str, float], seed: int) -> Attempt:
    """The 5 largest standardized coefficients of a regressor that is not sparse."""
    X, y, truth, bad = data(errors, seed)
    make, count = REGRESSORS[name]
    started = process_time()
    columns = screening(X, y, count) if count < M else np.arange(M)
    model = make(count, NOISE, seed).fit(X[:, columns], y)
    seconds = process_time() - started
    coef = np.ravel(getattr(model, "estimator_", model).coef_) * X[:, columns].std(axis=0)
    chosen = columns[np.argsort(-np.abs(coef))[:K]]
    hits = len(np.intersect1d(chosen, truth))
    kept = len(np.intersect1d(columns, truth)) == K
    rows = named(y - np.ravel(model.predict(X[:, columns])), bad)
    return Attempt(errors, name, seed, hits, K - hits, seconds, *rows, kept)


def trimmed(name: str, errors: tuple[str, float], seed: int) -> Attempt:
    """Least trimmed squares with 5 features, on all columns."""
    X, y, truth, bad = data(errors, seed)
    started = process_time()
    coef, intercept = sparse_lts(X, y, K, RIDGE, np.random.default_rng(seed))
    seconds = process_time() - started
    support = np.flatnonzero(coef)
    hits = len(np.intersect1d(support, truth))
    rows = named(y - X @ coef - intercept, bad)
    return Attempt(errors, name, seed, hits, len(support) - hits, seconds, *rows)
