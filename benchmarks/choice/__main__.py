"""python -m benchmarks.choice"""

from __future__ import annotations

import argparse
import math
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import benchmarks.choice
from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import three
from benchmarks.common.problems import shared_data, shared_file
from sparsebounds import SparseClassifierCV, SparseRegressorCV
from sparsebounds.datasets import make_correlated

FOLDS, FACTOR, FASTER, LONG = 5, 3.0, 1.6, 1.0
"""Folds; the most that ours may take over theirs; the least that two jobs must gain on what takes
so many seconds. Shorter work may run as one job, and must not be slower."""

SEED = 54730
"""Of the folds, and of the planted tables."""

Table = tuple[np.ndarray, np.ndarray]


def _digits() -> Table:
    X, y = datasets.load_digits(return_X_y=True)
    return X, y % 2


def _wine() -> Table:
    X, y = datasets.load_wine(return_X_y=True)
    return X, (y == 1).astype(int)


def _risk(name: str) -> Table:
    """The first column is the class."""
    rows = np.loadtxt(shared_file(f"tables/risk_{name}.csv"), delimiter=",", skiprows=1)
    return rows[:, 1:], (rows[:, 0] > 0).astype(int)


def _products() -> Table:
    X, y = datasets.load_diabetes(return_X_y=True)
    return PolynomialFeatures(2, include_bias=False).fit_transform(X), y


def _planted(classes: bool) -> Table:
    data = make_correlated(2000, 200, 0.5, nonzeros=15, snr=5.0, random_state=SEED)
    return data.X, (data.y > 0).astype(int) if classes else data.y


def _genes(name: str) -> Table:
    X, y = shared_data(name)
    return (np.log10(X) if name == "colon" else X), (y if name == "riboflavin" else (y > 0) * 1)


TABLES: dict[str, Callable[[], Table]] = {
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits, odd or even": _digits,
    "wine, one of three": _wine,
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "diabetes, products": _products,
    "wine, three classes": lambda: datasets.load_wine(return_X_y=True),
    "digits, ten classes": lambda: datasets.load_digits(return_X_y=True),
    "spambase": lambda: _risk("spambase"),
    "mushroom": lambda: _risk("mushroom"),
    "colon": lambda: _genes("colon"),
    "leukemia": lambda: _genes("leukemia"),
    "riboflavin": lambda: _genes("riboflavin"),
    "planted, 2000 x 200": lambda: _planted(False),
    "planted classes, 2000 x 200": lambda: _planted(True),
}
REAL = list(TABLES)[:5]


@dataclass
class ChoiceRow:
    """One table: what was chosen, and the times."""

    problem: str
    shape: tuple[int, int]
    k: int
    score: float
    value: float
    lower: float
    seconds: float
    alike: float
    """With one ridge and no search."""

    memory: float = math.nan
    """Bytes that a run takes at most, beyond what there was."""

    theirs: float = math.nan
    their_score: float = math.nan
    gain: float = math.nan
    cells: dict[str, Any] = field(default_factory=dict)


