"""python -m benchmarks.experiments: points of the paper's experiments against CVXPY.

The relaxation of a point, from arrays to w: ours to a gap of 1e-8, with set-up (validation and
column norms) and without a warm start; CVXPY and Clarabel to 1e-6 by our formulas, in the paper's
formulation as written (one quad_over_lin a coordinate) and in the best one we know. Experiments 2
and 3 solve the relaxation on X_r, which everybody is handed as a dense matrix. Bars, against the
first: 50, 50 and 20 times.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.competitors.base import Competitor
from benchmarks.competitors.cvxpy_authors import CvxpyAuthors
from benchmarks.competitors.cvxpy_best import CvxpyBest
from benchmarks.problems import Problem, Unavailable, leukemia
from benchmarks.relaxation import ours, theirs
from benchmarks.rows import Cell
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


def main() -> None:
    """Run, and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments", description=__doc__)
    parser.add_argument("--only", metavar="N", help="one experiment: 1, 2 or 3")
    options = parser.parse_args()
    table = Table("point", "ours, ms", "CVXPY as written", "CVXPY best", "bar", "", box=None)
    for name, (make, bar) in POINTS.items():
        if options.only is not None and not name.startswith(options.only):
            continue
        try:
            problem = make()
        except Unavailable as reason:
            print(f"{name}: not run: {reason}")
            continue
        row, program = ours(name, problem)
        seconds = row.seconds + row.setup
        rivals: list[Competitor] = [CvxpyAuthors(), CvxpyBest()]
        written, best = (theirs(rival, problem, program, row) for rival in rivals)
        passed = "pass" if written.seconds / seconds >= bar else "miss"
        table.add_row(
            name,
            f"{1e3 * seconds:.1f}",
            words(written, seconds),
            words(best, seconds),
            f"{bar:g}x",
            passed,
        )
    Console(width=120).print(table)


def words(cell: Cell, seconds: float) -> str:
    """Seconds and the ratio to ours, or why there are none."""
    if cell.reason:
        return cell.reason
    return f"{cell.seconds:.3g} s, {cell.seconds / seconds:.3g}x (gap {cell.gap:.0e})"


if __name__ == "__main__":
    main()
