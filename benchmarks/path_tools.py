"""Other software's paths: what they name at every size, and what their path costs.

abess     splicing at sizes 1 to K with warm starts, one call, which is what is timed. It returns
          its last model only, so the models are those of calls with sizes 1 to k (the same path,
          cut short), untimed. With the ridge it minimises our objective; without one its supports
          are often better: both are run
skglm     100 prices from the largest down to a hundredth, ten at a time with warm starts, until
          more than 2K features are in; MCP (gamma 3, its default) and L1. A price has the size it
          has, so at size k the k largest coefficients of the points with k features or more, up to
          ten of them, are tried. Compiled before it is timed

Every support is refitted by us, untimed, and the best one counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from benchmarks.machine import missing_package
from benchmarks.model_tools.celer_path import keep_largest
from benchmarks.problems import Problem

PRICES, TRIED = 100, 10


class PathTool(ABC):
    """One piece of software."""

    name: ClassVar[str]
    package: ClassVar[str]

    def reason_to_skip(self) -> str | None:
        """Why it is not run, or None."""
        return missing_package([self.package])

    @abstractmethod
    def run(self, problem: Problem, most: int) -> Callable[[int], Sequence[Any]]:
        """Its path up to `most` features, and from that the coefficients it names at size k."""


class AbessPath(PathTool):
    name, package = "abess", "abess.linear"
    with_ridge = False

    def run(self, problem: Problem, most: int) -> Callable[[int], Sequence[Any]]:
        self._fit(problem, most)
        return lambda k: [self._fit(problem, k)]

    def _fit(self, problem: Problem, most: int) -> Any:
        from abess.linear import LinearRegression

        assert problem.ridge is not None
        alpha = problem.shape[0] * problem.ridge if self.with_ridge else 0.0
        sizes = range(1, most + 1)
        # ic_type: among several sizes the one of least loss, which is the last.
        found = LinearRegression(
            support_size=sizes, alpha=alpha, fit_intercept=False, ic_type="loss"
        )
        return np.asarray(found.fit(problem.X, problem.y, is_normal=False).coef_, float)


class AbessRidgePath(AbessPath):
    name = "abess, ridge"
    with_ridge = True


class SkglmMcp(PathTool):
    name, package = "skglm, MCP", "skglm"

    def estimator(self) -> Any:
        """Its own estimator with a path."""
        from skglm import MCPRegression

        return MCPRegression(fit_intercept=False, warm_start=True)

    def run(self, problem: Problem, most: int) -> Callable[[int], Sequence[Any]]:
        X, y = problem.X, problem.y
        largest = float(np.max(np.abs(X.T @ y))) / problem.shape[0]
        found: list[Any] = []
        last = None
        for prices in np.array_split(largest * np.geomspace(1.0, 1e-2, PRICES), 10):
            _, coefs, *_ = self.estimator().path(X, y, prices, coef_init=last)
            found += list(coefs.T)
            last = coefs[:, -1].copy()
            if np.count_nonzero(last) > 2 * most:
                break
        sizes = [np.count_nonzero(coef) for coef in found]

        def named(k: int) -> Sequence[Any]:
            enough = sorted((size, i) for i, size in enumerate(sizes) if size >= k)[:TRIED]
            return [keep_largest(found[i], k) for _, i in enough]

        return named


class SkglmL1(SkglmMcp):
    name = "skglm, L1"

    def estimator(self) -> Any:
        from skglm import Lasso

        return Lasso(fit_intercept=False, warm_start=True)


PATH_TOOLS: tuple[PathTool, ...] = (AbessPath(), AbessRidgePath(), SkglmMcp(), SkglmL1())
