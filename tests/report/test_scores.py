"""Scores against the library's own losses: a score is the data term F in other clothes."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds.cli._parameters import Parameters
from sparsebounds.losses import REGISTRY
from sparsebounds.program import Program
from sparsebounds.report.scores import Held, Scores, fitted
from sparsebounds.solving.solution import Solution
from sparsebounds.solving.solve import solve_program
from sparsebounds.tables import Rows


def made(loss: str, rng: np.random.Generator, *, offset: bool = True) -> Rows:
    """Rows with whole weights and an offset that matters."""
    X, o = rng.normal(size=(40, 4)), 2.0 * rng.normal(size=40)
    z = X[:, 0] - X[:, 1] + o
    y = {
        "poisson": lambda: rng.poisson(np.exp(np.clip(z, -3, 3))).astype(float),
        "logistic": lambda: np.where(rng.random(40) < 1 / (1 + np.exp(-z)), "yes", "no"),
        "squared_hinge": lambda: z > rng.normal(size=40),
    }.get(loss, lambda: z + rng.normal(size=40))()
    weights = rng.integers(0, 4, 40).astype(float)
    return Rows(X, y, weights, o if offset else None, ("a", "b", "c", "d"))


def on(program: Program, solution: Solution, table: Rows) -> Scores:
    """The scores on the rows of a table."""
    rows = Held(table.X, table.y, table.weights, table.offset)
    return rows.seen_by(program, solution).scores


def scores_and_value(loss: str, table: Rows) -> tuple[Scores, float]:
    """The scores of a model on its own rows, and F there."""
    program = Parameters().changed(loss=loss, k=2).program(table)
    solution = solve_program(program)
    w, b = program.to_program(solution.coef, solution.intercept)
    z = program.matrix.columns(np.arange(program.m)) @ w + b
    assert on(program, solution, table) == pytest.approx(fitted(program, solution).scores)
    return on(program, solution, table), program.F.value(z)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_the_data_term(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, value = scores_and_value("squared", made("squared", rng))
    assert scores["RMSE"] ** 2 / 2 == pytest.approx(value)
    scores, value = scores_and_value("logistic", made("logistic", rng))
    assert scores["log-loss"] == pytest.approx(value)
    table = made("poisson", rng)
    scores, value = scores_and_value("poisson", table)
    best = table.y - np.where(table.y > 0, table.y * np.log(np.maximum(table.y, 1)), 0)
    assert scores["deviance"] / 2 == pytest.approx(value - np.average(best, weights=table.weights))


@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_a_weight_of_two_is_a_row_written_twice(loss: str, rng: np.random.Generator) -> None:
    table = made(loss, rng)
    program = Parameters().changed(loss=loss, k=2).program(table)
    solution = solve_program(program)
    twice = np.repeat(np.arange(40), table.weights.astype(int))
    plain = Rows(table.X[twice], table.y[twice], None, table.offset[twice], table.names)
    weighted, repeated = (on(program, solution, rows) for rows in (table, plain))
    assert weighted == pytest.approx(repeated)
    unweighted = Rows(table.X, table.y, None, table.offset, table.names)
    assert on(program, solution, unweighted) != pytest.approx(weighted)
    moved = Rows(table.X, table.y, table.weights, -table.offset, table.names)
    assert on(program, solution, moved) != pytest.approx(weighted)


def test_what_is_not_defined_is_nan(rng: np.random.Generator) -> None:
    for loss, name in (("logistic", "AUC"), ("squared", "R2"), ("poisson", "D2")):
        table = made(loss, rng)
        program = Parameters().changed(loss=loss, k=1).program(table)
        solution = solve_program(program)
        one = table.at(np.array([int(np.argmax(table.weights))]))
        assert np.isnan(on(program, solution, one)[name])
        none = Rows(one.X, one.y, np.zeros(1), one.offset, one.names)
        assert on(program, solution, none) == {}
