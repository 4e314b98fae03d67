"""Experiment 2: bounds by numerical rank, on data of effective rank 10 with a bell-shaped spectrum.

Squared loss, a price l0 of 1e-4, 1e-3 or 1e-2, |w|^2 <= 30, ranks 1 to 100. On the data as the
paper describes them the largest singular value of the 1000 x 100 matrix is 1, the noise drowns the
signal and l0 = 0.01 selects nothing; with X scaled by 10 it selects features. Both are run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sparsebounds.datasets import Sample, make_bell_spectrum
from sparsebounds.experiments.base import Experiment, Part, Tick, columns
from sparsebounds.experiments.ranks import (
    draw_explained,
    draw_intervals,
    narrower_by,
    rank_rows,
    verdict,
)
from sparsebounds.experiments.style import panels
from sparsebounds.program import Program

PRICES = (1e-4, 1e-3, 1e-2)
BALL = 30.0
SCALES = {"literal": 1.0, "scaled by 10": 10.0}


class NumericalRank(Experiment):
    number = "2"
    title = "Numerical rank bounds"

    def __init__(self, quick: bool = False) -> None:
        super().__init__(quick)
        self.m = 8 if quick else 100

    @property
    def steps(self) -> int:
        return self.m * len(PRICES) * len(SCALES)

    def run(self, tick: Tick) -> pl.DataFrame:
        rows, ranks = [], range(1, self.m + 1)
        for name, scale in SCALES.items():
            data = self._data(scale)
            for price in PRICES:
                program = Program(data.X, data.y, l0=price, ball=BALL)
                rows += rank_rows(program, data.X, ranks, tick, data=name, l0=price)
        return pl.DataFrame(rows)

    def _data(self, scale: float) -> Sample:
        if self.quick:
            return make_bell_spectrum(50, self.m, 3, 3, scale=scale, random_state=0)
        return make_bell_spectrum(scale=scale, random_state=0)

    def draw(self, table: pl.DataFrame) -> dict[str, Any]:
        figures = {}
        for name in SCALES:
            figure, axes = panels(2, 2, 5.0)
            first, *others = axes.flat
            draw_explained(first, columns(table, data=name, l0=PRICES[0]))
            for panel, price in zip(others, PRICES, strict=True):
                part = columns(table, data=name, l0=price)
                draw_intervals(panel, part)
                # The looser printed end leaves the picture where it would flatten all else.
                low, high = np.min(part["stated_lower"]), np.max(part["stated_upper"])
                margin = 0.05 * (high - low)
                panel.set(ylim=(low - margin, high + 3 * margin), title=rf"$\lambda$ = {price:g}")
            handles, labels = others[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=2)
            about = "X as the paper describes it" if SCALES[name] == 1.0 else f"X {name}"
            figure.suptitle(f"Bounds on the optimum by rank, {about}", fontsize=9)
            figures[f"figure-{name.replace(' ', '-')}"] = figure
        return figures

    def findings(self, table: pl.DataFrame) -> list[str]:
        parts = {
            (name, price): columns(table, data=name, l0=price)
            for name in SCALES
            for price in PRICES
        }
        return [
            *verdict(list(parts.values())),
            *(
                f"X {name}, l0 = {price:g}: {narrower_by(part)}."
                for (name, price), part in parts.items()
            ),
            *(_nearly_optimal(name, parts[name, PRICES[0]]) for name in SCALES),
            _explained(parts["literal", PRICES[0]]),
        ]


def _explained(part: Part) -> str:
    at = min(9, len(part["rank"]) - 1)
    half = int(part["rank"][np.argmax(part["explained"] >= 0.5)])
    return (
        f"Rank {part['rank'][at]} explains {100 * part['explained'][at]:.0f}% of the variance, and "
        f"rank {half} is the first to explain half."
    )


def _nearly_optimal(name: str, part: Part) -> str:
    """The paper's claim that for the smallest l0 rank 20 does as well as rank 100."""
    best, last = np.max(part["lower"]), len(part["rank"]) - 1
    above = [100 * (part["primalized"][i] - best) / best for i in (min(19, last), last)]
    return (
        f"X {name}, l0 = {PRICES[0]:g}: the point of rank {part['rank'][min(19, last)]} is at most "
        f"{above[0]:.2g}% above the optimum, that of full rank {above[1]:.2g}%."
    )
