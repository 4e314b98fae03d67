"""scikit-learn: orthogonal matching pursuit, and its robust regressors.

Matching pursuit takes the column most correlated with the residual and refits, k times.
scikit-learn has none for the logistic loss: there it is ours, with F'(z) in place of the residual
and our own refit (with the ridge) inside.

The robust regressors are not sparse. RANSAC and Theil-Sen need more rows than columns, so they see
a few screened columns.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.common.peers.base import ModelPeer, Suggestion
from benchmarks.common.problems import Problem
from sparsebounds.models import refit


class MatchingPursuit(ModelPeer):
    name = "OMP"
    packages = ("sklearn.linear_model",)

    def run(self, problem: Problem, variant: str) -> Suggestion:
        if problem.loss == "squared":
            from sklearn.linear_model import orthogonal_mp

            with warnings.catch_warnings():
                # Columns of low rank: it stops before k, and says so.
                warnings.simplefilter("ignore", RuntimeWarning)
                coef = orthogonal_mp(problem.X, problem.y, n_nonzero_coefs=problem.k)
            return Suggestion([coef], fitted=False)
        program = problem.program()
        lengths = np.sqrt(np.einsum("ij,ij->j", problem.X, problem.X))
        support = np.zeros(0, dtype=np.int64)
        w = np.zeros(program.m)
        for _ in range(problem.k or 0):
            scores = np.abs(problem.X.T @ program.F.gradient(problem.X @ w)) / lengths
            scores[support] = -1.0
            support = np.sort(np.append(support, int(np.argmax(scores))))
            w = refit(program, support).w
        return Suggestion([w], fitted=True)


def ransac(columns: int, noise: float, seed: int) -> Any:
    """Rows within three standard deviations of the noise count as good."""
    from sklearn.linear_model import LinearRegression, RANSACRegressor

    return RANSACRegressor(
        LinearRegression(),
        min_samples=columns + 1,
        residual_threshold=3.0 * noise,
        max_trials=500,
        random_state=seed,
    )


def theil_sen(columns: int, noise: float, seed: int) -> Any:
    """At most 3000 subsets of the rows."""
    from sklearn.linear_model import TheilSenRegressor

    return TheilSenRegressor(max_subpopulation=3000, max_iter=500, random_state=seed)


def huber(columns: int, noise: float, seed: int) -> Any:
    """With its default threshold."""
    from sklearn.linear_model import HuberRegressor

    return HuberRegressor(max_iter=1000)
