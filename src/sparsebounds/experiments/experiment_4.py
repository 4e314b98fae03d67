"""The remark after Theorem 2.1: the bound k + r + 2 does not depend on the ridge, however small.

Squared loss on the data of Experiment 1, at most k = 5 nonzeros, ridge from 1e-2 to 1e-8. The count
of nonzeros holds at every ridge. What it is worth is another matter: as the ridge goes to 0, p**(k)
goes to the least squares value for every k >= 1, since sharing w among many features costs less
and less, and it says less and less about the best model with k of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sparsebounds.datasets import make_low_rank
from sparsebounds.experiments.base import Experiment, Tick, columns
from sparsebounds.experiments.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    RED,
    SKY,
    band,
    panels,
    positive,
)
from sparsebounds.primalization import primalize
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, relax
from sparsebounds.solving import solve_program

TOLERANCE = 1e-10
DISTANCES = (
    ("stated", -1, ":", GREY, r"$p^{**}(k)-p^{**}(k+r+2)$, paper"),
    ("sharp", -1, "--", GREEN, r"$p^{**}(k)-p^{**}(k+r-1)$, ours"),
    ("opt", -1, "o-", RED, r"$p^{**}(k)\,-$ OPT, more than k nonzeros"),
    ("upper", 1, "^-", BLUE, r"model found $-\,p^{**}(k)$, k nonzeros"),
)
"""Column, sign of its distance from p**(k), look and label."""


class SmallRidge(Experiment):
    number = "4"
    title = "The ridge in Theorem 2.1"

    def __init__(self, quick: bool = False) -> None:
        super().__init__(quick)
        self.k = 2 if quick else 5
        self.ridges = np.logspace(-2, -8, 3 if quick else 13)

    @property
    def steps(self) -> int:
        return len(self.ridges)

    def run(self, tick: Tick) -> pl.DataFrame:
        data = make_low_rank(60, 16, 4, 4) if self.quick else make_low_rank()
        rank, k, rows = int(np.linalg.matrix_rank(data.X)), self.k, []
        best = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
        least = 0.5 * float(np.mean((data.X @ best - data.y) ** 2))
        starts: dict[int, Relaxation] = {}
        for ridge in self.ridges.tolist():
            for budget in (k, k + rank - 1, k + rank + 2):
                program = Program(data.X, data.y, k=budget, ridge=ridge)
                starts[budget] = relax(program, TOLERANCE, start=starts.get(budget))
            program = Program(data.X, data.y, k=k, ridge=ridge)
            found, solution = primalize(program, starts[k], draws=0), solve_program(program)
            rows.append(
                {
                    "ridge": ridge,
                    "k": k,
                    "rank": rank,
                    "relaxed": starts[k].value,
                    "opt": found.value,
                    "n_nonzero": found.n_nonzero,
                    "stated": starts[k + rank + 2].value,
                    "sharp": starts[k + rank - 1].value,
                    "lower": solution.lower,
                    "upper": solution.upper,
                    "least_squares": least,
                }
            )
            tick()
        return pl.DataFrame(rows)

    def draw(self, table: pl.DataFrame) -> dict[str, Any]:
        part = columns(table)
        figure, ((left, right),) = panels(1, 2, 2.8)
        x, zero = part["ridge"], part["relaxed"]
        label = f"optimum, k = {self.k}, certified"
        band(left, x, part["lower"], part["upper"], SKY, alpha=0.6, label=label)
        left.plot(x, part["opt"], "o-", color=RED, label="OPT, more than k nonzeros")
        left.plot(x, zero, color=BLACK, label=r"$p^{**}(k)$")
        left.plot(x, part["least_squares"], ":", color=GREY, label="least squares, no ridge")
        left.set(xscale="log", xlabel="ridge", ylabel="objective", title="Values")
        for name, sign, style, color, label in DISTANCES:
            right.plot(x, positive(sign * (part[name] - zero)), style, color=color, label=label)
        right.set(xscale="log", yscale="log", xlabel="ridge", title="Distances")
        right.set(ylabel=r"distance from $p^{**}(k)$", ylim=(None, 300))
        left.legend(loc="upper left")
        right.legend(loc="upper left")
        return {"figure": figure}

    def findings(self, table: pl.DataFrame) -> list[str]:
        part = columns(table)
        k, rank = int(part["k"][0]), int(part["rank"][0])
        counts = " or ".join(str(count) for count in sorted(set(part["n_nonzero"].tolist())))
        drop, rise = part["relaxed"] - part["opt"], part["upper"] - part["relaxed"]
        return [
            f"At every ridge from {part['ridge'][0]:.0e} to {part['ridge'][-1]:.0e} OPT has "
            f"{counts} nonzeros; for k = {k} and r = {rank} the paper allows {k + rank + 2}, and "
            f"k + r - 1 is {k + rank - 1}.",
            f"p**(k) - OPT shrinks with the ridge, from {drop[0]:.2g} to {drop[-1]:.2g}, as p**(k) "
            f"falls to {part['relaxed'][-1]:.5f}; the least squares value is "
            f"{part['least_squares'][-1]:.5f}.",
            f"The best model found with {k} nonzeros stays above p**(k): by {rise[0]:.3g} at the "
            f"largest ridge, by {rise[-1]:.3g} at the smallest.",
        ]
