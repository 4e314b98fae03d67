"""fastsparse (`fastsparsegams`): coordinate descent and local swaps along a path of prices l0.

In a process of its own, which is started again where it crashed; the clock is in there. Its ridge
acts on columns of length 1: gamma = ridge / (2 mean square of a column), exact where all columns
have one length. A path may jump over k, so a finer one is tried too; all its models with at most k
features are judged.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.peers.base import REPEATS, ModelPeer, Suggestion
from benchmarks.common.problems import Problem
from benchmarks.common.timing import best_run
from benchmarks.common.worker import Worker

PATIENCE = 60.0
"""Seconds for one request."""

FINE = {"path": (0.8, 100), "fine path": (0.95, 500)}
"""Factor between one price and the next, and the number of prices."""


class FastSparse(ModelPeer):
    name = "fastsparse"
    packages = ("fastsparsegams",)
    variants = tuple(FINE)

    def __init__(self) -> None:
        self._worker = Worker(fit)

    def run(self, problem: Problem, variant: str) -> Suggestion:
        return self.measure(problem, variant)[1]

    def measure(self, problem: Problem, variant: str) -> tuple[float, Suggestion]:
        seconds, coefs = self._worker.ask((problem, variant), PATIENCE)
        return seconds, Suggestion(coefs, fitted=True)


def fit(question: tuple[Problem, str]) -> tuple[float, list[Any]]:
    """Seconds, and the models of the path with 1 to k features, one per support."""
    import fastsparsegams

    problem, variant = question
    X = np.asfortranarray(problem.X)
    factor, prices = FINE[variant]
    gamma = problem.ridge / (2.0 * float(np.mean(X * X)))
    run = partial(
        fastsparsegams.fit,
        X,
        problem.y,
        loss="SquaredError" if problem.loss == "squared" else "Logistic",
        penalty="L0L2",
        algorithm="CDPSI",
        max_support_size=problem.k,
        num_lambda=prices,
        num_gamma=1,
        gamma_max=gamma,
        gamma_min=gamma,
        scale_down_factor=factor,
        intercept=False,
    )
    seconds, path = best_run(run, REPEATS)
    found = {}
    for coef in path.coeffs[0].toarray().T:
        support = tuple(np.flatnonzero(coef))
        if 0 < len(support) <= problem.k:
            found[support] = coef
    return seconds, list(found.values())
