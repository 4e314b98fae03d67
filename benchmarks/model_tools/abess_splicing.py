"""abess: splicing at a given number of features.

On columns as they are (is_normal=False), alpha = n ridge for the squared loss and n ridge/2 for the
logistic one make its objective ours: its coefficients are those of our refit. With that ridge its
supports are poor for the squared loss and correlated columns; without one they are poor for the
logistic loss and for columns of low rank. So both are tried, and without ridge also all sizes up
to k with warm starts.
"""

from __future__ import annotations

import numpy as np

from benchmarks.model_tools.base import ModelTool, Suggestion
from benchmarks.problems import Problem


class Abess(ModelTool):
    name = "abess"
    packages = ("abess.linear",)
    variants = ("ridge", "no ridge", "no ridge, sizes 1 to k")

    def run(self, problem: Problem, variant: str) -> Suggestion:
        from abess.linear import LinearRegression, LogisticRegression

        assert problem.k is not None
        assert problem.ridge is not None
        n, _ = problem.shape
        squared = problem.loss == "squared"
        alpha = n * problem.ridge * (1.0 if squared else 0.5) if variant == "ridge" else 0.0
        sizes = range(1, problem.k + 1) if "sizes" in variant else problem.k
        estimator = LinearRegression if squared else LogisticRegression
        # ic_type: among several sizes the one of least loss.
        found = estimator(support_size=sizes, alpha=alpha, fit_intercept=False, ic_type="loss")
        y = problem.y if squared else (problem.y > 0).astype(int)
        found.fit(problem.X, y, is_normal=False)
        return Suggestion([np.asarray(found.coef_, float)], fitted=variant == "ridge")
