"""skglm: the relaxation with l0, and paths.

Relaxation: the reverse Huber (berHu) penalty, written here against its penalty interface,
h(w) = sum_i kappa |w_i| + ridge/2 max(|w_i| - tau, 0)^2. Both of its solvers with working sets are
run, with a first working set of 10 (its default) and of 100 features, and the fastest counts; only
AndersonCD is left out for the logistic loss, where ProxNewton is ten times faster.

Paths: 100 prices, ten at a time with warm starts, until more than 2K features are in; MCP (gamma 3,
its default) and L1. The size at a price cannot be chosen, so at size k the k largest coefficients
of up to ten points with k features or more are tried.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.common.peers.base import (
    Answer,
    PathPeer,
    RelaxationPeer,
    descend,
    keep_largest,
)
from benchmarks.common.problems import Problem

TRIED = 10
"""Points of a path whose largest coefficients are tried at one size."""


class SkglmBerHu(RelaxationPeer):
    name = "skglm, berHu"
    packages = ("skglm",)
    reads_sparse = True
    tolerances = tuple(10.0 ** (-0.5 * half) for half in range(18))
    """Times kappa, the slope of h at 0: its stopping rule has the units of a gradient."""

    def __init__(self, solver: str = "ProxNewton", first: int = 10) -> None:
        self.solver, self.first = solver, first
        self.variant = f"{solver}, p0={first}"

    def variants(self) -> tuple[RelaxationPeer, ...]:
        solvers = ("AndersonCD", "ProxNewton")
        return tuple(SkglmBerHu(solver, first) for solver in solvers for first in (10, 100))

    def reason_to_skip(self, problem: Problem) -> str | None:
        if self.solver == "AndersonCD" and problem.loss == "logistic":
            return "ProxNewton is much faster"
        return super().reason_to_skip(problem)

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        from skglm import solvers
        from skglm.datafits import Logistic, Quadratic

        squared = problem.loss == "squared"
        kappa = math.sqrt(2.0 * problem.l0 * problem.ridge)
        solver = getattr(solvers, self.solver)(
            tol=tolerance * kappa, p0=self.first, max_iter=200, fit_intercept=False
        )
        penalty = berhu()(kappa, math.sqrt(2.0 * problem.l0 / problem.ridge), problem.ridge)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a column that is 0, and of loose tolerances
            found = solver.solve(
                problem.X, problem.y, Quadratic() if squared else Logistic(), penalty
            )
        return Answer(found[0])


@cache
def berhu() -> Any:
    """The penalty class; made late, so that skglm need not be installed."""
    from numba import float64
    from skglm.penalties.base import BasePenalty

    class BerHu(BasePenalty):
        def __init__(self, kappa: float, tau: float, ridge: float) -> None:
            self.kappa = kappa
            self.tau = tau
            self.ridge = ridge

        def get_spec(self):
            return (("kappa", float64), ("tau", float64), ("ridge", float64))

        def params_to_dict(self):
            return {"kappa": self.kappa, "tau": self.tau, "ridge": self.ridge}

        def value(self, w):
            total = 0.0
            for j in range(len(w)):
                if w[j] != 0.0:
                    length = abs(w[j])
                    excess = max(length - self.tau, 0.0)
                    total += self.kappa * length + 0.5 * self.ridge * excess * excess
            return total

        def prox_1d(self, value, stepsize, j):
            length = abs(value)
            length = min(length - stepsize * self.kappa, length / (1.0 + stepsize * self.ridge))
            if length <= 0.0:
                return 0.0
            return length if value > 0.0 else -length

        def subdiff_distance(self, w, grad, ws):
            distance = np.zeros_like(grad)
            for i, j in enumerate(ws):
                if w[j] == 0.0:
                    distance[i] = max(0.0, abs(grad[i]) - self.kappa)
                else:
                    slope = max(self.kappa, self.ridge * abs(w[j]))
                    distance[i] = abs(grad[i] + np.sign(w[j]) * slope)
            return distance

        def is_penalized(self, n_features):
            return np.ones(n_features, dtype=np.bool_)

        def generalized_support(self, w):
            return w != 0

        def alpha_max(self, gradient0):
            return np.max(np.abs(gradient0))

    return BerHu


class SkglmMcp(PathPeer):
    name = "skglm, MCP"
    packages = ("skglm",)

    def estimator(self) -> Any:
        """Its own estimator with a path."""
        from skglm import MCPRegression

        return MCPRegression(fit_intercept=False, warm_start=True)

    def run(self, problem: Problem, most: int) -> Callable[[int], Sequence[Any]]:
        X, y = problem.X, problem.y
        largest = float(np.max(np.abs(X.T @ y))) / problem.shape[0]

        def path(prices: Any, start: Any) -> Any:
            return self.estimator().path(X, y, prices, coef_init=start)[1]

        found = descend(path, largest, 2 * most)
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
