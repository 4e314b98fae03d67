"""abess: splicing at a given number of features.

On columns as they are (is_normal=False), alpha = n ridge for the squared loss and n ridge/2 for the
logistic one make its objective ours: its coefficients are those of our refit. With that ridge its
supports are poor for the squared loss and correlated columns; without one they are poor for the
logistic loss and for columns of low rank. So both are tried, and without ridge also all sizes up
to k with warm starts. It takes groups as the numbers of their columns, ascending.

A path is one call with sizes 1 to K and warm starts, which is what is timed. It returns its last
model only, so the models are those of calls with sizes 1 to k (the same path, cut short), untimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from benchmarks.common.peers.base import ModelPeer, PathPeer, Suggestion
from benchmarks.common.problems import Problem


class Abess(ModelPeer):
    name = "abess"
    packages = ("abess.linear",)
    knows_groups = True
    variants = ("ridge", "no ridge", "no ridge, sizes 1 to k")

    def run(self, problem: Problem, variant: str) -> Suggestion:
        n, squared = problem.shape[0], problem.loss == "squared"
        alpha = n * problem.ridge * (1.0 if squared else 0.5) if variant == "ridge" else 0.0
        sizes = range(1, problem.k + 1) if "sizes" in variant else problem.k
        return Suggestion([spliced(problem, sizes, alpha)], fitted=variant == "ridge")


class AbessPath(PathPeer):
    name = "abess"
    packages = ("abess.linear",)
    with_ridge: ClassVar[bool] = False

    def run(self, problem: Problem, most: int) -> Callable[[int], Sequence[Any]]:
        alpha = problem.shape[0] * problem.ridge if self.with_ridge else 0.0

        def last(k: int) -> Sequence[Any]:
            return [spliced(problem, range(1, k + 1), alpha)]

        last(most)
        return last


class AbessRidgePath(AbessPath):
    name = "abess, ridge"
    with_ridge = True


def spliced(problem: Problem, sizes: Any, alpha: float) -> Any:
    """Its coefficients; among several sizes those of least loss, which is the last size."""
    from abess.linear import LinearRegression, LogisticRegression

    squared = problem.loss == "squared"
    estimator = LinearRegression if squared else LogisticRegression
    asked: dict[str, Any] = {"support_size": sizes, "alpha": alpha, "group": problem.groups}
    found = estimator(**asked, fit_intercept=False, ic_type="loss")
    y = problem.y if squared else (problem.y > 0).astype(int)
    return np.asarray(found.fit(problem.X, y, is_normal=False).coef_, float)
