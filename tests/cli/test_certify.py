"""sparsebounds certify: models from files of three kinds, and what is proved about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import Ridge

Invoke = Callable[..., Any]
Refused = Callable[..., str]
FEATURES = ["age", "dose", "weight", "pulse", "bmi", "a, b"]


def answer(result: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


@pytest.fixture
def model(invoke: Invoke, numbers: Path, tmp_path: Path) -> Path:
    """A model file with two features of `numbers`."""
    path = tmp_path / "model.json"
    assert invoke("solve", numbers, "--target", "score", "-k", 2, "--out", path).exit_code == 0
    return path


@pytest.mark.parametrize(
    "options",
    [
        ("-k", 2),
        ("-k", 2, "--ball", 1.5),
        ("-k", 1, "--no-standardize", "--ridge", 0.05, "--always", "bmi"),
        ("-k", 2, "--no-intercept", "--positive", "--loss", "huber"),
    ],
)
def test_a_model_of_solve_gets_its_own_bounds(
    invoke: Invoke, numbers: Path, tmp_path: Path, options: tuple[Any, ...]
) -> None:
    path, target = tmp_path / "m.json", ("--target", "score")
    # certify does not search.
    found = invoke("solve", numbers, *target, *options, "--no-exact", "--out", path, "--json")
    # Stated again, or read from the file.
    for given in (options, ()):
        again = invoke("certify", path, numbers, *target, *given, "--json")
        assert again.exit_code == found.exit_code
        mine, theirs = answer(found), answer(again)
        assert theirs["problem"] == mine["problem"]
        assert theirs["status"] == mine["status"]
        assert theirs["nonzeros"] == len(mine["features"])
        for side in ("lower", "upper", "null"):
            assert theirs[side] == pytest.approx(mine[side], rel=1e-9)


def test_in_words_with_exit_codes(invoke: Invoke, numbers: Path, model: Path) -> None:
    common = ("certify", model, numbers, "--target", "score")
    result = invoke(*common, "--tol", 0.5)
    text = " ".join(result.output.split())
    assert result.exit_code == 0
    assert "squared loss on 60 x 6 data with at most 2 nonzero coefficients" in text
    assert "No model with at most 2 features can have an objective below" in text
    assert "optimal, proved to a relative gap of 0.5" in text
    # Another problem: here the same model is far from the best possible.
    result = invoke(*common, "-k", 6, "--ridge", 1e-4, "--json")
    assert result.exit_code == 0
    other = answer(result)
    assert other["problem"].startswith("squared loss on 60 x 6 data with at most 6")
    assert other["status"] == "bounded"
    assert invoke(*common, "--time-limit", 1e-6).exit_code == 0
    required = (*common, "-k", 6, "--ridge", 1e-4, "--require-optimal")
    assert invoke(*required).exit_code == 3
    assert "status proved within" in " ".join(invoke(*required).stdout.split())


def test_other_tools(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    """With k = m and no scaling, scikit-learn's ridge is the best possible: proved."""
    frame = pl.read_csv(numbers)
    fitted = Ridge(alpha=0.1 * 60).fit(frame[FEATURES].to_numpy(), frame["score"].to_numpy())
    path = tmp_path / "ridge.csv"
    names, values = [*FEATURES, "(intercept)"], [*fitted.coef_, fitted.intercept_]
    pl.DataFrame({"feature": names, "coef": values, "note": "x"}).write_csv(path)
    np.save(tmp_path / "ridge.npy", np.array([values]))
    np.savez(tmp_path / "bare.npz", X=frame[FEATURES].to_numpy(), y=frame["score"].to_numpy())
    numbered = [*map(str, range(6)), "(intercept)"]
    pl.DataFrame({"feature": numbered, "coef": values}).write_csv(tmp_path / "numbered.csv")
    options = ("-k", 6, "--ridge", 0.1, "--no-standardize", "--json")
    proof = tmp_path / "c.json"
    uppers = []
    for file, data in (
        ("ridge.csv", numbers),
        ("ridge.npy", numbers),
        ("numbered.csv", tmp_path / "bare.npz"),
        ("ridge.npy", tmp_path / "bare.npz"),
    ):
        target = ("--target", "score") if data == numbers else ()
        result = invoke("certify", tmp_path / file, data, *target, *options, "--certificate", proof)
        assert result.exit_code == 0
        uppers.append(answer(result)["upper"])
        assert invoke("verify", proof, data, *target).exit_code == 0
    assert uppers == pytest.approx([uppers[0]] * 4, rel=1e-12)


