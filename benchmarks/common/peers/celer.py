"""celer: the l1 path, the k largest coefficients of every point of it, refitted by us.

100 prices, ten at a time with warm starts, until the models have more than 2k or 5k features (the
long path is better where columns are correlated; the whole one takes many seconds for the logistic
loss). Tolerance 1e-4: a tighter one was slower and gave the same models. The time is that of the
path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common.peers.base import ModelPeer, Suggestion, descend, keep_largest
from benchmarks.common.problems import Problem

LENGTHS = {"to 2k features": 2, "to 5k features": 5}


class CelerPath(ModelPeer):
    name = "celer path"
    packages = ("celer",)
    variants = tuple(LENGTHS)

    def run(self, problem: Problem, variant: str) -> Suggestion:
        from celer import celer_path

        X, y, k = problem.X, problem.y, problem.k
        squared = problem.loss == "squared"
        kind = "lasso" if squared else "logreg"
        largest = float(np.max(np.abs(X.T @ y))) / (problem.shape[0] if squared else 2.0)

        def path(prices: Any, start: Any) -> Any:
            return celer_path(X, y, kind, alphas=prices, coef_init=start, tol=1e-4)[1]

        found = descend(path, largest, LENGTHS[variant] * k)
        return Suggestion([keep_largest(coef, k) for coef in found], fitted=False)
