"""Summary: the features of a fitted model in a table, for print, notebooks and data frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.decimals import counted, percent_up, readable
from sparsebounds._support.html import block, grid
from sparsebounds._support.printable import printable
from sparsebounds.program import Program
from sparsebounds.solving import Solution, depends

TITLES = ("feature", "coefficient", "per standard deviation", "proved", "share")


@dataclass(frozen=True)
class Summary:
    """One row per feature of each model, that with the largest effect first.

    `columns` holds them by name, so that `pandas.DataFrame(summary.columns)` is a data frame:
    `coefficient` is per unit of the feature, `per standard deviation` per one of its standard
    deviations in the training rows, `proved` whether the feature is in every best model, `share`
    its part of the sum of all |per standard deviation|. With more than two classes `class` is
    the one that a model tells from the rest.
    """

    title: str
    columns: dict[str, list[Any]]
    intercepts: dict[str, float]
    """For each model, by the label of its class; "" where there is one model."""

    terms: str = ""
    """The problem that features are proved for, in a sentence; empty where none is."""

    @classmethod
    def of(
        cls, title: str, solutions: Sequence[Solution], spreads: Sequence[Vector], labels: Any
    ) -> Summary:
        """The summary of models; `spreads` are the standard deviations of the features in each."""
        many = len(solutions) > 1
        columns: dict[str, list[Any]] = {name: [] for name in ("class",) * many + TITLES}
        intercepts = {}
        for solution, spread, label in zip(solutions, spreads, labels, strict=True):
            effect = solution.coef[solution.support] * spread
            total = float(np.sum(np.abs(effect))) or 1.0
            inside = set(solution.fixed_in.tolist())
            for at in np.argsort(-np.abs(effect), kind="stable").tolist():
                i = int(solution.support[at])
                names = solution.feature_names
                row = [label] * many + [str(i) if names is None else names[i]]
                row += [float(solution.coef[i]), float(effect[at]), i in inside]
                row += [abs(float(effect[at])) / total]
                for name, value in zip(columns, row, strict=True):
                    columns[name].append(value)
            intercepts[str(label) if many else ""] = float(solution.intercept)
        first = solutions[0]
        terms = f"Proved for {depends(first.certificate.problem, len(first.coef))}."
        return cls(title, columns, intercepts, terms if any(columns["proved"]) else "")

    def __len__(self) -> int:
        return len(self.columns["feature"])

    def _cells(self) -> list[list[str]]:
        """All rows in print, the intercepts last."""
        shown: dict[str, Callable[[Any], str]] = {
            "coefficient": readable,
            "per standard deviation": lambda value: readable(value, 4),
            "proved": lambda value: "in every best model" if value else "",
            "share": lambda value: f"{value:.1%}",
        }
        printed = [
            [printable(shown.get(name, str)(value)) for value in values]
            for name, values in self.columns.items()
        ]
        rows = list(map(list, zip(*printed, strict=True)))
        for label, intercept in self.intercepts.items():
            first = [label] * ("class" in self.columns)
            rows.append([*map(printable, first), "(intercept)", readable(intercept), "", "", ""])
        return rows

    def __str__(self) -> str:
        rows = [list(self.columns), *self._cells()]
        left = {"class", "feature", "proved"}
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        sides = ["<" if name in left else ">" for name in self.columns]
        looks = [f"{side}{width}" for side, width in zip(sides, widths, strict=True)]
        lines = [
            "  ".join(f"{cell:{look}}" for cell, look in zip(row, looks, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.title, "", *lines, *[f"\n{self.terms}"] * bool(self.terms)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        said = " ".join(filter(None, [self.title, self.terms]))
        return block(said, [grid(list(self.columns), self._cells())])


def titled(estimator: str, solutions: Sequence[Solution]) -> str:
    """What a summary is of: the estimator, its size, and what is proved."""
    used = len(set(np.concatenate([solution.support for solution in solutions]).tolist()))
    of = f"{estimator}: {used} of {len(solutions[0].coef)} features"
    if len(solutions[0].certificate.problem.groups):
        held = set[Any]().union(*(solution.group_support for solution in solutions))
        of += f" in {counted(len(held), 'group')}"
    if all(solution.status == "optimal" for solution in solutions):
        return f"{of}, proved optimal"
    return f"{of}, proved within {percent_up(max(s.rel_gap for s in solutions))} of the best"


def spread_of(program: Program, solution: Solution) -> Vector:
    """The standard deviations of the model's features in the training rows."""
    stated = program.problem.standardize
    if stated is not None:
        return np.asarray(stated[1][solution.support], dtype=np.float64)
    columns, shares = program.matrix.columns(solution.support), program.F.p[:, None]
    centred = columns - np.sum(shares * columns, axis=0)
    return np.asarray(np.sqrt(np.sum(shares * centred**2, axis=0)))