def test_models_that_break_a_constraint(refused: Refused, numbers: Path, model: Path) -> None:
    common = ("certify", model, numbers, "--target", "score")
    said = refused(*common, "-k", 1)
    assert "it has 2 nonzeros, more than -k 1; pose the problem with -k 2 to certify it as" in said
    assert "`never` rules out" in refused(*common, "--never", "age")
    assert "exceeds ball=0.001" in refused(*common, "--ball", 0.001)
    assert "but the program has none" in refused(*common, "--no-intercept", "--no-standardize")


def test_a_model_file_knows_its_table(
    invoke: Invoke, refused: Refused, numbers: Path, model: Path, tmp_path: Path
) -> None:
    stated = answer(invoke("certify", model, numbers, "--target", "score", "--json"))
    assert answer(invoke("certify", model, numbers, "--json")) == stated
    (tmp_path / "other.csv").write_text("feature,coef\nage,0.1\n")
    assert refused("certify", tmp_path / "other.csv", numbers).startswith("--target is missing")


def test_wrong_use(refused: Refused, numbers: Path, model: Path) -> None:
    common = ("certify", model, numbers, "--target", "score")
    assert "Both -k and --l0 were given" in refused(*common, "-k", 1, "--l0", 0.1)
    assert "Both --ridge and --ball were given" in refused(*common, "--ridge", 1, "--ball", 0.1)
    assert "--target 'x' is not a column" in refused("certify", model, numbers, "--target", "x")
    assert refused("certify", "nowhere.json", *common[2:]) == "nowhere.json does not exist."


def test_models_of_other_data(
    refused: Refused, invoke: Invoke, numbers: Path, words: Path, model: Path, tmp_path: Path
) -> None:
    pl.read_csv(numbers).drop("dose").write_csv(tmp_path / "less.csv")
    target = ("--target", "score")
    assert refused("certify", model, tmp_path / "less.csv", *target) == (
        "The model uses the feature 'dose', which the data do not have."
    )
    np.savez(tmp_path / "bare.npz", X=np.eye(3), y=np.arange(3.0))
    bare = tmp_path / "bare.npz"
    assert "'age', but the data have no feature names" in refused("certify", model, bare)
    (tmp_path / "far.csv").write_text("feature,coef\n3,1.0\n")
    assert refused("certify", tmp_path / "far.csv", bare) == (
        "The model uses the feature 3, but the data have 3, from 0."
    )
    np.save(tmp_path / "long.npy", np.ones(9))
    assert "The model has 9 coefficients, but the data have 6 features" in refused(
        "certify", tmp_path / "long.npy", numbers, *target
    )
    fate = ("--target", "fate", "--loss", "logistic")
    path = tmp_path / "fate.json"
    invoke("solve", words, *fate, "-k", 2, "--out", path)
    flipped = pl.read_csv(words).with_columns(fate=pl.col("fate").replace("alive", "well"))
    flipped.write_csv(tmp_path / "flipped.csv")
    assert refused("certify", path, tmp_path / "flipped.csv", *fate) == (
        "The model tells 'alive' from 'dead', but the response holds 'dead' and 'well'."
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format": "x"}, "format must be 'sparsebounds-model'."),
        ({"version": 9}, "version 9 is not known here (this reads 1); update sparsebounds."),
        ({"features": "age"}, "features must be a list."),
        ({"features": ["age", 1]}, "features must hold names, or column numbers."),
        ({"features": [-1, 1]}, "features must hold names, or column numbers."),
        ({"features": ["age", "age"]}, "features lists a feature twice."),
        ({"coef": [1.0]}, "coef must have one number for each of features."),
        ({"coef": [1.0, "2"]}, "coef[1] must be a number."),
        ({"coef": [1.0, 10**400]}, "coef[1] must be a finite number."),
        ({"intercept": None}, "intercept must be a number."),
        ({"classes": ["a"]}, "classes must be null or two labels."),
        ({"bounds": 1}, "bounds must be an object."),
        ({"bounds": {"lower": True}}, "bounds.lower must be a number."),
        ({"loss": 3}, "loss must be the name of a loss."),
        (
            {"parameters": {"kk": 3}},
            "parameters.kk is not known here; update sparsebounds, or remove it.",
        ),
        ({"parameters": {"positive": 1}}, "parameters.positive must be true or false."),
        ({"parameters": {"always": "age"}}, "parameters.always must be a list."),
        ({"table": 3}, "table must be an object."),
        ({"models": 3}, "models must be a list."),
        ({"models": [3]}, "models[0] must be an object."),
        ({"models": [{}]}, "models must hold one for each of three classes or more."),
        (
            {"table": {"choice": {"x": 1}}},
            "table.choice.x is not known here; update sparsebounds, or remove it.",
        ),
    ],
)
def test_malformed_model_files(
    refused: Refused, numbers: Path, model: Path, changes: dict[str, Any], sentence: str
) -> None:
    document = json.loads(model.read_text())
    if changes.get("parameters"):
        changes = {"parameters": document["parameters"] | changes["parameters"]}
    model.write_text(json.dumps(document | changes))
    assert refused("certify", model, numbers, "--target", "score") == (
        f"{model} is not a valid model file: {sentence}"
    )


