"""The model, and all features: coefficients, what is proved, and their spread in the data."""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.program import Program
from sparsebounds.report.page import Cell, Table, named, number
from sparsebounds.solving import Solution

MOST_FEATURES = 1000
"""Rows of the table of all features."""

IN, OUT = "in every best model", "in no best model"


def moments(program: Program) -> tuple[Vector, Vector]:
    """Weighted mean and standard deviation of each column, in the user's units: one pass."""
    mean, spread = program.data.matrix.moments(program.F.p)
    return mean, np.sqrt(spread)


def model_table(program: Program, solution: Solution, labels: list[str], spread: Vector) -> Table:
    """The features of the model, the one that matters most first."""
    effect = solution.coef * spread
    longest = float(np.max(np.abs(effect), initial=0.0)) or 1.0
    inside = set(solution.fixed_in.tolist())
    order = sorted(solution.support.tolist(), key=lambda i: -abs(effect[i]))
    head, groups = _grouped(program, labels)
    rows: list[tuple[Cell, ...]] = [
        (
            named(labels[i]),
            *(named(group[i]) for group in groups),
            number(float(solution.coef[i])),
            number(float(effect[i]), 4, bar=float(effect[i] / longest)),
            _proved(i, inside, set()),
        )
        for i in order
    ]
    if program.fit_intercept:
        faint = number(float(solution.intercept), mark="faint")
        blank = [Cell("")] * len(groups)
        rows.append((named("(intercept)", "faint"), *blank, faint, Cell(""), Cell("")))
    return Table(
        ("feature", *head, "coefficient", "effect of one standard deviation", "proved"),
        rows,
        note="Coefficients are in the units of the data. An effect is the coefficient times the "
        "feature's standard deviation in the training rows: effects compare, coefficients do not.",
    )


def features_table(
    program: Program, solution: Solution, labels: list[str], mean: Vector, spread: Vector
) -> Table:
    """Every feature: those of the model first, then by their weight in the relaxation."""
    inside, outside = set(solution.fixed_in.tolist()), set(solution.fixed_out.tolist())
    weight = np.where(program.always, 1.0, solution.relaxation.u)
    chosen = solution.coef != 0.0
    effect = np.abs(solution.coef * spread)
    order = np.lexsort((np.arange(program.m), -weight, -effect, ~chosen))[:MOST_FEATURES]
    head, groups = _grouped(program, labels)
    rows = [
        (
            named(labels[i]),
            *(named(group[i]) for group in groups),
            number(float(solution.coef[i])) if chosen[i] else Cell("–", key=0.0, mark="faint"),
            _proved(i, inside, outside),
            Cell(f"{weight[i]:.1%}", key=float(weight[i])),
            number(float(mean[i]), 5),
            number(float(spread[i]), 5),
        )
        for i in order.tolist()
    ]
    left = program.m - len(rows)
    note = (
        "The proof starts from an easier problem, in which a feature may be taken in part; the "
        "part taken is how much of it. A feature that is not in the model, but is taken for the "
        "most part, is a near miss."
    )
    if left:
        note += f" {left} more features, taken in smaller part, are not listed."
    titles = "feature", *head, "coefficient", "proved", "part taken", "mean", "standard deviation"
    return Table(titles, rows, name="features", note=note)


def _grouped(program: Program, labels: list[str]) -> tuple[list[str], list[list[str]]]:
    """A column's title and its cells, one per feature; none where there are no groups."""
    if program.groups.single:
        return [], []
    return ["group"], [program.problem.group_labels(np.arange(program.m), tuple(labels))]


def _proved(i: int, inside: set[int], outside: set[int]) -> Cell:
    if i in inside:
        return Cell(IN, mark="good")
    return Cell(OUT, mark="faint") if i in outside else Cell("")
