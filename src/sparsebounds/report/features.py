"""The model, and all features: coefficients, what is proved, and their spread in the data."""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.matrices import StandardizedMatrix
from sparsebounds.program import Program
from sparsebounds.report.page import Cell, Table, number
from sparsebounds.solving import Solution

MOST_FEATURES = 1000
"""Rows of the table of all features."""

IN, OUT = "in every best model", "in no best model"


def moments(program: Program) -> tuple[Vector, Vector]:
    """Weighted mean and standard deviation of each column, in the user's units: one pass."""
    matrix = program.matrix
    base = matrix.base if isinstance(matrix, StandardizedMatrix) else matrix
    mean, spread = base.moments(program.F.p)
    return mean, np.sqrt(spread)


def model_table(program: Program, solution: Solution, labels: list[str], spread: Vector) -> Table:
    """The features of the model, the one that matters most first."""
    effect = solution.coef * spread
    longest = float(np.max(np.abs(effect), initial=0.0)) or 1.0
    inside = set(solution.fixed_in.tolist())
    order = sorted(solution.support.tolist(), key=lambda i: -abs(effect[i]))
    rows = [
        (
            Cell(labels[i]),
            number(float(solution.coef[i])),
            Cell(f"{effect[i]:.4g}", float(abs(effect[i])), bar=float(effect[i] / longest)),
            _proved(i, inside, set()),
        )
        for i in order
    ]
    if program.fit_intercept:
        faint = Cell(f"{solution.intercept:.6g}", float(solution.intercept), mark="faint")
        rows.append((Cell("(intercept)", mark="faint"), faint, Cell("", -1.0), Cell("")))
    return Table(
        ("feature", "coefficient", "effect of one standard deviation", "proved"),
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
    rows = [
        (
            Cell(labels[i]),
            number(float(solution.coef[i])) if chosen[i] else Cell("–", 0.0, mark="faint"),
            _proved(i, inside, outside),
            Cell(f"{weight[i]:.3f}", float(weight[i])),
            number(float(mean[i]), 5),
            number(float(spread[i]), 5),
        )
        for i in order.tolist()
    ]
    left = program.m - len(rows)
    note = (
        "The relaxed weight says how much of a feature the convex relaxation takes, from 0 to 1: "
        "one that is not in the model but has a large weight is a near miss."
    )
    if left:
        note += f" {left} more features, of smaller weight, are not listed."
    titles = "feature", "coefficient", "proved", "relaxed weight", "mean", "standard deviation"
    return Table(titles, rows, name="features", note=note)


def _proved(i: int, inside: set[int], outside: set[int]) -> Cell:
    if i in inside:
        return Cell(IN, mark="good")
    return Cell(OUT, mark="faint") if i in outside else Cell("")
