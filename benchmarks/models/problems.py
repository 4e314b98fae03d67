"""The models asked for: fixed designs and seeds, k + ridge everywhere, no intercept.

AR        500 rows, autoregressive columns, 10 ones, noise of variance var(signal)/SNR; ridge 0.05.
          k = 5, 10, 20: fewer features than made y, as many, and more
exp1      1000 x 100 of rank 10, the paper's first experiment; ridge 0.01
exp2      1000 x 100 with a bell of singular values, its second. The paper has the ball |w|^2 <= 30
          there, which no other tool knows: it becomes a ridge near the ball's own multiplier
data      columns to mean 0 and variance 1 (colon: of the log10), y centred where it is a number;
          ridge 0.05

With classes, y is the sign of the same response. Everybody gets the same matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.common import problems
from benchmarks.common.problems import REAL, Problem, experiment_1, real

SIZES = (5, 10, 20)
LOSSES = ("squared", "logistic")
RIDGE_2 = {"squared": 5e-4, "logistic": 2e-4}
"""Experiment 2: the ball of 30 has multipliers from 4e-4 to 6e-4, with classes half of that."""

ROWS, WIDTHS, CORRELATIONS, SNRS = 500, (1000, 5000), (0.5, 0.9), (2, 5, 10)


def correlated(loss: str, m: int, correlation: float, snr: float, k: int) -> Problem:
    """Autoregressive columns; a seed of its own per design, so that no two share their noise."""
    seed = 100 * WIDTHS.index(m) + 10 * CORRELATIONS.index(correlation) + SNRS.index(snr)
    return problems.correlated(ROWS, m, correlation=correlation, snr=snr, loss=loss, k=k, seed=seed)


def experiment_2(loss: str, k: int) -> Problem:
    """Bell-shaped singular values, effective rank 10; coefficients and noise as in exp1."""
    from sklearn.datasets import make_low_rank_matrix

    X = make_low_rank_matrix(1000, 100, effective_rank=10, random_state=0)
    rng = np.random.default_rng(0)
    coef = np.zeros(100)
    coef[rng.choice(100, 10, replace=False)] = rng.normal(scale=5.0, size=10)
    y = X @ coef + rng.normal(size=1000)
    if loss == "logistic":
        y = np.where(y > 0, 1.0, -1.0)
    return Problem(X, y, loss, k=k, ridge=RIDGE_2[loss])


def _all() -> dict[str, Callable[[], Problem]]:
    found: dict[str, Callable[[], Problem]] = {}
    for loss in LOSSES:
        for k in SIZES:
            found[f"exp1-{loss}-k{k}"] = partial(experiment_1, loss, k)
            found[f"exp2-{loss}-k{k}"] = partial(experiment_2, loss, k)
    for name in REAL:
        for k in SIZES:
            found[f"{name}-k{k}"] = partial(real, name, k)
    for m in WIDTHS:
        for correlation in CORRELATIONS:
            for snr in SNRS:
                for loss in LOSSES:
                    for k in SIZES:
                        name = f"{ROWS}x{m}-ar{correlation}-snr{snr}-{loss}-k{k}"
                        found[name] = partial(correlated, loss, m, correlation, snr, k)
    return found


PROBLEMS = _all()

QUICK = (
    "exp1-squared-k10",
    "exp2-logistic-k10",
    "diabetes64-k10",
    "leukemia-k5",
    "500x1000-ar0.5-snr5-squared-k20",
    "500x1000-ar0.9-snr5-squared-k10",
    "500x1000-ar0.9-snr5-logistic-k10",
)
"""What --quick runs."""
