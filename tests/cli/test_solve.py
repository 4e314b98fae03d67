"""sparsebounds solve: a model and its proof, exit codes scripts can use, and sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import sparsebounds as sb
from sparsebounds._support.decimals import percent_up
from sparsebounds.certificates import Certificate
from sparsebounds.cli import _output
from sparsebounds.cli._model_files import load_model
from sparsebounds.datasets import make_correlated

Invoke = Callable[..., Any]
FEATURES = ["age", "dose", "weight", "pulse", "bmi", "a, b"]


def answer(result: Any) -> dict[str, Any]:
    """The one JSON object printed, without NaN or infinity."""
    assert result.stdout.count("\n") == 1
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


def said(result: Any) -> str:
    return " ".join(result.output.split())


# A model.


def test_a_model_in_words(invoke: Invoke, numbers: Path) -> None:
    result = invoke("solve", numbers, "--target", "score", "-k", 2, "--tol", 0.05)
    assert result.exit_code == 0
    text = said(result)
    assert "squared loss on 60 x 6 data with at most 2 nonzero coefficients, ridge=0.129" in text
    for part in ("age", "dose", "(intercept)", "objective without features", "passes over the"):
        assert part in text
    assert "No model with at most 2 features can have an objective below" in text
    assert "Proved: of the 6 features, 2 are in every best model and 4 are in no best model" in text
    assert "optimal, proved to a relative gap of 0.05" in text
    assert "pulse" not in text
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_is_what_solve_finds(invoke: Invoke, numbers: Path) -> None:
    result = invoke("solve", numbers, "--target", "score", "-k", 2, "--json", "--tol", 1e-9)
    found, frame = answer(result), pl.read_csv(numbers)
    solution = sb.solve(frame[FEATURES], frame["score"], k=2, fit_intercept=True, standardize=True)
    assert found["features"] == ["age", "dose"]
    assert found["coef"] == pytest.approx(solution.coef[solution.support].tolist())
    assert found["intercept"] == pytest.approx(solution.intercept)
    assert found["upper"] == pytest.approx(solution.upper)
    assert found["lower"] == pytest.approx(solution.lower, rel=1e-5)
    assert found["gap"] == found["upper"] - found["lower"]
    assert found["rel_gap"] == found["gap"] / found["upper"]
    assert found["null_gap"] == found["gap"] / found["null"]
    assert found["fixed_in"] == ["age", "dose"]
    assert set(found["fixed_out"]) <= set(FEATURES[2:])
    assert found["classes"] is None
    assert found["passes"] > 0
    assert found["seconds"] >= 0
    assert found["problem"].startswith("squared loss on 60 x 6 data")
    assert found["message"].startswith("No model with at most 2 features")


def test_a_gap_is_no_error_unless_optimality_is_required(invoke: Invoke, numbers: Path) -> None:
    common = (
        "solve",
        numbers,
        "--target",
        "score",
        "-k",
        3,
        "--loss",
        "huber",
        "--no-exact",
        "--json",
    )
    for required, code in (((), 0), (("--require-optimal",), 3)):
        wide = invoke(*common, "--tol", 0.5, *required)
        assert (wide.exit_code, answer(wide)["status"]) == (0, "optimal")
        narrow = invoke(*common, "--tol", 1e-5, *required)
        assert (narrow.exit_code, answer(narrow)["status"]) == (code, "bounded")
    text = said(invoke(*common[:-1], "--tol", 1e-5))
    assert f"status proved within {percent_up(answer(narrow)['rel_gap'])} cost" in text
    assert "bounded" not in text


def test_defaults_are_those_of_the_estimators(invoke: Invoke, numbers: Path) -> None:
    found = answer(invoke("solve", numbers, "--target", "score", "--json"))
    frame = pl.read_csv(numbers)
    X, y = frame.drop("score"), frame["score"].to_numpy()
    model = sb.SparseRegressor().fit(X, y)
    assert found["upper"] == pytest.approx(model.upper_, rel=1e-6)
    assert found["problem"].endswith(
        f"at most 10 nonzero coefficients, ridge={model.ridge_:g}, an intercept, "
        "standardized columns"
    )
    # The library's functions leave out only what a program does not have unless it is asked for.
    plain = sb.solve(X, y, fit_intercept=True, standardize=True)
    assert (plain.certificate.problem.k, plain.upper) == (10, pytest.approx(model.upper_, rel=1e-6))
    asked = answer(invoke("solve", numbers, "--target", "score", "--json", "--ridge", "auto"))
    assert asked["upper"] == found["upper"]


def test_a_proof_about_features_says_what_it_depends_on(invoke: Invoke, numbers: Path) -> None:
    options = ("--target", "score", "-k", 2, "--ridge", 0.1)
    text = said(invoke("solve", numbers, *options))
    assert "That holds for k=2, ridge=0.1 and these 6 columns, and may not for others." in text
    assert "At a tenth of the ridge (0.01) 'age' and 'dose' are in " in text
    # The exact column needs a coefficient of 3.3, which only a small ridge allows.
    rng = np.random.default_rng(1)
    strong, noise = rng.normal(size=(2, 80))
    frame = {"wide": strong + 0.1 * noise, "narrow": 0.3 * strong, "y": strong}
    file = numbers.with_name("other.csv")
    pl.DataFrame(frame).write_csv(file)
    more = ("--target", "y", "-k", 1, "--ridge", 0.005, "--no-standardize")
    found = answer(invoke("solve", file, *more, "--json"))
    assert (found["fixed_in"], found["features"]) == (["wide"], ["wide"])
    assert (
        found["reach"] == "At a tenth of the ridge (0.0005) 'wide' is not in the best model found."
    )


@pytest.mark.parametrize(
    ("options", "clause", "words"),
    [
        (("--l0", 0.1), "a price l0=0.1 per nonzero", "No model, whatever its number of features,"),
        (("-k", 1, "--ball", 2), "|w|^2 <= 2", "at most 1 feature that obeys the constraints can"),
        (("-k", 2, "--no-intercept", "--no-standardize"), "2 nonzero", "at most 2 features can"),
        (("-k", 2, "--positive"), "nonnegative", "at most 2 features that obeys the constraints"),
        (("-k", 1, "--always", "bmi,pulse"), "at most 1", "1 feature besides the 2 always in can"),
    ],
)
def test_forms(
    invoke: Invoke, numbers: Path, options: tuple[Any, ...], clause: str, words: str
) -> None:
    found = answer(invoke("solve", numbers, "--target", "score", *options, "--json"))
    assert clause in found["problem"]
    assert words in found["message"]
    assert (found["intercept"] == 0) == ("--no-intercept" in options)


def test_features_always_and_never(invoke: Invoke, numbers: Path) -> None:
    common = ("solve", numbers, "--target", "score", "-k", 1, "--json")
    found = answer(invoke(*common, "--always", "bmi, pulse", "--never", "age"))
    assert {"bmi", "pulse", "dose"} == set(found["features"])
    # A name with a comma in it.
    assert "a, b" in answer(invoke(*common, "--always", "a, b"))["features"]


def test_weights_and_offset(invoke: Invoke, trial: Path) -> None:
    data = trial.with_name("weighted.csv")
    frame = pl.read_csv(trial).drop("fate").with_columns(start=pl.col("dose") * 0.5)
    frame.write_csv(data)
    common = ("solve", data, "--target", "score", "-k", 2, "--json")
    found = answer(invoke(*common, "--weights", "count", "--offset", "start"))
    program = sb.Program(
        frame[FEATURES],
        frame["score"],
        k=2,
        fit_intercept=True,
        standardize=True,
        sample_weight=frame["count"],
        offset=frame["start"],
    )
    coef = np.zeros(6)
    coef[[FEATURES.index(name) for name in found["features"]]] = found["coef"]
    assert program.objective(coef, found["intercept"]) == pytest.approx(found["upper"])


def test_labels_of_words(invoke: Invoke, words: Path) -> None:
    result = invoke("solve", words, "--target", "fate", "-k", 2, "--loss", "logistic")
    assert "The positive class is 'dead': positive coefficients speak for it" in said(result)
    assert "predicts 'dead' where its weighted sum is above 0. To turn that round: --posit" in said(
        result
    )
    found = answer(
        invoke("solve", words, "--target", "fate", "-k", 2, "--loss", "logistic", "--json")
    )
    assert found["classes"] == ["alive", "dead"]
    assert dict(zip(found["features"], found["coef"], strict=True))["dose"] > 0


def test_arrays(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(numbers)
    X, y = frame[FEATURES].to_numpy(), frame["score"].to_numpy()
    np.savez(tmp_path / "bare.npz", X=X, y=y)
    np.savez(tmp_path / "named.npz", X=X, y=y, feature_names=np.array(FEATURES))
    np.save(tmp_path / "matrix.npy", np.column_stack([y, X]))
    options = ("-k", 2, "--json")
    bare = answer(invoke("solve", tmp_path / "bare.npz", *options))
    named = answer(invoke("solve", tmp_path / "named.npz", *options))
    # In a .npy file features go by their column there, as --target does.
    matrix = answer(invoke("solve", tmp_path / "matrix.npy", "--target", 0, *options))
    assert bare["features"] == [0, 1]
    assert named["features"] == ["age", "dose"]
    assert matrix["features"] == ["1", "2"]
    assert bare["coef"] == named["coef"] == pytest.approx(matrix["coef"])
    kept = answer(invoke("solve", tmp_path / "bare.npz", *options, "--never", "0, 4"))
    assert not {0, 4} & set(kept["features"])
    kept = answer(
        invoke("solve", tmp_path / "matrix.npy", "--target", 0, *options, "--always", "6")
    )
    assert "6" in kept["features"]


def test_a_time_limit(invoke: Invoke, numbers: Path) -> None:
    result = invoke("solve", numbers, "--target", "score", "--time-limit", 1e-6, "--json")
    assert result.exit_code == 0
    assert answer(result)["lower"] <= answer(result)["upper"]


# Files.


def test_solve_then_verify(invoke: Invoke, words: Path, tmp_path: Path) -> None:
    proof = tmp_path / "c.json"
    options = ("--target", "fate", "-k", 2, "--loss", "logistic", "--certificate", proof)
    found = answer(invoke("solve", words, *options, "--json"))
    stored = Certificate.load(proof)
    assert (stored.lower, stored.upper) == (found["lower"], found["upper"])
    result = invoke("verify", proof, words, "--target", "fate")
    assert result.exit_code == 0
    assert "Verified: logistic loss on 60 x 6 data" in said(result)


def test_the_model_file(invoke: Invoke, words: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    options = ("--target", "fate", "-k", 2, "--loss", "logistic", "--ridge", 0.2, "--never", "bmi")
    found = answer(invoke("solve", words, *options, "--out", path, "--json"))
    document = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert (document["format"], document["version"]) == ("sparsebounds-model", 1)
    for name in ("features", "coef", "intercept", "classes"):
        assert document[name] == found[name]
    assert document["loss"] == "logistic"
    assert document["bounds"] == {"lower": found["lower"], "upper": found["upper"]}
    assert document["parameters"] == {
        "k": 2,
        "l0": None,
        "ridge": 0.2,
        "ball": None,
        "fit_intercept": True,
        "standardize": True,
        "positive": False,
        "always": [],
        "never": ["bmi"],
    }
    loaded = load_model(path)
    assert loaded.coef == tuple(found["coef"])
    assert loaded.parameters is not None
    assert loaded.parameters["never"] == ("bmi",)
    assert sorted(tmp_path.iterdir()) == sorted({path, words, words.with_name("trial.csv")})


# A terminal.


def test_a_spinner_only_on_a_terminal(
    invoke: Invoke, numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("solve", numbers, "--target", "score", "-k", 2, "--json")
    assert invoke(*command).stderr == ""
    terminal = Console(stderr=True, force_terminal=True, force_interactive=True)
    monkeypatch.setattr(_output, "errors", terminal)
    monkeypatch.setenv("TERM", "xterm")
    result = invoke(*command)
    assert "Solving" in result.stderr
    assert answer(result)["status"]


# Wrong use.


def test_wrong_columns(refused: Callable[..., str], numbers: Path) -> None:
    assert refused("solve", numbers) == (
        f"--target is missing: which column of {numbers} is the response?"
    )
    assert f"--target 'height' is not a column of {numbers}; it has age" in refused(
        "solve", numbers, "--target", "height"
    )
    common = ("solve", numbers, "--target", "score")
    assert "--weights 'w' is not a column of" in refused(*common, "--weights", "w")
    assert f"--never 'height' is not a column of {numbers}; it has age" in refused(
        *common, "--never", "height"
    )
    assert "always and never both hold 'bmi'" in refused(*common, "--always=bmi", "--never=bmi")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("-k", 2, "--l0", 0.1), "Both -k and --l0 were given; pass only one of them."),
        (("--ridge", 1, "--ball", 1), "Both --ridge and --ball were given; pass only one of them."),
        (("-k", -1), "-k -1 is negative; pass the largest number of nonzeros, 0 or more."),
        (("--ridge", 0), "--ridge '0' must be a number greater than 0, or auto."),
        (("--l0", "nan"), "--l0 nan must be finite and greater than 0."),
        (("--tol", 0), "--tol 0.0 must be a number greater than 0, such as 1e-4."),
        (("--time-limit", 0), "--time-limit 0.0 must be a number of seconds greater than 0."),
        (("--loss", "hinge"), "amplitude. Did you mean 'squared_hinge'?"),
        (("--loss", "logistc"), "--loss 'logistc' is not a loss; pass one of squared, logistic"),
        (("--loss", "logistic"), "The target 'score' holds 60 classes ("),
        (
            ("--out", "/nowhere/m.json"),
            "--out /nowhere/m.json cannot be written: the folder /nowhere does not exist",
        ),
        (("--certificate", "/"), "--certificate / is a folder; name a file."),
    ],
)
def test_wrong_options(
    refused: Callable[..., str], numbers: Path, options: tuple[Any, ...], sentence: str
) -> None:
    assert sentence in refused("solve", numbers, "--target", "score", *options)


def test_usage_errors(invoke: Invoke, numbers: Path) -> None:
    assert invoke("solve").exit_code == 2
    assert invoke("solve", numbers, "--target", "score", "-k", "two").exit_code == 2


def test_text_and_names_where_numbers_belong(
    refused: Callable[..., str], words: Path, tmp_path: Path
) -> None:
    assert refused("solve", words, "--target", "fate") == (
        "The target 'fate' holds text ('alive', 'dead'), but --loss squared needs numbers; pass "
        "--loss logistic."
    )
    assert refused("solve", words, "--target=age") == (
        f"{words} has columns that are not numbers: 'fate' (text, 2 values). Encode them with "
        "--one-hot (or some of them with --categorical NAMES), or leave them out with --exclude."
    )
    np.savez(tmp_path / "bare.npz", X=np.eye(3), y=np.arange(3.0))
    assert "the data have no feature names; pass column numbers" in refused(
        "solve", tmp_path / "bare.npz", "--always", "age"
    )
    np.savez(tmp_path / "short.npz", X=np.eye(3), y=np.arange(3.0), feature_names=["a", "b"])
    assert "feature_names has 2 entries, but X has 3 columns." in refused(
        "solve", tmp_path / "short.npz"
    )


@pytest.mark.parametrize(
    "command", ["solve", "path", "predict", "certify", "verify", "rank", "demo", "reproduce"]
)
def test_help_has_an_example(invoke: Invoke, command: str) -> None:
    assert f"Example: sparsebounds {command}" in said(invoke(command, "--help"))


# The exact search.


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Data on which the relaxation leaves a gap and a search takes long."""
    data = make_correlated(60, 80, 0.5, random_state=0)
    path = tmp_path / "wide.npz"
    np.savez(path, X=data.X, y=data.y)
    return path


