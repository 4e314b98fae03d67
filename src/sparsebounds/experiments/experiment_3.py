"""Experiment 3: bounds by numerical rank on the leukemia data, 72 patients and 3571 genes.

Logistic loss, l0 = 0.1, |w|^2 <= 50, no intercept, columns of mean 0 and variance 1 (over n), all
ranks. Centred columns leave X with rank 71. The paper plots differences of its bounds: the duality
gap l0 (r + 1) + zeta_r + zeta and the primalized gap OPT - p**(X_r) + zeta_r + zeta.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sparsebounds.datasets import Leukemia, Sample, load_leukemia, make_correlated
from sparsebounds.experiments.base import Experiment, Part, Tick, columns
from sparsebounds.experiments.ranks import (
    LONG,
    SHORT,
    draw_explained,
    draw_intervals,
    narrower_by,
    rank_rows,
    verdict,
    widths,
)
from sparsebounds.experiments.style import BLUE, GREY, ORANGE, RED, panels
from sparsebounds.program import Program

PRICE, BALL = 0.1, 50.0


class LeukemiaRank(Experiment):
    """`quick` takes made data of 12 x 30 in place of the leukemia data."""

    number = "3"
    title = "Numerical rank bounds, leukemia data"

    @property
    def steps(self) -> int:
        return 12 if self.quick else 72

    def run(self, tick: Tick) -> pl.DataFrame:
        data = self._data()
        X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
        program = Program(X, data.y, l0=PRICE, ball=BALL, loss="logistic")
        return pl.DataFrame(rank_rows(program, X, range(1, len(X) + 1), tick, l0=PRICE))

    def _data(self) -> Leukemia | Sample:
        if self.quick:
            return make_correlated(self.steps, 30, nonzeros=4, classes=True, random_state=0)
        return load_leukemia()

    def draw(self, table: pl.DataFrame) -> dict[str, Any]:
        part = columns(table)
        figure, ((left, middle, right),) = panels(1, 3, 3.1)
        draw_explained(left, part)
        draw_intervals(middle, part)
        # The paper's lower end starts far below: the picture is of what is near the optimum.
        top = float(np.max(part["primalized"]))
        middle.set(ylim=(-0.75 * top, 1.75 * top), title="Bounds on the optimum")
        _draw_widths(right, part)
        handles, labels = middle.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        return {"figure": figure}

    def findings(self, table: pl.DataFrame) -> list[str]:
        part = columns(table)
        valid, ours = widths(part)
        best = int(np.argmin(valid))
        return [
            *verdict([part]),
            f"Where dX is not 0: {narrower_by(part)}.",
            f"The valid part is narrowest at rank {part['rank'][best]}, {valid[best]:.3g} wide; "
            f"ours is {ours[best]:.3g} wide there and {np.min(ours):.3g} at its best rank. The "
            f"optimum lies between {np.max(part['lower']):.5f} and {np.min(part['upper']):.5f}.",
        ]


def _draw_widths(axes: Any, part: Part) -> None:
    """The widths of the intervals; the paper's two gaps are those of the printed ones."""
    x, (valid, ours) = part["rank"], widths(part)
    axes.plot(x, valid, color=GREY)
    axes.plot(x, ours, color=BLUE, linewidth=1.8)
    axes.plot(x, part["stated_upper"] - part["stated_lower"], linestyle=LONG, color=RED)
    axes.plot(x, part["stated_first"] - part["stated_lower"], linestyle=SHORT, color=ORANGE)
    axes.set(xlabel=r"rank of $X_r$", ylabel="width", yscale="log", title="Widths")
