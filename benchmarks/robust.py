"""python -m benchmarks.robust [--seeds N] [--no-save]

Support recovery under gross errors: n = 200 rows, m = 500 standard normal columns, 5 of them used
with coefficients of size 1 to 2, noise of standard deviation 0.5. Gross errors in 20 or 40% of the
rows are of two kinds: "shifted", moved by 10 to 50 either way, and "other model", where the rows
follow 5 other columns with coefficients of size 5 to 10. Ours are sparse and see all columns.
scikit-learn's robust regressors are not sparse: their 5 largest standardized coefficients are
taken. RANSAC and Theil-Sen need more rows than columns and get the 20 columns of largest rank
correlation with y (Huber gets 60 of them, besides its run on all columns): how often these hold the
planted 5 is a column of the table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    RANSACRegressor,
    TheilSenRegressor,
)

from benchmarks import machine
from benchmarks.bars import Verdict
from benchmarks.page import Page, three
from sparsebounds import losses, solve

N, M, K, NOISE, RIDGE, FEW, MANY = 200, 500, 5, 0.5, 0.02, 20, 60
SEEDS = 20
ERRORS = tuple((kind, level) for kind in ("shifted", "other model") for level in (0.2, 0.4))
PACKAGES = ("sparsebounds", "numpy", "scipy", "scikit-learn")
LOSSES: dict[str, losses.Loss] = {
    "tukey": losses.Tukey(c=4.685 * NOISE),
    "truncated": losses.Truncated(c=3.0 * NOISE),
    "huber": losses.Huber(delta=1.345 * NOISE),
    "squared": losses.Squared(),
}


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
    screened: bool = True
    """Whether all planted features passed the screening."""

    rel_gap: float = float("nan")
    lower: float = float("nan")
    upper: float = float("nan")
    first_lower: float = float("nan")
    """The bound before any round of tightening."""

    rounds: int = 0


def data(errors: tuple[str, float], seed: int) -> tuple[Any, Any, Any]:
    """X, y and the planted support."""
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
    return X, y, truth


def ours(name: str, errors: tuple[str, float], seed: int) -> Attempt:
    """A sparse model with its certificate, verified."""
    X, y, truth = data(errors, seed)
    started = time.perf_counter()
    found = solve(X, y, k=K, ridge=RIDGE, loss=LOSSES[name], fit_intercept=True)
    seconds = time.perf_counter() - started
    assert found.certificate.verify(X, y).ok
    hits = len(np.intersect1d(found.support, truth))
    attempt = Attempt(errors, name, seed, hits, len(found.support) - hits, seconds)
    attempt.rel_gap, attempt.lower, attempt.upper = found.rel_gap, found.lower, found.upper
    if found.stats.tightening:
        attempt.first_lower, attempt.rounds = (
            found.stats.tightening[0],
            len(found.stats.tightening) - 1,
        )
    return attempt


def screening(X: Any, y: Any, count: int) -> Any:
    """The columns of largest rank correlation with y."""
    ranks = np.apply_along_axis(rankdata, 0, X) - 0.5 * (N + 1)
    score = np.abs(ranks.T @ (rankdata(y) - 0.5 * (N + 1)))
    return np.sort(np.argsort(-score)[:count])


def regressors(seed: int) -> dict[str, tuple[Callable[[], Any], int]]:
    """scikit-learn's, by name, and how many columns they see."""

    def ransac() -> Any:
        return RANSACRegressor(
            LinearRegression(),
            min_samples=FEW + 1,
            residual_threshold=3.0 * NOISE,
            max_trials=500,
            random_state=seed,
        )

    def theil_sen() -> Any:
        return TheilSenRegressor(max_subpopulation=3000, max_iter=500, random_state=seed)

    def huber() -> Any:
        return HuberRegressor(max_iter=1000)

    return {
        "sklearn Huber, all columns": (huber, M),
        "sklearn Huber, screened": (huber, MANY),
        "sklearn RANSAC, screened": (ransac, FEW),
        "sklearn Theil-Sen, screened": (theil_sen, FEW),
    }