def test_a_search_goes_on_from_its_checkpoint(invoke: Invoke, numbers: Path) -> None:
    file = numbers.with_name("search.npz")
    options = ("--target", "score", "-k", 2, "--ridge", 0.001, "--exact", "--json")
    runs = [invoke("solve", numbers, *options, "--checkpoint", file) for _ in range(2)]
    assert [run.exit_code for run in runs] == [0, 0]
    first, second = map(answer, runs)
    assert first["nodes"] == second["nodes"] > 0
    # The supports of its leaf are tried again, with sums in another order.
    assert first["lower"] == pytest.approx(second["lower"], rel=1e-13)
    assert first["upper"] == second["upper"]


def test_a_long_search_is_announced(invoke: Invoke, wide: Path) -> None:
    options = ("-k", 10, "--ridge", 1e-4, "--exact", "--time-limit", 2)
    result = invoke("solve", wide, *options, "--json")
    assert result.exit_code == 0
    assert answer(result)["status"] == "bounded"
    assert result.stderr.count("As a rule of thumb, exact search takes hours or more here") == 1
    assert answer(result)["advice"][0].startswith("As a rule of thumb, exact search takes hours")


def test_advice_follows_a_wide_gap(invoke: Invoke, wide: Path) -> None:
    options = ("-k", 10, "--ridge", 0.01, "--no-exact")
    (said,) = answer(invoke("solve", wide, *options, "--json"))["advice"]
    assert said.startswith("With ridge=0.1 in place of 0.01 the gap would be at most ")
    report = wide.with_name("report.html")
    shown = invoke("solve", wide, *options, "--report", report)
    assert said in " ".join(shown.stdout.split())
    assert said in report.read_text()
    narrow = invoke("solve", wide, "-k", 10, "--ridge", 1.0, "--no-exact", "--json")
    assert answer(narrow)["rel_gap"] < 0.05
    assert answer(narrow)["advice"] == []


