"""The experiments' tables: inequalities that hold at every point, and the referee's optima."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

from sparsebounds.datasets import make_bell_spectrum, make_correlated, make_low_rank
from sparsebounds.experiments import EXPERIMENTS
from sparsebounds.experiments.base import columns, spread
from sparsebounds.experiments.experiment_2 import BALL, PRICES, SCALES
from sparsebounds.experiments.ranks import narrower_by, verdict, widths
from sparsebounds.program import Program
from sparsebounds.testing import brute_force

SLACK = 1e-9
"""The relaxations' accuracy, for inequalities between relaxed values."""


@cache
def ran(number: str) -> tuple[pl.DataFrame, int]:
    """A small experiment's table, and how often it ticked."""
    ticks = list[None]()
    table = EXPERIMENTS[number](quick=True).run(lambda: ticks.append(None))
    return table, len(ticks)


@pytest.mark.parametrize("number", EXPERIMENTS)
def test_steps_are_counted_right_and_no_number_is_missing(number: str) -> None:
    table, ticks = ran(number)
    assert ticks == EXPERIMENTS[number](quick=True).steps
    assert table.null_count().to_numpy().sum() == 0


def test_the_papers_settings() -> None:
    first, second, third, fourth = (kind() for kind in EXPERIMENTS.values())
    np.testing.assert_allclose(first.prices, np.logspace(-6, -1, 30))
    assert [kind.steps for kind in (first, second, third, fourth)] == [260, 600, 72, 13]
    assert second._data(1.0).X.shape == (1000, 100)
    assert (PRICES, BALL) == ((1e-4, 1e-3, 1e-2), 30.0)
    assert fourth.ridges[0] == pytest.approx(1e-2)
    assert fourth.ridges[-1] == pytest.approx(1e-8)


def test_prices_order_the_bounds_of_the_paper_and_ours() -> None:
    part = columns(ran("1")[0], part="l0")
    chain = [part[name] for name in ("relaxed", "opt", "tied", "sharp", "stated")]
    assert np.all(np.diff(chain, axis=0) >= -SLACK)
    assert np.all(part["lower"] <= part["upper"])
    assert np.all(part["dual"] <= part["relaxed"])
    data = make_low_rank(60, 16, 4, 4)
    for price, lower in zip(part["l0"], part["lower"], strict=True):
        # The best model of ten of the columns is one of all models.
        assert lower <= brute_force(Program(data.X[:, :10], data.y, l0=price, ridge=0.01)).value


def test_budgets_order_the_bounds_of_the_paper_and_ours() -> None:
    part = columns(ran("1")[0], part="k")
    chain = [part[name] for name in ("stated", "sharp", "tied", "opt", "relaxed")]
    assert np.all(np.diff(chain, axis=0) >= -SLACK)
    assert np.all(part["n_nonzero"] <= np.maximum(part["k"], part["k"] + part["rank"] - 1))
    data = make_low_rank(60, 16, 4, 4, classes=True)
    for k in (1, 2, 3):
        best = brute_force(Program(data.X, data.y, k=k, ridge=0.01, loss="logistic")).value
        assert part["lower"][k - 1] <= best <= part["upper"][k - 1] * (1 + 1e-12)
        assert best <= part["same_k_model"][k - 1] * (1 + 1e-12)
        if k >= part["rank"][0] - 1:
            assert best <= part["same_k"][k - 1] + SLACK
        else:
            assert np.isnan(part["same_k"][k - 1])


def test_unique_weights_have_one_support_and_doubled_columns_many() -> None:
    table = ran("1")[0]
    single = table.filter(pl.col("part") != "l0, columns twice")
    assert single["unique"].all()
    assert single["supports"].max() == 1
    twice = columns(table, part="l0, columns twice")
    assert np.max(twice["supports"]) > 1
    assert not twice["unique"][np.argmax(twice["supports"])]
    # Which of two equal columns is chosen changes the support and not the value.
    assert np.max(twice["opt_spread"]) < 1e-12


def test_ours_is_inside_the_valid_part_and_holds_the_optimum() -> None:
    table = ran("2")[0]
    for name, scale in SCALES.items():
        data = make_bell_spectrum(50, 8, 3, 3, scale=scale)
        for price in PRICES:
            part = columns(table, data=name, l0=price)
            valid, ours = widths(part)
            assert np.all(part["lower"] >= part["stated_lower"])
            assert np.all(part["upper"] <= part["primalized"])
            assert np.all((ours < valid)[~part["full_rank"]])
            best = brute_force(Program(data.X, data.y, l0=price, ball=BALL)).value
            assert np.max(part["lower"]) <= best
            # An upper end is attained: it may miss the referee's value by rounding only.
            assert best <= np.min(part["upper"]) * (1 + 1e-12)


def test_the_same_on_two_classes() -> None:
    part = columns(ran("3")[0])
    valid, ours = widths(part)
    assert np.all(part["lower"] >= part["stated_lower"])
    assert np.all((ours < valid)[~part["full_rank"]])
    # Centred columns: the last rank adds nothing.
    assert part["full_rank"].tolist() == [False] * 10 + [True] * 2
    data = make_correlated(12, 30, nonzeros=4, classes=True)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    # The best model of six of the columns is one of all models.
    program = Program(X, data.y, l0=0.1, ball=50.0, loss="logistic", never=range(6, 30))
    assert np.max(part["lower"]) <= brute_force(program).value


def test_the_count_of_nonzeros_does_not_depend_on_the_ridge() -> None:
    part = columns(ran("4")[0])
    k, rank = part["k"][0], part["rank"][0]
    assert np.all(part["n_nonzero"] <= k + rank - 1)
    chain = [part[name] for name in ("stated", "sharp", "opt", "relaxed", "upper")]
    assert np.all(np.diff(chain, axis=0) >= -SLACK)
    # p** goes to the least squares value from above, proportionally to the ridge.
    above = part["relaxed"] - part["least_squares"]
    assert np.all(above > 0)
    assert above[-1] < 1e-4 * above[0]


@pytest.mark.parametrize("number", EXPERIMENTS)
def test_findings_depend_on_the_table_alone(number: str) -> None:
    table = ran(number)[0]
    experiment = EXPERIMENTS[number](quick=True)
    findings = experiment.findings(table)
    assert findings
    assert all(sentence.endswith(".") and "nan" not in sentence for sentence in findings)
    read_back = pl.read_csv(table.write_csv().encode(), infer_schema_length=None)
    assert experiment.findings(read_back) == findings


def test_findings_say_what_is_wrong() -> None:
    """A table in which the claims fail leads to sentences that say so."""
    part = columns(ran("3")[0])
    worse = part | {"upper": part["primalized"] + 1.0, "lower": part["stated_lower"] - 1.0}
    assert "wider than the paper's valid part at 12 of 12 points" in verdict([worse])[0]
    assert "narrower at 0 of the 10" in verdict([worse])[0]
    false = part | {"stated_upper": np.full(12, np.max(part["lower"]) - 0.1)}
    assert verdict([false])[-1].endswith("at 12 points.")
    closed = part | {"upper": part["lower"]}
    assert narrower_by(closed).startswith("closed at 10 ranks")
    assert narrower_by(closed).endswith("and 1 for ours")


def test_spread_rounds_noise_to_zero() -> None:
    assert spread(np.array([-1e-9, 2.0, 4.0]), "%") == "0% to 4% (median 2%)"
