"""solve --cv: the choice of the CV estimators, then solve as ever."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

import sparsebounds as sb
from sparsebounds.cli._folds import FoldProgress, chosen_by_folds
from sparsebounds.cli._grids import prices, sizes
from sparsebounds.cli._options import FoldOptions, ProblemOptions, SizeOptions
from sparsebounds.cli._parameters import Parameters
from sparsebounds.cli._scoring import NUMBER_SCORES
from sparsebounds.tables import Choice, read_table

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


def test_classes_are_chosen_by_the_log_loss(invoke: Invoke, words: Path) -> None:
    common = ("solve", words, "--target", "fate", "--loss", "logistic", "--cv", 2, "--json")
    common = (*common, "--ks", "1,2", "--ridges", "0.03,1", "--no-exact")
    frame = pl.read_csv(words)
    X, y = frame.drop("fate").to_numpy(), frame["fate"].to_numpy()
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    grid = {"ks": [1, 2], "ridges": [0.03, 1.0], "cv": folds, "exact": False}
    for options, scoring in (((), "neg_log_loss"), (("--scoring", "accuracy"), "accuracy")):
        found = answer(invoke(*common, *options))
        search = sb.SparseClassifierCV(**grid, scoring=scoring).fit(X, y)
        best = abs(np.max(search.cv_results_["mean_test_score"]))
        assert f"k = {search.best_k_} and ridge = {search.ridge_:g}, of 4 " in found["chosen"]
        assert f"({scoring.removeprefix('neg_').replace('_', ' ')} {best:.4f} at" in found["chosen"]
    hinge = answer(invoke(*common[:4], "--loss", "squared_hinge", "--cv", 3, "--ks", 1, "--json"))
    assert "(accuracy 0." in hinge["chosen"]


def test_other_scores_of_numbers(invoke: Invoke, numbers: Path) -> None:
    common = ("solve", numbers, "--target", "score", "--cv", 3, "--ks", "1,2", "--json")
    common = (*common, "--ridges", "0.1", "--scoring")
    for name in NUMBER_SCORES:
        if "poisson" not in name:
            said = answer(invoke(*common, name))["chosen"]
            assert f"({'R2' if name == 'r2' else name.replace('_', ' ')} 0." in said
    said = answer(invoke(*common, "neg_mean_absolute_error"))["chosen"]
    assert "(mean absolute error 0." in said


def test_a_choice_at_the_edge_of_the_grid_is_said(invoke: Invoke, numbers: Path) -> None:
    common = ("solve", numbers, "--target", "score", "--cv", 3, "--json")
    wide = answer(invoke(*common, "--ks", "1:6", "--ridges", "1e-6,0.001,10"))["chosen"]
    assert "widen --ks" not in wide
    edge = answer(invoke(*common, "--ks", "1", "--ridges", "1,10"))["chosen"]
    assert edge.endswith("ridge = 1 is the smallest tried: widen --ridges.")
    few = answer(invoke(*common, "--ks", "0,1", "--ridges", "0.01"))["chosen"]
    assert few.endswith("k = 1 is the largest tried: widen --ks.")
    # Where there is nothing beyond: all features, or one value only.
    for ks in ("5,6", "6"):
        found = answer(invoke(*common, "--ks", ks, "--ridges", "0.01"))["chosen"]
        assert "largest" not in found


@pytest.mark.parametrize("ball", [None, 2.0])
def test_progress_says_folds_and_points(numbers: Path, ball: float | None) -> None:
    """All paths together; in a ball one after the other."""
    reading = read_table(numbers, Choice(target="score"))
    seen: list[str] = []
    options = FoldOptions(3, "2:5", None, "0.01,0.1" if ball is None else None, None, None)
    none = ProblemOptions(**dict.fromkeys(f.name for f in fields(ProblemOptions)))
    chosen_by_folds(
        *(Parameters().changed(ball=ball), reading, [], options, SizeOptions(None, None)),
        *(none, None, lambda now: seen.append(now.line())),
    )
    walks = ["paths 1 to 6 of 6"] if ball is None else [f"path {i} of 3" for i in (1, 2, 3)]
    points = [f"(folds times ridges), {i} of 4 points" for i in (1, 2, 3, 4)]
    assert seen == [f"{walk} {point}" for walk in walks for point in points]


def test_progress_of_paths_that_part() -> None:
    """Several at a time, then some that did not settle together, one after the other."""
    seen: list[str] = []
    progress = FoldProgress(6, lambda now: seen.append(now.line().partition(" of 6")[0]))
    for done, together in ((1, 2), (2, 2), (1, 4), (1, 1), (2, 1), (1, 1)):
        progress(done, 2, together)
    assert seen == [*["paths 1 to 2"] * 2, "paths 3 to 6", *["path 3"] * 2, "path 4"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--scoring", "r2"), "--scoring is for cross-validation: add --cv 5."),
        (("--cv", 3, "--scoring", "accuracy"), "'accuracy' does not score numbers; pass one of r2"),
        (("--cv", 3, "--scoring", "r3"), "--scoring 'r3' is not known; pass one of r2, mean_squ"),
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


def test_a_score_needs_what_the_loss_gives(refused: Callable[..., str], words: Path) -> None:
    options = ("--target", "fate", "--loss", "squared_hinge", "--cv", 3, "--scoring", "log_loss")
    assert "needs probabilities, which --loss squared_hinge" in refused("solve", words, *options)
    options = (*options[:3], "logistic", *options[4:7], "r2")
    assert "'r2' does not score classes; pass one of log_loss," in refused("solve", words, *options)


def test_the_chosen_problem_has_its_part_of_a_time_limit(
    invoke: Invoke, numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the folds took: a model without features is nobody's choice."""

    def slowly(*given: Any) -> Any:
        time.sleep(1.1)
        return chosen_by_folds(*given)

    command = import_module("sparsebounds.cli.solve")  # the package has a function of that name
    monkeypatch.setattr(command, "chosen_by_folds", slowly)
    options = ("--target", "score", "--cv", 2, "--ks", "2,3", "--ridges", "0.1", "--json")
    assert answer(invoke("solve", numbers, *options, "--time-limit", 1))["features"]