def test_checkpoints_that_cannot_be(refused: Callable[..., str], numbers: Path) -> None:
    target, file = ("--target", "score"), numbers.with_name("search.npz")
    assert "is for the exact search: add --exact" in refused(
        "solve", numbers, *target, "--checkpoint", file
    )
    file.write_text("no archive")
    assert "is damaged, or not the checkpoint of a search; name another file" in refused(
        "solve", numbers, *target, "--exact", "--checkpoint", file
    )
    missing = numbers.parent / "missing" / "search.npz"
    assert "does not exist" in refused(
        "solve", numbers, *target, "--exact", "--checkpoint", missing
    )


@pytest.fixture
def spoiled(numbers: Path) -> Path:
    """The trial with four wrong scores, in rows 5, 6, 20 and 60, and a gap in row 2."""
    table = pl.read_csv(numbers)
    score = table["score"].to_numpy().copy()
    score[[4, 5, 19, 59]] += [9.0, -12.0, 15.0, 8.0]
    table = table.with_columns(score=score)
    table[1, "bmi"] = None
    path = numbers.with_name("spoiled.csv")
    table.write_csv(path)
    return path


def test_outliers_are_named_by_their_rows_in_the_file(invoke: Invoke, spoiled: Path) -> None:
    options = (spoiled, "--target", "score", "-k", 2, "--ridge", 0.05, "--drop-missing", "--loss")
    model = spoiled.with_name("model.json")
    result = invoke("solve", *options, "truncated", "--c", "auto", "--no-exact", "--out", model)
    shown = " ".join(result.output.split())
    assert "The model leaves out rows 5, 6, 20, 60, with residuals of c or more." in shown
    assert re.search(r"--c auto is 0\.\d+, by the noise", shown)
    c = json.loads(model.read_text(encoding="utf-8"))["parameters"]["c"]
    assert 0.5 < c < 1.5  # 3 times 0.3
    assert f"truncated loss (c={c:g})" in shown
    again = invoke("certify", model, spoiled)
    assert f"truncated loss (c={c:g})" in " ".join(again.output.split())
    known = ("--c", 1, "--features", "age,dose,bmi", "--json", "--time-limit", 1)
    rows = answer(invoke("solve", *options, "truncated", *known))["outliers"]
    assert rows["of_model"] == [5, 6, 20, 60]
    assert set(rows["proved_out"]) <= {5, 6, 20, 60}
    sides = (*rows["proved_out"], *rows["proved_in"], *rows["in_doubt"])
    assert sorted(sides) == [1, *range(3, 61)]
    assert answer(invoke("solve", *options, "squared", "--json"))["outliers"] is None


def test_a_scale_is_a_number_above_0_of_a_robust_loss(
    refused: Callable[..., str], numbers: Path
) -> None:
    options = ("solve", numbers, "--target", "score", "--c")
    for wrong in ("0", "nan", "inf", "automatic"):
        assert refused(*options, wrong) == (
            f"--c {wrong!r} must be a number greater than 0, or auto."
        )
    for right in ("2", "auto"):
        assert "The squared loss has no c; leave it out" in refused(*options, right)
