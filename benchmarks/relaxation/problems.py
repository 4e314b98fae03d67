"""The relaxations to be solved: data with fixed seeds.

Most data are autoregressive normal columns, 10 coefficients of 1 and a signal of 5 times the
noise's variance; l0 is a fraction of `l0_max`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.common.problems import (
    Problem,
    correlated,
    experiment_1,
    noisy,
    posed,
    shared_data,
)


def nearly_low_rank(n: int = 1000, m: int = 100_000, rank: int = 20) -> Problem:
    """X = A B plus 1% noise, columns of mean square about 1; 10 ones, SNR 5."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, rank)) @ rng.normal(scale=rank**-0.5, size=(rank, m))
    for rows in np.array_split(np.arange(n), 20):
        X[rows] += 0.01 * rng.normal(size=(len(rows), m))
    signal = X[:, np.linspace(0, m - 1, 10).astype(int)].sum(axis=1)
    return posed(X, noisy(signal, rng), "squared")


def sparse(n: int = 20_000, m: int = 200_000, density: float = 1e-3) -> Problem:
    """Normal entries at random places, scaled to columns of mean square about 1."""
    rng = np.random.default_rng(0)
    count = int(density * n * m)
    entries = rng.normal(scale=density**-0.5, size=count)
    places = (rng.integers(n, size=count), rng.integers(m, size=count))
    X = sp.csc_array(sp.coo_array((entries, places), shape=(n, m)))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    coef = np.zeros(m)
    coef[np.linspace(0, m - 1, 10).astype(int)] = 1.0
    signal = X @ coef
    return posed(X, noisy(signal, rng), "squared")


def leukemia() -> Problem:
    """72 samples, 3571 genes: logistic, l0 = 0.1, ball = 50, standardized."""
    X, y = shared_data("leukemia")
    return Problem(X, y, "logistic", l0=0.1, ball=50.0, standardize=True)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "exp1-l0": experiment_1,
    "exp1-k-logistic": lambda: experiment_1("logistic", 10),
    "500x1000-ar0.5": lambda: correlated(500, 1000),
    "500x1000-ar0.9": lambda: correlated(500, 1000, correlation=0.9),
    "500x1000-logistic": lambda: correlated(500, 1000, loss="logistic"),
    "leukemia": leukemia,
    "500x10000": lambda: correlated(500, 10_000),
    "500x10000-logistic": lambda: correlated(500, 10_000, loss="logistic"),
    "500x10000-k": lambda: correlated(500, 10_000, k=10),
    "100000x500": lambda: correlated(100_000, 500),
    "1000x50000-0.1": lambda: correlated(1000, 50_000, ridge=1.0, fraction=0.1),
    "1000x50000-0.02": lambda: correlated(1000, 50_000, ridge=1.0, fraction=0.02),
    "1000x50000-logistic-0.1": lambda: correlated(
        1000, 50_000, ridge=1.0, fraction=0.1, loss="logistic"
    ),
    "1000x50000-logistic-0.02": lambda: correlated(
        1000, 50_000, ridge=1.0, fraction=0.02, loss="logistic"
    ),
    "1000x100000-rank20": nearly_low_rank,
    "20000x200000-sparse": sparse,
}

QUICK = ("exp1-l0", "exp1-k-logistic", "500x1000-ar0.5", "500x1000-logistic", "leukemia")
"""What --quick runs."""
