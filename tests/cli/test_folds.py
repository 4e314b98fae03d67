"""solve --cv: the choice of the CV estimators, then solve as ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.model_selection import KFold

import sparsebounds as sb
from sparsebounds.cli._grids import prices, sizes

Invoke = Callable[..., Any]


def answer(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


def test_the_choice_is_the_estimators(invoke: Invoke, numbers: Path) -> None:
    options = ("--target", "score", "--json")
    grid = ("--cv", 4, "--ks", "1:5", "--ridges", "0.001,0.1", "--seed", 3)
    found = answer(invoke("solve", numbers, *options, *grid))
    frame = pl.read_csv(numbers)
    search = sb.SparseRegressorCV(
        ks=range(1, 6), ridges=[0.001, 0.1], cv=KFold(4, shuffle=True, random_state=3)
    ).fit(frame.drop("score").to_numpy(), frame["score"].to_numpy())
    plain = answer(
        invoke("solve", numbers, *options, "-k", search.best_k_, "--ridge", search.ridge_)
    )
    assert {**found, "seconds": 0, "chosen": None} == {**plain, "seconds": 0}
    assert f"k = {search.best_k_} and ridge = {search.ridge_:g}, of 10 candid" in found["chosen"]


def test_classes_prices_and_one_standard_error(invoke: Invoke, words: Path) -> None:
    common = ("solve", words, "--target", "fate", "--loss", "logistic", "--cv", 3, "--json")
    assert "l0 = 0.05" in answer(invoke(*common, "--l0s", "0.05"))["chosen"]
    grid = ("--ks", "1:5", "--ridges", "0.1", "--rule")
    best, small = (answer(invoke(*common, *grid, rule)) for rule in ("best", "1se"))
    assert len(small["features"]) <= len(best["features"])
    assert "k = 2" in answer(invoke(*common, "-k", 2))["chosen"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--ks", "1:3"), "--ks is for cross-validation: add --cv 5."),
        (("--cv", 1), "--cv 1 must be 2 folds or more."),
        (("--cv", 3, "-k", 2, "--ks", "1:3"), "pass only one of them."),
        (("--cv", 3, "--l0s", "1", "--ks", "1:3"), "pass only one of them."),
        (("--cv", 3, "--rule", "2se"), "--rule '2se' must be best or 1se."),
        (("--cv", 3, "--ball", 2, "--ridges", "1"), "Both --ball and --ridges were given"),
        (("--cv", 3, "--ridges", "0"), "--ridges '0': write"),
        (("--cv", 3, "--offset", "bmi"), "--cv does not take an --offset; choose"),
        (("--cv", 100_000), "--cv 100000 needs 100000 rows, and there are"),
    ],
)
def test_wrong_use(
    refused: Callable[..., str], numbers: Path, options: tuple[Any, ...], sentence: str
) -> None:
    assert sentence in refused("solve", numbers, "--target", "score", *options)


def test_grids() -> None:
    assert sizes("--ks", "1:3, 6") == [1, 2, 3, 6]
    assert sizes("--ks", "5:16:5") == [5, 10, 15]
    assert prices("--l0s", "1:0.01:3") == pytest.approx([1, 0.1, 0.01])
    assert prices("--l0s", "1,0.5") == [1, 0.5]
