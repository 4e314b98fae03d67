"""What rank_bounds returns and refuses: the table, its words, limits, warm starts, errors."""

from __future__ import annotations

import math
import re
import sys
import warnings
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from tests.ranks.small import FORMS, M, case, data, sparse_data

import sparsebounds as sb
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import working_set

COLUMNS = [
    "rank",
    "explained",
    "stated_lower",
    "stated_upper",
    "lower",
    "upper",
    "primalized",
    "n_nonzero",
]


def test_the_table() -> None:
    _, bounds, _ = case("l0+ball", "squared", 0)
    table = bounds.columns()
    assert list(table)[:8] == COLUMNS
    frame = bounds.to_frame()
    assert list(frame.columns) == list(table)
    assert len(frame) == M
    np.testing.assert_array_equal(frame["lower"], table["lower"])
    assert frame["rank"].tolist() == list(range(1, M + 1))


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    _, bounds, _ = case("l0+ball", "squared", 0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsebounds\[data\]'.*columns\(\)"):
        bounds.to_frame()


def test_it_says_which_rank_is_best() -> None:
    _, bounds, _ = case("l0+ball", "squared", 0)
    best = bounds.best
    assert f"Of 6 ranks the interval is narrowest at rank {best.rank}, with" in str(bounds)
    shown = re.search(r"between (\S+) and (\S+)\.$", str(bounds))
    assert shown is not None
    assert Decimal(shown[1]) <= Decimal(bounds.lower) <= Decimal(bounds.upper) <= Decimal(shown[2])
    assert float(shown[1]) == pytest.approx(bounds.lower, rel=1e-5)
    assert float(shown[2]) == pytest.approx(bounds.upper, rel=1e-5)
    assert "is no bound" in bounds.notes[0]
    # Six digits of 2/3 are rounded down, and those of 4/3 up.
    row = replace(best, lower=2 / 3, upper=4 / 3)
    text = str(replace(bounds, rows=(row,)))
    assert "lies between 0.666666 and 1.33334." in text
    one = sb.rank_bounds(bounds.program, [2])
    assert str(one).startswith("At rank 2, with")


def test_notes_say_why_a_column_is_nan() -> None:
    X, y = data(0)
    ridge = sb.rank_bounds(Program(X, y, k=1, ridge=0.1), [2])
    assert "for the ball only" in ridge.notes[0]
    for name in ("stated_lower", "stated_upper", "sharp_lower", "zeta_r", "zeta"):
        assert math.isnan(getattr(ridge.rows[0], name))
    short = sb.rank_bounds(Program(X, y, k=1, ball=1.0), [2], full=False)
    assert "pass full=True" in short.notes[0]
    for name in ("stated_upper", "zeta", "purified", "purified_bound", "purified_nonzero"):
        assert math.isnan(getattr(short.rows[0], name))
    assert short.rows[0].stated_lower <= short.rows[0].lower
    counts = sb.rank_bounds(Program(X, np.abs(np.round(y)), k=1, ball=1.0, loss="poisson"), [2])
    assert "no Lipschitz constant" in counts.notes[1]
    assert math.isnan(counts.rows[0].purified_bound)
    prices = sb.rank_bounds(Program(X, y, l0=np.linspace(0.01, 0.05, M), ball=1.0), [2])
    assert "one price" in prices.notes[1]
    assert math.isnan(prices.rows[0].sharp_lower)
    assert prices.rows[0].lower >= prices.rows[0].stated_lower


def test_draws_time_and_progress() -> None:
    program, _, _ = case("k+ball", "squared", 0)
    seen: list[int] = []
    bounds = sb.rank_bounds(program, [3, 1, 3], draws=4, callback=lambda row: seen.append(row.rank))
    assert seen == [1, 3]
    assert all(row.opt_std >= 0 for row in bounds.rows)
    assert bounds.full_passes > 0
    assert bounds.seconds > 0
    stopped = sb.rank_bounds(program, [1, 2, 3], time_limit=1e-9)
    assert len(stopped.rows) == 1
    assert stopped.notes[-1] == "The time limit was reached with 2 ranks left to try."
    assert not stopped.interrupted


@pytest.mark.parametrize("form", FORMS)
def test_ctrl_c_keeps_the_finished_rows(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    program, whole, optimum = case(form, "squared", 1)
    pressed = False
    loop = working_set.WorkingSet.loop

    def interrupted(run: working_set.WorkingSet) -> str:
        if pressed:
            raise KeyboardInterrupt  # as a signal would, where relax answers it with its bounds
        return loop(run)

    def press(row: sb.RankRow) -> None:
        nonlocal pressed
        pressed = row.rank == 2

    monkeypatch.setattr(working_set.WorkingSet, "loop", interrupted)
    bounds = sb.rank_bounds(program, callback=press)
    assert bounds.interrupted
    for name, values in bounds.columns().items():
        np.testing.assert_array_equal(values, whole.columns()[name][:2])
    assert bounds.notes[-1] == "Interrupted with 4 ranks left to try."
    assert bounds.lower <= min(optimum, bounds.upper)
    # Without a finished row there is nothing to return.
    with pytest.raises(KeyboardInterrupt):
        sb.rank_bounds(program)


def test_huge_data_raise_no_warning() -> None:
    X, y = data(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in sb.rank_bounds(Program(X * 1e100, y, l0=0.03, ball=1.0), [1, 6]).rows:
            assert row.lower <= row.upper


def test_warm_starts_change_nothing() -> None:
    program, bounds, _ = case("l0+ball", "logistic", 2)
    alone = sb.rank_bounds(program, [4]).rows[0]
    row = bounds.rows[3]
    assert row.lower == pytest.approx(alone.lower, abs=1e-6)
    assert row.relaxed == pytest.approx(alone.relaxed, abs=1e-7)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"ranks": [0]},
            ValueError,
            "ranks holds 0, but .* 12 x 6 data .* from 1 to 6",
        ),
        ({"ranks": [7]}, ValueError, "from 1 to 6"),
        ({"ranks": []}, ValueError, "ranks is empty"),
        ({"ranks": 3}, TypeError, "must be a list of integers"),
        ({"ranks": [1.5]}, TypeError, "every rank must be an integer"),
        ({"ranks": [True]}, TypeError, "every rank must be an integer"),
        ({"method": "lanczos"}, ValueError, "pass 'svd' or 'randomized'"),
        ({"basis": np.eye(12)[:, :2], "method": "svd"}, ValueError, "pass only one of them"),
        ({"basis": 2.0 * np.eye(12)[:, :2]}, ValueError, r"not orthonormal.*linalg.qr\(basis\)"),
        ({"basis": np.ones((12, 2))}, ValueError, "not orthonormal"),
        ({"basis": np.full((12, 2), np.nan)}, ValueError, "not orthonormal"),
        ({"basis": np.eye(5)}, ValueError, r"basis has shape \(5, 5\).*length 12"),
        ({"basis": np.eye(12)[:, :2], "ranks": [3]}, ValueError, "from 1 to 2"),
        *(
            ({name: value}, ValueError, f"{name}={value!r} must be a whole number, 0 or more")
            for name in ("power", "draws", "random_state")
            for value in (-1, True, "a", 1.5, None)
        ),
        ({"tol": "a"}, TypeError, "tol='a' must be a number greater than 0"),
        ({"tol": 0.0}, ValueError, "tol=0.0 must be finite and greater than 0"),
        ({"full": "x"}, TypeError, "full='x' must be True or False"),
        ({"callback": 3}, TypeError, "callback=3 cannot be called; pass a function, or None"),
        ({"time_limit": 0}, ValueError, "time_limit=0 must be a number of seconds"),
        ({"time_limit": True}, ValueError, "time_limit=True must be a number of seconds"),
        ({"time_limit": math.nan}, ValueError, "time_limit=nan must be a number of seconds"),
    ],
)
def test_errors_are_sentences(options: dict[str, Any], error: type, words: str) -> None:
    program, _, _ = case("k+ball", "squared", 0)
    with pytest.raises(error, match=words):
        sb.rank_bounds(program, **options)


def test_an_svd_of_sparse_data_is_refused() -> None:
    X, y = sparse_data()
    with pytest.raises(ValueError, match="would fill the sparse X; pass method='randomized'"):
        sb.rank_bounds(Program(X, y, k=1, ridge=1.0, standardize=True), [1], method="svd")
    with pytest.raises(TypeError, match="pass a sparsebounds"):
        sb.rank_bounds(X, [1])  # type: ignore[arg-type]
