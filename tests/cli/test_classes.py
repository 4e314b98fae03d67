"""Classes on the command line: which is positive, balanced weights, and more than two of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, log_loss

import sparsebounds as sb
from sparsebounds.cli._classes import class_file

Invoke = Callable[..., Any]
LOGISTIC = ("--loss", "logistic", "-k", 2)


def answer(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """Three classes of unequal size, with weights."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(90, 4))
    score = np.column_stack([X[:, 0], X[:, 1] - X[:, 0], 0.7 - X[:, 1]])
    kind = np.array(["rose", "lily", "iris"])[np.argmax(score + rng.normal(size=(90, 3)), axis=1)]
    columns = {f"x{j}": X[:, j] for j in range(4)}
    path = tmp_path / "flowers.csv"
    pl.DataFrame(columns | {"count": rng.uniform(0.5, 2, 90), "kind": kind}).write_csv(path)
    return path


def arrays(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    frame = pl.read_csv(path)
    X = frame[["x0", "x1", "x2", "x3"]].to_numpy()
    return X, frame["kind"].to_numpy(), frame["count"].to_numpy()


# Two classes.


def test_the_positive_class_is_chosen_and_named(invoke: Invoke, words: Path) -> None:
    common = ("solve", words, "--target", "fate", *LOGISTIC)
    usual = answer(invoke(*common, "--json"))
    turned = answer(invoke(*common, "--positive", "alive", "--json"))
    assert (usual["classes"], turned["classes"]) == (["alive", "dead"], ["dead", "alive"])
    assert turned["coef"] == pytest.approx([-value for value in usual["coef"]], rel=1e-6)
    assert turned["upper"] == pytest.approx(usual["upper"])
    said = " ".join(invoke(*common, "--positive", "alive").output.split())
    assert "The positive class is 'alive': positive coefficients speak for it, negative" in said
    assert "ones for 'dead'" in said
    assert "turn that round" not in said


def test_a_turned_model_in_files(invoke: Invoke, words: Path, tmp_path: Path) -> None:
    model, proof, out = tmp_path / "m.json", tmp_path / "c.json", tmp_path / "r.html"
    saved = ("--out", model, "--certificate", proof, "--report", out, "--test", 0.2)
    options = ("--target", "fate", "--positive", "alive", *LOGISTIC)
    assert invoke("solve", words, *options, *saved).exit_code == 0
    assert invoke("verify", proof, words).exit_code == 0
    assert invoke("verify", proof, words, "--positive", "dead").exit_code == 1
    assert invoke("certify", model, words).exit_code == 0
    text = invoke("predict", model, words).stdout
    assert text.startswith("prediction,probability of alive\n")
    chances = pl.read_csv(text.encode())
    right = (chances["probability of alive"] > 0.5) == (chances["prediction"] == "alive")
    assert right.all()
    assert "taken for alive" in unescape(out.read_text())


@pytest.mark.parametrize("label", ["1", "1.0"])
def test_labels_that_are_numbers(invoke: Invoke, words: Path, tmp_path: Path, label: str) -> None:
    frame, data = pl.read_csv(words), tmp_path / "coded.csv"
    coded = pl.when(pl.col("fate") == "dead").then(2).otherwise(1)
    frame.with_columns(coded.alias("fate")).write_csv(data)
    options = ("--target", "fate", *LOGISTIC, "--json")
    assert answer(invoke("solve", data, *options, "--positive", label))["classes"] == [2, 1]


def test_positive_without_a_label_is_nonnegative(invoke: Invoke, words: Path) -> None:
    common = ("solve", words, "--target", "fate", *LOGISTIC)
    for options in (
        ("--positive", "--json"),
        ("--json", "--positive"),
        ("--nonnegative", "--json"),
    ):
        found = answer(invoke(*common, *options))
        assert min(found["coef"]) >= 0
        assert "nonnegative" in found["problem"]


def test_balanced_weights_are_those_of_the_estimator(invoke: Invoke, flowers: Path) -> None:
    X, y, count = arrays(flowers)
    options = ("--target", "kind", "--weights", "count", "--class-weight", "balanced", *LOGISTIC)
    found = answer(invoke("solve", flowers, *options, "--json"))
    fitted = sb.SparseClassifier(2, class_weight="balanced").fit(X, y, count)
    for i, model in enumerate(found["models"]):
        assert model["upper"] == pytest.approx(fitted.upper_[i], rel=1e-6)
        coef = dict(zip(model["features"], model["coef"], strict=True))
        assert coef == pytest.approx(
            {f"x{j}": fitted.coef_[i, j] for j in np.flatnonzero(fitted.coef_[i])}, rel=1e-4
        )


def test_scores_are_of_rows_as_they_are(invoke: Invoke, flowers: Path) -> None:
    """Balanced weights are for the fit; on both sides the scores count rows alike."""
    options = ("--target", "kind", "--exclude", "count", "--class-weight", "balanced", *LOGISTIC)
    options = (*options, "--positive", "rose", "--test", 0.3, "--json")
    out = flowers.with_name("m.json")
    found = answer(invoke("solve", flowers, *options, "--out", out))
    from sparsebounds.tables import Choice, read_table

    reading = read_table(flowers, Choice(target="kind", exclude=("count",), test=0.3))
    coef = np.zeros(4)
    for name, value in zip(found["features"], found["coef"], strict=True):
        coef[int(name[1])] = value
    assert reading.held is not None
    for side, rows in (("train", reading.train), ("test", reading.held)):
        right = (rows.X @ coef + found["intercept"] > 0) == (rows.y == "rose")
        assert found["scores"][side]["accuracy"] == pytest.approx(np.mean(right))


# More than two.


def test_each_class_against_the_rest_as_the_estimator(invoke: Invoke, flowers: Path) -> None:
    X, y, _ = arrays(flowers)
    options = ("--target", "kind", "--exclude", "count", *LOGISTIC)
    found = answer(invoke("solve", flowers, *options, "--json"))
    fitted = sb.SparseClassifier(2).fit(X, y)
    assert found["classes"] == ["iris", "lily", "rose"] == fitted.classes_.tolist()
    for i, model in enumerate(found["models"]):
        assert model["classes"] == [f"not {found['classes'][i]}", found["classes"][i]]
        assert (model["lower"], model["upper"]) == pytest.approx(
            (fitted.lower_[i], fitted.upper_[i]), rel=1e-6
        )
    text = " ".join(invoke("solve", flowers, *options).output.split())
    assert "each of 3 classes against the rest" in text
    assert "Positive coefficients speak for the class, negative ones against it" in text
    assert invoke("solve", flowers, *options, "--tol", 1e-14, "--require-optimal").exit_code == 3


def test_files_of_many_classes(invoke: Invoke, flowers: Path, tmp_path: Path) -> None:
    model, proof, out = tmp_path / "m.json", tmp_path / "c.json", tmp_path / "r.html"
    saved = ("--out", model, "--certificate", proof, "--report", out)
    options = ("--target", "kind", "--exclude", "count", "--test", 0.3, *LOGISTIC)
    found = answer(invoke("solve", flowers, *options, *saved, "--json"))
    # One certificate per class, which knows its class.
    assert not proof.exists()
    for label in found["classes"]:
        assert invoke("verify", tmp_path / f"c.{label}.json", flowers).exit_code == 0
        assert invoke("certify", model, flowers, "--positive", label).exit_code == 0
    lily = tmp_path / "c.lily.json"
    assert invoke("verify", lily, flowers, "--positive", "rose").exit_code == 1
    # Predictions are those of the models, and their scores the stated ones.
    frame = pl.read_csv(invoke("predict", model, flowers).stdout.encode())
    assert frame.columns == ["prediction", *(f"probability of {x}" for x in found["classes"])]
    chances, y = frame.drop("prediction").to_numpy(), arrays(flowers)[1]
    assert np.sum(chances, axis=1) == pytest.approx(np.ones(90))
    from sparsebounds.tables import Choice, read_table

    held = read_table(flowers, Choice(target="kind", exclude=("count",), test=0.3)).held
    assert held is not None
    rows = [int(np.flatnonzero((arrays(flowers)[0] == x).all(axis=1))[0]) for x in held.X]
    scores = found["scores"]["test"]
    assert scores["log-loss"] == pytest.approx(log_loss(y[rows], chances[rows]))
    guess = np.array(found["classes"])[np.argmax(chances, axis=1)]
    assert guess.tolist() == frame["prediction"].to_list()
    assert scores["accuracy"] == pytest.approx(accuracy_score(y[rows], guess[rows]))
    page = unescape(out.read_text())
    assert f"sparsebounds verify {lily} {flowers}" in page
    for part in ("kind = lily", "taken for rose", "each of 3 classes against the rest"):
        assert part in page
    for one in found["models"]:
        assert one["message"] in re.sub("<.*?>", "", page)


def test_the_choice_of_folds_for_many_classes(invoke: Invoke, flowers: Path) -> None:
    options = ("--target", "kind", "--exclude", "count", "--loss", "logistic", "--json")
    grid = ("--cv", 2, "--ks", "1,2", "--ridges", "0.1", "--no-exact", "--scoring")
    for name in ("log_loss", "roc_auc", "f1", "balanced_accuracy"):
        found = answer(invoke("solve", flowers, *options, *grid, name))
        assert name.replace("_", " ") in found["chosen"]
        sizes = {len(model["features"]) for model in found["models"]}
        assert max(sizes) <= 2


def test_other_commands_ask_for_one_class(
    invoke: Invoke, refused: Callable[..., str], flowers: Path, tmp_path: Path
) -> None:
    options = ("--target", "kind", "--exclude", "count", "--loss", "logistic")
    assert "pass --positive iris to tell one from the rest." in refused("path", flowers, *options)
    assert invoke("path", flowers, *options, "--positive", "lily").exit_code == 0
    checkpoint = ("--exact", "--checkpoint", tmp_path / "s.npz")
    sentence = refused("solve", flowers, *options, *checkpoint)
    assert "there are 3 classes: name one of them with --positive, such as iris." in sentence
    model = tmp_path / "m.json"
    invoke("solve", flowers, *options, "--out", model)
    assert "say which one: --positive iris" in refused("certify", model, flowers)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--loss", "logistic", "--positive", "rosa"),
            "'iris', 'lily', 'rose'. Did you mean 'rose'",
        ),
        (
            ("--loss", "logistic", "--class-weight", "even"),
            "--class-weight 'even' must be balanced",
        ),
        ((), "pass --loss logistic for a model of each of them against the rest."),
    ],
)
def test_wrong_use(
    refused: Callable[..., str], flowers: Path, options: tuple[Any, ...], sentence: str
) -> None:
    assert sentence in refused("solve", flowers, "--target", "kind", *options)


def test_classes_are_not_asked_of_numbers(refused: Callable[..., str], trial: Path) -> None:
    options = ("--target", "score", "--exclude", "fate", "--class-weight", "balanced")
    assert "are about classes, but --loss squared about a number" in refused(
        "solve", trial, *options
    )


def test_files_are_named_after_classes() -> None:
    file = Path("out/c.json")
    assert class_file(file, ["a/b", "x y"], 0) == Path("out/c.a_b.json")
    assert class_file(file, ["a/b", "a b"], 1) == Path("out/c.2.json")
    assert class_file(None, ["a", "b"], 0) is None
