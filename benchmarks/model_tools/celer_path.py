"""celer: the l1 path, the k largest coefficients of every point of it, refitted by us.

100 prices from the largest down to a hundredth of it, ten at a time with warm starts, until the
models have more than 2k or 5k features (the long path is better where columns are correlated; the
whole one takes many seconds for the logistic loss). Tolerance 1e-4: a tighter one was slower and
gave the same models. The time is that of the path.
"""

from __future__ import annotations

import numpy as np

from benchmarks.model_tools.base import ModelTool, Suggestion
from benchmarks.problems import Problem

LENGTHS = {"to 2k features": 2, "to 5k features": 5}


class CelerPath(ModelTool):
    name = "celer path"
    packages = ("celer",)
    variants = tuple(LENGTHS)

    def run(self, problem: Problem, variant: str) -> Suggestion:
        from celer import celer_path

        X, y, k = problem.X, problem.y, problem.k
        assert k is not None
        squared = problem.loss == "squared"
        largest = float(np.max(np.abs(X.T @ y))) / (problem.shape[0] if squared else 2.0)
        found, last = [], None
        for prices in np.array_split(largest * np.geomspace(1.0, 1e-2, 100), 10):
            _, path, _ = celer_path(
                X,
                y,
                "lasso" if squared else "logreg",
                alphas=prices,
                coef_init=last,
                tol=1e-4,
            )
            found += [keep_largest(coef, k) for coef in path.T]
            last = path[:, -1].copy()
            if np.count_nonzero(last) > LENGTHS[variant] * k:
                break
        return Suggestion(found, fitted=False)


def keep_largest(coef: np.ndarray, k: int) -> np.ndarray:
    """The k largest coefficients, the others 0."""
    kept = np.zeros_like(coef)
    places = np.argsort(-np.abs(coef), kind="stable")[:k]
    kept[places] = coef[places]
    return kept
