"""sparsebounds predict: new rows are treated as the old ones were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Invoke = Callable[..., Any]
Refused = Callable[..., str]
READ = ("--target", "y", "--one-hot", "--impute", "median")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Numbers, text of two and of three values, a truth, and gaps; y from all but `noise`."""
    rng = np.random.default_rng(3)
    n = 80
    town, sex = rng.choice(["Bonn", "Oslo", "Rome"], n), rng.choice(["f", "m"], n)
    x, truth, noise = rng.normal(size=n), rng.random(n) < 0.4, rng.normal(size=n)
    y = 3 + 2 * x + (town == "Rome") * 4 - (sex == "m") * 2 + truth + 0.1 * rng.normal(size=n)
    cells = [None if i in (5, 17) else value for i, value in enumerate(x.tolist())]
    columns = {"x": cells, "town": town, "sex": sex, "truth": truth, "noise": noise, "y": y}
    path = tmp_path / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    return path


@pytest.fixture
def model(invoke: Invoke, table: Path) -> Path:
    path = table.with_name("model.json")
    result = invoke("solve", table, *READ, "-k", 4, "--ridge", 1e-4, "--levels", "--out", path)
    assert result.exit_code == 0
    return path


def answer(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


def test_predictions_are_the_models(
    invoke: Invoke, table: Path, model: Path, tmp_path: Path
) -> None:
    document = json.loads(model.read_text())
    coef = dict(zip(document["features"], document["coef"], strict=True))
    assert set(coef) == {"x", "town=Rome", "sex=m", "truth"}
    frame = pl.read_csv(table)
    x = frame["x"].fill_null(frame["x"].median()).to_numpy()
    by_hand = (
        document["intercept"]
        + coef["x"] * x
        + coef["town=Rome"] * (frame["town"] == "Rome").to_numpy()
        + coef["sex=m"] * (frame["sex"] == "m").to_numpy()
        + coef["truth"] * frame["truth"].to_numpy()
    )
    result = invoke("predict", model, table)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction"
    assert np.array(lines[1:], float) == pytest.approx(by_hand)
    # To a file, as JSON, and from Parquet with the columns in another order and fewer of them.
    other, out = tmp_path / "new.parquet", tmp_path / "p.csv"
    frame.select("truth", "town", "x", "sex").write_parquet(other)
    assert invoke("predict", model, other, "--out", out).stdout == ""
    assert out.read_text() == result.stdout
    found = answer(invoke("predict", model, other, "--json"))
    assert found["prediction"] == pytest.approx(by_hand)
    one = tmp_path / "one.csv"
    frame[:1].write_csv(one)
    assert answer(invoke("predict", model, one, "--json"))["prediction"] == found["prediction"][:1]


def test_classes_and_probabilities(invoke: Invoke, words: Path, tmp_path: Path) -> None:
    path, target = tmp_path / "m.json", ("--target", "fate")
    for loss, column in (("logistic", "probability of dead"), ("squared_hinge", "score")):
        run = invoke("solve", words, *target, "--loss", loss, "-k", 2, "--out", path, "--test", 0.3)
        assert run.exit_code == 0
        found = answer(invoke("predict", path, words, "--json"))
        numbers = np.array(found[column])
        border = 0.5 if loss == "logistic" else 0.0
        labels = np.where(numbers > border, "dead", "alive")
        assert found["prediction"] == labels.tolist()
        document = json.loads(path.read_text())
        frame = pl.read_csv(words)
        z = document["intercept"] + sum(
            w * frame[name].to_numpy()
            for name, w in zip(document["features"], document["coef"], strict=True)
        )
        assert numbers == pytest.approx(1 / (1 + np.exp(-z)) if loss == "logistic" else z)


def test_poisson_with_an_offset(invoke: Invoke, refused: Refused, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, exposure = rng.normal(size=60), rng.uniform(0, 1, 60)
    y = rng.poisson(np.exp(0.5 * x + exposure))
    data, path = tmp_path / "d.csv", tmp_path / "m.json"
    frame = pl.DataFrame({"x": x, "z": rng.normal(size=60), "log_time": exposure, "y": y})
    frame.write_csv(data)
    options = ("--target", "y", "--offset", "log_time", "--loss", "poisson", "-k", 1)
    found = answer(invoke("solve", data, *options, "--out", path, "--json"))
    mean = np.exp(found["coef"][0] * x + found["intercept"] + exposure)
    assert answer(invoke("predict", path, data, "--json"))["prediction"] == pytest.approx(mean)
    frame.drop("log_time").write_csv(data)
    assert "The model needs the column 'log_time', which" in refused("predict", path, data)


def test_arrays(invoke: Invoke, refused: Refused, numbers: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(numbers)
    X, y = frame.drop("score").to_numpy(), frame["score"].to_numpy()
    names = np.array(frame.columns[:-1])
    np.savez(tmp_path / "bare.npz", X=X, y=y)
    np.savez(tmp_path / "named.npz", X=X, y=y, feature_names=names)
    np.save(tmp_path / "matrix.npy", np.column_stack([X, y]))
    np.savez(tmp_path / "few.npz", X=X[:, :1])
    found = []
    for file, options in (("bare.npz", ()), ("named.npz", ()), ("matrix.npy", ("--target", 6))):
        out = tmp_path / "m.json"
        assert invoke("solve", tmp_path / file, *options, "-k", 2, "--out", out).exit_code == 0
        found.append(answer(invoke("predict", out, tmp_path / file, "--json"))["prediction"])
        if file.endswith(".npz"):
            assert "The model uses the feature" in refused("predict", out, tmp_path / "few.npz")
    assert found[1] == pytest.approx(found[0])
    assert found[2] == pytest.approx(found[0])


def test_gaps(invoke: Invoke, refused: Refused, table: Path, tmp_path: Path) -> None:
    path, new = tmp_path / "m.json", tmp_path / "new.csv"
    options = ("--target", "y", "--features", "x,noise", "--drop-missing", "-k", 1)
    invoke("solve", table, *options, "--out", path)
    new.write_text("x,noise\n1,1\n,2\n3,\n")
    assert refused("predict", path, new) == (
        f"{new} has missing values: 'x' (1). Fill them in, or pass --skip-missing to leave those "
        "predictions empty."
    )
    lines = invoke("predict", path, new, "--skip-missing").stdout.splitlines()
    assert len(lines) == 4
    assert lines[2] in ("", '""')
    values = answer(invoke("predict", path, new, "--skip-missing", "--json"))["prediction"]
    assert values[1] is None
    assert values[2] is not None


def test_a_model_without_features(invoke: Invoke, table: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    found = answer(invoke("solve", table, *READ, "-k", 0, "--out", path, "--json"))
    for options in ((), ("--skip-missing",)):
        predicted = answer(invoke("predict", path, table, *options, "--json"))["prediction"]
        assert predicted == [found["intercept"]] * 80


def test_new_rows_that_do_not_fit(refused: Refused, table: Path, model: Path) -> None:
    frame, new = pl.read_csv(table), table.with_name("new.csv")
    frame.with_columns(town=pl.lit("Roma")).write_csv(new)
    assert refused("predict", model, new) == (
        f"{new} has 'town' = 'Roma', which the model has never seen; it knows 'Bonn', 'Oslo', "
        "'Rome'. Did you mean 'Rome'?"
    )
    frame.rename({"x": "X"}).write_csv(new)
    assert refused("predict", model, new).endswith("Did you mean 'X'?")
    frame.with_columns(x=pl.lit("high")).write_csv(new)
    assert "Column 'x' of" in refused("predict", model, new)
    frame.with_columns(x=pl.lit(float("inf"))).write_csv(new)
    assert "values beyond 1e+150: 'x' (80)" in refused("predict", model, new)
    assert "nowhere.csv does not exist." in refused("predict", model, "nowhere.csv")
    assert "nowhere.json does not exist." in refused("predict", "nowhere.json", new)
    assert "is a folder" in refused("predict", model.parent, new)
    np.save(table.with_name("v.npy"), np.ones(3))
    assert "has no feature names" in refused("predict", table.with_name("v.npy"), new)


def test_scores_of_the_rows_held_out(invoke: Invoke, table: Path, model: Path) -> None:
    """By hand: the model predicts all rows, and R2 is over the rows that were held out."""
    run = invoke("solve", table, *READ, "-k", 4, "--test", 0.25, "--out", model, "--json")
    scores = answer(run)["scores"]
    from sparsebounds.tables import Choice, read_table

    choice = Choice(target="y", one_hot=True, impute="median", test=0.25)
    held = read_table(table, choice).held
    assert held is not None
    assert len(held.y) == 20
    predicted = np.array(answer(invoke("predict", model, table, "--json"))["prediction"])
    y = pl.read_csv(table)["y"].to_numpy()
    where = np.isin(y, held.y)
    residual = y[where] - predicted[where]
    test = scores["test"]
    assert test["R2"] == pytest.approx(1 - np.mean(residual**2) / np.var(y[where]))
    assert test["RMSE"] == pytest.approx(np.sqrt(np.mean(residual**2)))
    assert test["MAE"] == pytest.approx(np.mean(np.abs(residual)))
    assert set(scores) == {"train", "test"}


def test_rows_without_a_value_are_passed_over_in_silence(invoke: Invoke, words: Path) -> None:
    """A logistic model's chance of nothing is nothing, and no warning."""
    model, new = words.with_name("m.json"), words.with_name("new.csv")
    invoke("solve", words, "--target", "fate", "--loss", "logistic", "-k", 1, "--out", model)
    used = json.loads(model.read_text())["features"][0].split("=")[0]
    new.write_text(f"{used},other\n,1\n")
    result = invoke("predict", model, new, "--skip-missing")
    assert result.exit_code == 0
    assert "invalid value" not in result.stderr
    assert result.stdout.splitlines()[1].replace('"', "") in (",", "None,None", ",,")