def theirs(name: str, errors: tuple[str, float], seed: int) -> Attempt:
    """The 5 largest standardized coefficients of a regressor that is not sparse."""
    X, y, truth = data(errors, seed)
    make, count = regressors(seed)[name]
    started = time.perf_counter()
    columns = screening(X, y, count) if count < M else np.arange(M)
    model = make().fit(X[:, columns], y)
    seconds = time.perf_counter() - started
    coef = np.ravel(getattr(model, "estimator_", model).coef_) * X[:, columns].std(axis=0)
    chosen = columns[np.argsort(-np.abs(coef))[:K]]
    hits = len(np.intersect1d(chosen, truth))
    kept = len(np.intersect1d(columns, truth)) == K
    return Attempt(errors, name, seed, hits, K - hits, seconds, kept)


def line(errors: tuple[str, float], method: str, rows: list[Attempt]) -> list[str]:
    """A method at one level, as text."""
    exact = sum(row.hits == K and row.false == 0 for row in rows)
    gaps = np.array([row.rel_gap for row in rows])
    certified = not np.isnan(gaps).all()
    rounds = any(row.rounds for row in rows)
    first = np.mean([row.first_lower / row.upper for row in rows]) if rounds else float("nan")
    last = np.mean([row.lower / row.upper for row in rows])
    return [
        f"{errors[1]:.0%} {errors[0]}: {method}",
        f"{exact}/{len(rows)}",
        f"{np.mean([row.hits for row in rows]):.2f}",
        f"{sum(row.screened for row in rows)}/{len(rows)}",
        f"{np.median(gaps):.1%} ({gaps.min():.1%} to {gaps.max():.1%})" if certified else "-",
        f"{first:.3f} -> {last:.3f}" if rounds else (f"{last:.3f}" if certified else "-"),
        three(np.mean([row.seconds for row in rows])),
    ]


def main() -> None:
    """Run, print one table, save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robust", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    options = parser.parse_args()
    rows: list[Attempt] = []
    lines: list[list[str]] = []
    for errors in ERRORS:
        for name in (*LOSSES, *regressors(0)):
            run = ours if name in LOSSES else theirs
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [run(name, errors, seed) for seed in range(options.seeds)]
            rows += found
            lines.append(line(errors, name, found))
            print("  ".join(lines[-1]), flush=True)
    page = Page(
        title="Robust models",
        caption=(
            f"{N} x {M}, {K} planted features, ridge {RIDGE}, an intercept, {options.seeds} seeds. "
            "exact: data sets on which precisely the planted features were named; hits: planted "
            "features named, of 5; screened: data sets whose screening kept all 5; gap: median "
            "(least to largest) certified relative gap; lower/upper: mean certified lower bound "
            "over the model's objective, before -> after the rounds of tightening; s: mean time, "
            "on a machine that other work shared."
        ),
        header=["errors, method", "exact", "hits", "screened", "gap", "lower/upper", "s"],
        lines=lines,
        verdicts=verdicts(rows),
        absences=["RANSAC and Theil-Sen on all columns: they need more rows than columns"],
        machine=machine.describe(PACKAGES),
    )
    page.show()
    if options.seeds == SEEDS and not options.no_save:
        content = {"machine": page.machine, "rows": [asdict(row) for row in rows]}
        for path in page.save("robust", content):
            print(f"saved {path}")


def verdicts(rows: list[Attempt]) -> list[Verdict]:
    """Whether the bounded losses name the planted features at least as often as all others."""
    found, robust = [], ("tukey", "truncated")
    for errors in ERRORS:
        exact = dict.fromkeys((row.method for row in rows), 0)
        for row in rows:
            exact[row.method] += row.errors == errors and row.hits == K and row.false == 0
        others = max(count for method, count in exact.items() if method not in robust)
        for method in robust:
            asked = "recovers at least as often as every convex or dense method"
            measured, passed = f"{exact[method]} against {others}", exact[method] >= others
            where = f"{errors[1]:.0%} {errors[0]}: {method}"
            found.append(Verdict(where, asked, measured, passed))
    return found


if __name__ == "__main__":
    main()
