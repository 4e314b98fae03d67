"""python -m benchmarks.bounds"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np

import benchmarks.bounds
from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import three
from benchmarks.common.problems import Unavailable
from benchmarks.common.timing import best_run, timed
from sparsebounds import Program, relax, solve
from sparsebounds.datasets import make_correlated

SEEDS = (488924, 231818, 208387)
"""Drawn after all settings were frozen."""

SIZES = ((2000, 100, 10), (2000, 60, 10), (600, 200, 8), (5000, 300, 20))
"""Rows, columns and true features."""

MOST_SDP = 100
TABLES = ("diabetes", "prostate", "breast cancer")


@dataclass(frozen=True)
class BoundRow:
    """One problem: its objective, lower bounds and seconds."""

    problem: str
    value: float
    plain: float
    even: float
    lower: float
    """Ours."""

    sdp: float
    seconds: float
    plain_seconds: float
    """A solve as it would be without the shift: relaxation, models and certificate."""

    sdp_seconds: float

    @property
    def share(self) -> float:
        """What ours recovers of the SDP's gain."""
        most = self.sdp - self.plain
        return 1.0 if most <= 1e-4 * self.value else (self.lower - self.plain) / most


class Bounds(Benchmark[BoundRow]):
    """Root gaps."""

    name, title = "bounds", "Bounds at the root"
    doc = benchmarks.bounds.__doc__
    caption = (
        "Squared loss, k + ridge. Gaps in percent of the objective of the model that solve finds. "
        "Recovered: ours less plain, as a share of the SDP less plain. Times in ms; plain: "
        "solve(exact=False) without the shift; SDP in seconds."
    )
    header = ("", "plain", "even", "ours", "SDP", "recovered", "ms", "ms plain", "s SDP")
    packages = ("sparsebounds", "numpy", "scipy", "cvxpy", "scs")
    quick = ("2000 x 60, AR 0.5, k 5 of 10, ridge 0.01",)
    problems: ClassVar[dict[str, Any]] = {}

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
        parser.add_argument("--no-sdp", action="store_true")

    def begin(self) -> None:
        for seed in self.options.seeds:
            for n, m, true in SIZES:
                for ar in (0.5, 0.8):
                    for k in (true, true // 2):
                        for ridge in (0.1, 0.01, 0.001):
                            name = f"{n} x {m}, AR {ar}, k {k} of {true}, ridge {ridge}"
                            key = name if seed == self.options.seeds[0] else f"{name}, seed {seed}"
                            self.problems[key] = (n, m, ar, true, k, ridge, seed)
        for table in TABLES:
            for k in (3, 5):
                self.problems[f"{table}, k {k}, ridge 0.01"] = (table, k, 0.01)

    def measure(self, name: str) -> BoundRow:
        X, y, k, ridge = data_of(self.problems[name])
        program = Program(X, y, k=k, ridge=ridge)
        seconds, solution = best_run(lambda: solve(X, y, k=k, ridge=ridge, exact=False), most=5)
        plain_seconds, _ = best_run(lambda: unshifted(X, y, k, ridge), most=5)
        plain, even = relax(program).lower, even_bound(program)
        sdp, spent = math.nan, math.nan
        if program.m <= MOST_SDP and not self.options.no_sdp and not self.options.ours:
            spent, sdp = timed(lambda: sdp_bound(program))
        return BoundRow(
            name, solution.upper, plain, even, solution.lower, sdp, seconds, plain_seconds, spent
        )

    def judge(self, rows: Sequence[BoundRow]) -> list[Verdict]:
        known = [row for row in rows if not math.isnan(row.sdp)]
        least = min((row.share for row in known), default=math.nan)
        slow = [row for row in rows if row.seconds > max(0.3, 3.0 * row.plain_seconds)]
        return [
            Verdict("all", "ours recovers 90% of the SDP", f"{least:.1%} at least", least >= 0.9),
            Verdict("all", "3 times a plain solve, or 0.3 s", f"{len(slow)} rows slower", not slow),
        ]

    def reasons(self, row: BoundRow) -> list[tuple[str, str, str]]:
        return []

    def lines(self, row: BoundRow) -> list[list[str]]:
        gaps = [
            "-" if math.isnan(bound) else f"{100.0 * (row.value - bound) / abs(row.value):.2f}"
            for bound in (row.plain, row.even, row.lower, row.sdp)
        ]
        share = "-" if math.isnan(row.sdp) else f"{row.share:.1%}"
        times = [three(1e3 * row.seconds), three(1e3 * row.plain_seconds), three(row.sdp_seconds)]
        return [[row.problem, *gaps, share, *times]]


def data_of(problem: tuple[Any, ...]) -> tuple[Any, Any, int, float]:
    """X, y, k and ridge."""
    if isinstance(problem[0], str):
        X, y = table_of(problem[0])
        return X, y, problem[1], problem[2]
    n, m, ar, true, k, ridge, seed = problem
    sample = make_correlated(n, m, ar, true, snr=3.0, random_state=seed)
    return sample.X, sample.y, k, ridge


def table_of(name: str) -> tuple[Any, Any]:
    """A table with standardized columns and a centred response."""
    from sklearn import datasets

    if name == "prostate":
        folder = os.environ.get("SPARSEBOUNDS_DATA")
        if folder is None:
            raise Unavailable("name the folder of prostate_lpsa.npz in SPARSEBOUNDS_DATA")
        held = np.load(Path(folder) / "prostate_lpsa.npz")
        X, y = held["X"], held["y"]
    elif name == "diabetes":
        plain, y = datasets.load_diabetes(return_X_y=True)
        pairs = [(i, j) for i in range(10) for j in range(i, 10) if (i, j) != (1, 1)]
        X = np.column_stack([plain, *(plain[:, i] * plain[:, j] for i, j in pairs)])
    else:
        X, y = datasets.load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (y - np.mean(y)) / np.std(y)


def unshifted(X: Any, y: Any, k: int, ridge: float) -> Any:
    """The same solve without the shift."""
    with mock.patch("sparsebounds.solving.proof.root_proof", return_value=None):
        return solve(X, y, k=k, ridge=ridge, exact=False)


def even_bound(program: Program) -> float:
    """The relaxation with D = lambda_min I, not rounded."""
    X = program.matrix.columns(np.arange(program.m))
    gram, slope = X.T @ X / program.n, X.T @ program.y / program.n
    least = (1.0 - 1e-6) * max(float(np.linalg.eigvalsh(gram)[0]), 0.0)
    factor = np.linalg.cholesky(gram - (least - 1e-9) * np.eye(program.m)).T
    target, root = np.linalg.solve(factor.T, slope), math.sqrt(program.m)
    small = Program(factor * root, target * root, k=program.k, ridge=program.ridges + least)
    constant = 0.5 * float(np.mean(program.y**2)) - 0.5 * float(target @ target)
    return relax(small).lower + constant


def sdp_bound(program: Program) -> float:
    """The best diagonal: min tr((Q + ridge) W)/2 - c.w, [1 w; w W] psd, w_j^2 <= W_jj u_j."""
    import cvxpy as cp

    X = program.matrix.columns(np.arange(program.m))
    gram, slope = X.T @ X / program.n, X.T @ program.y / program.n
    whole, u = cp.Variable((program.m + 1, program.m + 1), PSD=True), cp.Variable(program.m)
    w, W = whole[0, 1:], whole[1:, 1:]
    rows = [cp.quad_over_lin(w[j], u[j]) <= W[j, j] for j in range(program.m)]
    bounds = [whole[0, 0] == 1, u >= 0, u <= 1, cp.sum(u) <= program.k]
    goal = 0.5 * cp.trace((gram + np.diag(program.ridges)) @ W) - slope @ w
    problem = cp.Problem(cp.Minimize(goal), rows + bounds)
    problem.solve(solver=cp.SCS, eps=1e-5, max_iters=20_000)
    return float(problem.value) + 0.5 * float(np.mean(program.y**2))


main = Bounds().main

if __name__ == "__main__":
    main()