class Choice(Benchmark[ChoiceRow]):
    """Ours beside theirs."""

    name, title = "choice", "Cross-validation"
    doc = benchmarks.choice.__doc__
    caption = (
        f"Five folds, shuffled with seed {SEED}, the same for all. k: chosen, of up to 20, with "
        "one of three ridges; score: R^2 or accuracy on the training rows; s: seconds of "
        "processor, search and certificate included; MB: memory beside the table; alike: with one "
        "ridge and without a search. Theirs: LassoCV, or LogisticRegressionCV with an l1 penalty "
        "(ten strengths, the faster of saga and liblinear; saga for more than two classes). Ratios "
        "are ours over theirs. The bars are about the first five tables."
    )
    header = (
        *("table", "shape", "k", "score", "gap", "s", "MB", "alike, s"),
        *("theirs, score", "theirs, s", "ratio", "alike"),
    )
    packages = ("sparsebounds", "numpy", "scipy", "scikit-learn")
    quick, quick_help = ("diabetes", "wine, one of three"), "two small tables: seconds"
    problems = TABLES

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--jobs", action="store_true", help="with two jobs, too")

    def partial(self) -> bool:
        return bool(self.options.jobs)

    def measure(self, name: str) -> ChoiceRow:
        X, y = self.problems[name]()
        classes = len(np.unique(y)) if y.dtype.kind == "i" else 0
        ours = SparseClassifierCV if classes else SparseRegressorCV
        cv = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=SEED)
        seconds, model = _best(lambda: ours(cv=cv).fit(X, y))
        score = float(model.score(X, y))
        sides = float(np.sum(model.upper_)), float(np.sum(model.lower_))
        alike, _ = _best(lambda: ours(cv=cv, ridges=["auto"], exact=False).fit(X, y))
        row = ChoiceRow(name, X.shape, model.best_k_, score, *sides, seconds, alike)
        row.memory = _memory(lambda: ours(cv=cv).fit(X, y))
        if self.options.ours:
            return row
        runs = [_best(lambda one=one: one.fit(X, y)) for one in _theirs(classes, cv)]
        row.theirs, other = min(runs, key=lambda run: run[0])
        row.their_score = float(other.score(X, y))
        if self.options.jobs:
            row.gain = _gain(lambda jobs: ours(cv=cv, n_jobs=jobs).fit(X, y))
        return row

    def judge(self, rows: Sequence[ChoiceRow]) -> list[Verdict]:
        real = [row for row in rows if row.problem in REAL]
        found = []
        for what, spent in (("all", lambda row: row.seconds), ("alike", lambda row: row.alike)):
            good = sum(spent(row) <= FACTOR * row.theirs for row in real)
            measured = f"{good} of {len(real)}"
            if real:
                worst = max(real, key=lambda row: spent(row) / row.theirs)
                measured += f"; at worst {spent(worst) / worst.theirs:.1f}x on {worst.problem}"
            bar = f"at most {FACTOR:g}x scikit-learn's time on real tables"
            found.append(Verdict(what, bar, measured, good == len(real) if real else None))
        if self.options.jobs:
            for what, least, some in (
                (f"two jobs {FASTER:g}x faster than one, on what takes {LONG:g} s", FASTER, True),
                (f"two jobs not slower, on what takes less than {LONG:g} s", 0.95, False),
            ):
                gains = [row.gain for row in rows if (row.seconds >= LONG) is some]
                least_found = f"at least {min(gains):.2f}x" if gains else "none"
                good = min(gains) >= least if gains else None
                found.append(Verdict("all", what, least_found, good))
        return found

    def lines(self, row: ChoiceRow) -> list[list[str]]:
        size = "{} x {}".format(*row.shape)
        gap = (row.value - row.lower) / abs(row.value)
        mine = [row.problem, size, str(row.k), f"{row.score:.3f}", f"{gap:.2%}"]
        times = [three(row.seconds), f"{row.memory / 1e6:.0f}", three(row.alike)]
        times += [f"{row.their_score:.3f}", three(row.theirs)]
        ratios = [f"{spent / row.theirs:.2f}" for spent in (row.seconds, row.alike)]
        return [[*mine, *times, *ratios]]


def _theirs(classes: int, cv: Any) -> list[Any]:
    if not classes:
        return [make_pipeline(StandardScaler(), LassoCV(cv=cv))]
    settings: dict[str, Any] = {"Cs": 10, "l1_ratios": [1.0], "cv": cv}
    settings["use_legacy_attributes"] = False
    return [
        make_pipeline(StandardScaler(), LogisticRegressionCV(solver=solver, **settings))
        for solver in ("saga", "liblinear")[: 2 if classes == 2 else 1]
    ]


def _best(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor, the best of three runs, and what came of the last."""
    seconds, found = math.inf, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            began = time.process_time()
            found = work()
            seconds = min(seconds, time.process_time() - began)
    return seconds, found


def _memory(work: Callable[[], Any]) -> float:
    """Bytes that a run holds at most, beyond what there was."""
    tracemalloc.start()
    try:
        work()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _gain(work: Callable[[int], Any]) -> float:
    """Wall-clock time with one job over that with two; processes are started before."""
    work(2)
    seconds = {}
    for jobs in (1, 2, 2, 1, 1, 2):
        began = time.perf_counter()
        work(jobs)
        spent = time.perf_counter() - began
        seconds[jobs] = min(spent, seconds.get(jobs, math.inf))
    return seconds[1] / seconds[2]


main = Choice().main

if __name__ == "__main__":
    main()
