"""fastsparse (`fastsparsegams`): coordinate descent and local swaps along a path of prices l0.

In a process of its own, which is started again where it crashed; the clock is in there. Its ridge
acts on columns of length 1: gamma = ridge / (2 mean square of a column), exact where all columns
have one length. A path may jump over k, so a finer one is tried too; all its models with at most k
features are judged.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.model_tools.base import REPEATS, ModelTool, Suggestion
from benchmarks.problems import Problem

PATIENCE = 60.0
"""Seconds for one request."""

FINE = {"path": (0.8, 100), "fine path": (0.95, 500)}
"""Factor between one price and the next, and the number of prices."""


class FastSparse(ModelTool):
    name = "fastsparse"
    packages = ("fastsparsegams",)
    variants = tuple(FINE)

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def run(self, problem: Problem, variant: str) -> Suggestion:
        return self.measure(problem, variant)[1]

    def measure(self, problem: Problem, variant: str) -> tuple[float, Suggestion]:
        if self._process is None or not self._process.is_alive():
            self._start()
        self._pipe.send((problem, variant))
        try:
            if not self._pipe.poll(PATIENCE):
                self._stop()
                raise RuntimeError(f"not done after {PATIENCE:.0f} s")
            answer = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self._stop()
            raise RuntimeError(f"crashed, exit status {code}") from None
        if isinstance(answer, str):
            raise RuntimeError(answer)
        seconds, coefs = answer
        return seconds, Suggestion(coefs, fitted=True)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other,), daemon=True)
        self._process.start()
        other.close()  # so that a crash closes the pipe

    def _stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._process = None


def serve(pipe: Connection) -> None:
    """The other process: answers requests until the pipe is closed."""
    warnings.simplefilter("ignore")
    while True:
        try:
            problem, variant = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(fit(problem, variant))
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


def fit(problem: Problem, variant: str) -> tuple[float, list[Any]]:
    """Seconds, and the models of the path with 1 to k features, one a support."""
    import fastsparsegams

    assert problem.k is not None
    assert problem.ridge is not None
    X = np.asfortranarray(problem.X)
    factor, prices = FINE[variant]
    gamma = problem.ridge / (2.0 * float(np.mean(X * X)))
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        path = fastsparsegams.fit(
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
        best = min(best, time.perf_counter() - start)
        if best > PATIENCE / 12:
            break
    found = {}
    for coef in path.coeffs[0].toarray().T:
        support = tuple(np.flatnonzero(coef))
        if 0 < len(support) <= problem.k:
            found[support] = coef
    return best, list(found.values())