def test_what_an_older_file_does_not_state_is_at_its_default(
    invoke: Invoke, numbers: Path, model: Path
) -> None:
    document = json.loads(model.read_text())
    common = ("certify", model, numbers, "--json")
    before = invoke(*common).stdout
    for name in ("positive", "always", "never", "l0", "ball"):
        del document["parameters"][name]
    del document["table"]["choice"]["one_hot"]
    model.write_text(json.dumps(document))
    assert invoke(*common).stdout == before


@pytest.mark.parametrize("content", [b"", b"\x80\x81", b"[" * 100_000, b'{"version": NaN}'])
def test_files_that_are_not_json(
    refused: Refused, numbers: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    assert f"{path} is not a model file: it is not JSON" in refused("certify", path, numbers)


@pytest.mark.parametrize("value", [[], {}, "x", 2.5, True])
def test_parameters_of_the_wrong_kind(
    refused: Refused, numbers: Path, model: Path, value: Any
) -> None:
    document = json.loads(model.read_text())
    for name in ("k", "ridge"):
        if (name, value) == ("ridge", 2.5):
            continue
        document["parameters"] |= {"k": 2, "ridge": 0.1, name: value}
        model.write_text(json.dumps(document))
        assert name in refused("certify", model, numbers, "--target", "score")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"name,value\nage,1\n", "a CSV with the columns feature and coef."),
        (b"", "a CSV with the columns feature and coef."),
        (b"feature,coef\nage,one\n", "gives 'age' the coef 'one', which is not a number."),
        (b"feature,coef\nage,nan\n", "gives 'age' the coef 'nan', which is not a number."),
        (b"feature,coef\nage\n", "gives 'age' the coef None, which is not a number."),
        (b"feature,coef\nage,1\nage,2\n", "lists the feature 'age' twice."),
        (b"\xff\xfe\x00", "cannot be read as CSV"),
    ],
)
def test_malformed_tables(
    refused: Refused, numbers: Path, tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    assert sentence in refused("certify", path, numbers, "--target", "score")


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.eye(2), "must hold a vector of numbers; its shape is (2, 2)"),
        (np.array(["a"]), "must hold a vector of numbers"),
        (np.array([1.0, np.inf]), "holds a coefficient that is not finite."),
    ],
)
def test_malformed_vectors(
    refused: Refused, numbers: Path, tmp_path: Path, array: Any, sentence: str
) -> None:
    np.save(tmp_path / "v.npy", array)
    assert sentence in refused("certify", tmp_path / "v.npy", numbers, "--target", "score")
    np.savez(tmp_path / "v.npz", v=np.ones(2))
    archive = (tmp_path / "v.npz").rename(tmp_path / "w.npy")
    assert "is an archive of arrays" in refused("certify", archive, numbers, "--target", "score")


def test_coefficients_as_a_spreadsheet_writes_them(invoke: Invoke, numbers: Path) -> None:
    """Semicolons and decimal commas, as tables may have."""
    common, found = ("--target", "score", "-k", 1, "--json"), []
    for text in (
        "feature,coef\nage,0.5\n(intercept),1.25\n",
        "feature;coef\nage;0,5\n(intercept);1,25\n",
    ):
        path = numbers.with_name("model.csv")
        path.write_text(text)
        found.append(answer(invoke("certify", path, numbers, *common)))
    assert found[0] == found[1]


def test_names_that_look_like_numbers_stay_as_they_are(invoke: Invoke, tmp_path: Path) -> None:
    data, model = tmp_path / "t.csv", tmp_path / "m.csv"
    x, z = np.random.default_rng(0).normal(size=(2, 30))
    pl.DataFrame({"1": z, "01": x, "y": x}).write_csv(data)
    model.write_text("feature,coef\n01,1\n")
    found = answer(invoke("certify", model, data, "--target", "y", "-k", 1, "--json"))
    model.write_text("feature,coef\n1,1\n")
    other = answer(invoke("certify", model, data, "--target", "y", "-k", 1, "--json"))
    assert found["upper"] < other["upper"]
