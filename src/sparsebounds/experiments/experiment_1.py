"""Experiment 1: the duality gap and its Shapley-Folkman bounds, on data of rank 10.

Squared loss with a price l0, and logistic loss with at most k nonzeros; ridge 0.01. With r the rank
of X, S the weights that were rounded and r_T the rank of the tied columns:

                    the paper's bound       ours, from the ties      what OPT attains
    price l0        p** + l0 (r + 1)        p** + l0 |S|             p** + l0 sum_S (1 - u)^2
    at most k       p**(k + r + 2)          p**(k + r_T - 1)         p**(k) - tau sum_S u(1 - u)

upper bounds in the first row, lower bounds in the second, where OPT has more than k nonzeros.
At the same k: p**(k) <= p(k) <= p**(k - r + 1), the model behind that bound, which is better, and
the model that `solve` certifies.

The paper concludes from the missing spread of OPT over random objectives that its linear program
has one feasible point. Both are looked at, also with every column written twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from sparsebounds.datasets import Sample, make_low_rank
from sparsebounds.experiments.base import Experiment, Tick
from sparsebounds.experiments.claims_1 import claims_1
from sparsebounds.experiments.draws import random_objectives
from sparsebounds.experiments.figure_1 import figure_1
from sparsebounds.primalization import GapBounds, gap_bounds, primalize
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, relax
from sparsebounds.solving import solve_program

RIDGE = 0.01
TOLERANCE = 1e-10
"""Of the relaxations: a gap of eps leaves weights wrong by its root."""

Row = dict[str, str | float | int | bool]

UNKNOWN: Row = {"lower": math.nan, "upper": math.nan}


class DualityGap(Experiment):
    number = "1"
    title = "Duality gap bounds"

    def __init__(self, quick: bool = False) -> None:
        super().__init__(quick)
        self.prices = np.logspace(-6, -1, 4 if quick else 30)
        self.m = 16 if quick else 100

    @property
    def steps(self) -> int:
        return 2 * len(self.prices) + 2 * self.m

    def run(self, tick: Tick) -> pl.DataFrame:
        numbers, classes = self._data(False), self._data(True)
        rows = [
            *self._priced("l0", numbers.X, numbers.y, tick),
            *self._budgeted(classes.X, classes.y, tick),
            *self._priced("l0, columns twice", np.hstack([numbers.X] * 2), numbers.y, tick),
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _data(self, classes: bool) -> Sample:
        if self.quick:
            return make_low_rank(60, self.m, 4, 4, classes=classes, random_state=0)
        return make_low_rank(classes=classes, random_state=0)

    def _priced(self, part: str, X: Any, y: Any, tick: Tick) -> Iterator[Row]:
        """Squared loss, one row per price."""
        relaxed = None
        for price in self.prices.tolist():
            program = Program(X, y, l0=price, ridge=RIDGE)
            relaxed = relax(program, TOLERANCE, start=relaxed)
            row, bounds = _primalized(program, relaxed)
            yield {
                "part": part,
                "loss": "squared",
                "k": math.nan,
                "l0": price,
                **row,
                "stated": bounds.stated.value,
                "sharp": relaxed.value + price * bounds.rank,
                "tied": relaxed.value + price * float(row["n_fractional"]),
                "same_k": math.nan,
                "same_k_model": math.nan,
                **(_certified(program) if part == "l0" else UNKNOWN),
            }
            tick()

    def _budgeted(self, X: Any, y: Any, tick: Tick) -> Iterator[Row]:
        """Logistic loss, one row a k; the bounds are relaxed values of other k."""
        programs, relaxed = list[Program](), list[Relaxation]()
        for k in range(1, self.m + 1):
            programs.append(Program(X, y, k=k, ridge=RIDGE, loss="logistic"))
            relaxed.append(relax(programs[-1], TOLERANCE, start=relaxed[-1] if relaxed else None))
            tick()
        values = [programs[0].null, *(found.value for found in relaxed)]

        def value(k: int) -> float:
            return values[min(k, self.m)] if k >= 0 else math.nan

        for k, (program, found) in enumerate(zip(programs, relaxed, strict=True), start=1):
            row, bounds = _primalized(program, found)
            yield {
                "part": "k",
                "loss": "logistic",
                "k": float(k),
                "l0": math.nan,
                **row,
                "stated": value(int(bounds.stated.cardinality or 0)),
                "sharp": value(k + bounds.rank - 1),
                "tied": value(int(bounds.refined.cardinality or 0)),
                "same_k": value(k - bounds.rank + 1),
                "same_k_model": bounds.same_k.value,
                **_certified(program),
            }
            tick()

    def draw(self, table: pl.DataFrame) -> dict[str, Any]:
        return {"figure": figure_1(table)}

    def findings(self, table: pl.DataFrame) -> list[str]:
        return claims_1(table)


def _primalized(program: Program, relaxed: Relaxation) -> tuple[Row, GapBounds]:
    """The relaxed point, the point primalized from it, and what random objectives make of it."""
    found, bounds = primalize(program, relaxed, draws=0), gap_bounds(program, relaxed)
    draws = random_objectives(program, relaxed)
    row: Row = {
        "rank": bounds.rank,
        "relaxed": relaxed.value,
        "dual": relaxed.dual_value,
        "opt": found.value,
        "opt_spread": draws.spread,
        "draws": len(draws.values),
        "supports": draws.supports,
        "unique": found.unique,
        "n_nonzero": found.n_nonzero,
        "n_fractional": found.n_fractional,
        "rank_tied": found.rank_tied,
    }
    return row, bounds


def _certified(program: Program) -> Row:
    """Proved bounds on the optimum itself."""
    solution = solve_program(program)
    return {"lower": solution.lower, "upper": solution.upper}
