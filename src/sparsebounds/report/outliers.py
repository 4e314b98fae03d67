"""Outliers of the truncated loss: the rows whose residual is c or more, and what is proved of them.

Rows are numbered as the table was, or as X was; proofs are those of `Solution.outliers`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.losses import Truncated
from sparsebounds.program import Program
from sparsebounds.report.charts import BLUE, FAINT, ORANGE, Drawn, dots, figure, plain
from sparsebounds.report.origin import Origin
from sparsebounds.report.page import Block, Cell, Chart, Table, Text, count, number
from sparsebounds.report.scores import Predicted
from sparsebounds.solving import Outliers, Solution

MOST_INLIERS = 2000
"""Of the rows that are no outliers, so many are drawn."""

KINDS = "inlier", "in doubt", "outlier"
"""What is proved of a row: of every best model, or nothing."""

FIRST = 8
"""Rows that a sentence names; the others are counted."""


@dataclass(frozen=True)
class MarkedRows:
    """The training rows: their numbers, and what is proved of each."""

    rows: Predicted
    c: float
    numbers: Index
    outliers: Outliers
    """By these numbers."""

    target: str

    @classmethod
    def of(
        cls, program: Program, solution: Solution, rows: Predicted, origin: Origin
    ) -> MarkedRows | None:
        """The rows of a truncated loss; None for any other."""
        if not isinstance(program.loss, Truncated):
            return None
        kept = np.arange(program.n) if program.data.kept is None else program.data.kept
        found = solution.outliers or Outliers(kept[:0], kept[:0], kept)
        # A solution may number its rows by other data (`among`).
        kept = np.sort(np.concatenate([found.proved_in, found.proved_out, found.in_doubt]))
        if origin.rows is not None:
            kept, found = origin.rows[kept], found.among(origin.rows)
        return cls(rows, program.loss.c, kept, found, origin.target)

    @cached_property
    def residuals(self) -> Vector:
        """Observed less predicted."""
        return self.rows.y - self.rows.z

    @cached_property
    def outside(self) -> Mask:
        """The outliers of this model."""
        return np.abs(self.residuals) >= self.c

    @cached_property
    def proved(self) -> Any:
        """One of `KINDS` per row."""
        sides = self.outliers.proved_in, self.outliers.in_doubt, self.outliers.proved_out
        found = np.full(len(self.numbers), "in doubt", dtype=object)
        for kind, side in zip(KINDS, sides, strict=True):
            found[np.isin(self.numbers, side)] = kind
        return found

    @property
    def sentences(self) -> str:
        """Which rows this model leaves out, and what is proved."""
        outside = self.numbers[self.outside]
        doubtful = self.numbers[self.outside & (self.proved == "in doubt")]
        words = [f"The model leaves out {_listed(outside)}, with residuals of c or more."]
        words += [f"Proved: {self.outliers}."]
        if 0 < len(doubtful) < len(outside):
            words += [f"Left out, and in doubt: {_listed(doubtful)}."]
        return " ".join(words)

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {"of_model": self.numbers[self.outside], **asdict(self.outliers)}

    def chart(self) -> Drawn:
        """Residuals against predictions: full marks are proved, orange ones beyond -c or c."""
        traces, doubt = [], self.proved != np.where(self.outside, "outlier", "inlier")
        for beyond, color, symbol in ((False, BLUE, "circle"), (True, ORANGE, "diamond")):
            for open_, name in ((False, "proved"), (True, "not proved")):
                at = np.flatnonzero((self.outside == beyond) & (doubt == open_))
                if not beyond and len(at) > MOST_INLIERS:
                    chosen = np.random.default_rng(0).choice(at, MOST_INLIERS, replace=False)
                    at = np.sort(chosen)
                if len(at):
                    marker = {"color": color, "size": 7, "symbol": symbol + "-open" * open_}
                    side = "outliers" if beyond else "inliers"
                    traces.append(self._marks(at, f"{side}, {name}", marker))
        across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1}
        across["line"] = {"color": FAINT, "width": 1, "dash": "dash"}
        shapes = [across | {"y0": level, "y1": level} for level in (-self.c, self.c)]
        label = f"predicted {plain(self.target)}"
        return figure(traces, label, "observed − predicted", shapes=shapes, showlegend=True)

    def _marks(self, at: Index, name: str, marker: dict[str, Any]) -> Drawn:
        return dots(
            self.rows.z[at],
            self.residuals[at],
            marker,
            name=name,
            customdata=self.numbers[at],
            hovertemplate="row %{customdata}: predicted %{x:,.4~r}, residual %{y:,.4~r}"
            "<extra></extra>",
        )

    def table(self) -> Table:
        """The rows that this model leaves out, or every best one does: the farthest first."""
        size = np.abs(self.residuals) / self.c
        listed = np.flatnonzero(self.outside | (self.proved == "outlier"))
        cells = [
            (
                count(int(self.numbers[i])),
                number(float(self.rows.y[i])),
                number(float(self.rows.z[i])),
                number(float(self.residuals[i] / self.c), 4),
                Cell(self.proved[i], mark="good" if self.proved[i] != "in doubt" else ""),
            )
            for i in listed[np.argsort(-size[listed], kind="stable")].tolist()
        ]
        titles = "row", "observed", "predicted", "residual / c", "proved"
        note = f"c = {self.c:.6g}. Proved is what a row is in every best model."
        return Table(titles, cells, name="outliers", note=note)

    def blocks(self, *, drawn: bool) -> tuple[Block, ...]:
        """All of it; the chart, unless it was `drawn` already."""
        blocks: list[Block] = [Text(self.sentences)]
        if not drawn:
            note = f"Training rows; the lines are at -c and c = {self.c:.6g}."
            blocks.append(Chart("outliers", "Outliers", self.chart(), note))
        table = self.table()
        return (*blocks, *[table] * bool(table.rows))


def _listed(rows: Index) -> str:
    more = f" and {len(rows) - FIRST} more" if len(rows) > FIRST else ""
    named = ", ".join(map(str, rows[:FIRST].tolist()))
    return f"row{'s' * (len(rows) != 1)} {named}{more}" if len(rows) else "no row"
