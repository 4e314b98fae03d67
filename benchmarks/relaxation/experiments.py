"""Points of the paper's experiments against CVXPY.

The relaxation of a point, from arrays to w: ours to a gap of 1e-8, with set-up (validation and
column norms) and without a warm start; CVXPY and Clarabel to 1e-6 by our formulas, in the paper's
formulation as written (one quad_over_lin per coordinate) and in the best one we know. Experiments 2
and 3 solve the relaxation on X_r, which everybody gets as a dense matrix. Bars, against the
first: 50, 50 and 20 times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from benchmarks.common.bars import Verdict
from benchmarks.common.peers.conic import CvxpyAuthors, CvxpyBest
from benchmarks.common.problems import Problem
from benchmarks.relaxation.bars import AS_WRITTEN, faster, judge
from benchmarks.relaxation.measure import Row
from benchmarks.relaxation.problems import leukemia
from benchmarks.relaxation.table import Relaxations
from sparsebounds.datasets import make_bell_spectrum, make_low_rank

RANK_2, RANK_3 = 10, 40


def low_rank(X: Any, rank: int) -> Any:
    """The best approximation of this rank."""
    left, values, right = np.linalg.svd(X, full_matrices=False)
    return (left[:, :rank] * values[:rank]) @ right[:rank]


def priced(place: int) -> Problem:
    """Experiment 1: squared loss, one of the 30 prices."""
    data = make_low_rank(random_state=0)
    return Problem(data.X, data.y, l0=float(np.logspace(-6, -1, 30)[place]), ridge=0.01)


def budgeted(k: int) -> Problem:
    """Experiment 1: logistic loss."""
    data = make_low_rank(classes=True, random_state=0)
    return Problem(data.X, data.y, "logistic", k=k, ridge=0.01)


def second(scale: float) -> Problem:
    """Experiment 2: l0 = 0.001, rank 10."""
    data = make_bell_spectrum(scale=scale, random_state=0)
    return Problem(low_rank(data.X, RANK_2), data.y, l0=1e-3, ball=30.0)


def third() -> Problem:
    """Experiment 3: the leukemia data, rank 40."""
    data = leukemia().ready("F")
    return replace(data, X=low_rank(data.X, RANK_3))


POINTS: dict[str, tuple[Callable[[], Problem], float]] = {
    "1: squared, l0 = 3.9e-4": (lambda: priced(15), 50.0),
    "1: squared, l0 = 0.014": (lambda: priced(24), 50.0),
    "1: logistic, k = 10": (lambda: budgeted(10), 50.0),
    "1: logistic, k = 50": (lambda: budgeted(50), 50.0),
    f"2: l0 = 0.001, rank {RANK_2}": (lambda: second(1.0), 50.0),
    "2: the same, X scaled by 10": (lambda: second(10.0), 50.0),
    f"3: leukemia, rank {RANK_3}": (third, 20.0),
}
"""Points by experiment, each with its bar."""


class Experiments(Relaxations):
    """The table of the relaxation, on these points."""

    name, title, doc = "relaxation.experiments", "The paper's experiments", __doc__
    quick, quick_help = tuple(POINTS)[:1], "one point: seconds"
    saved = False
    problems: ClassVar = {name: make for name, (make, _) in POINTS.items()}
    peers = (CvxpyAuthors(), CvxpyBest())

    def judge(self, rows: Sequence[Row]) -> list[Verdict]:
        bar = partial(faster, than=AS_WRITTEN, setup=True)
        return judge(rows, [(name, partial(bar, factor=x)) for name, (_, x) in POINTS.items()])


main = Experiments().main

if __name__ == "__main__":
    main()
