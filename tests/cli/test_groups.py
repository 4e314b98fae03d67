"""Groups on the command line: categories whole, columns by name and by prefix, files that know."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sparsebounds.certificates import Certificate
from sparsebounds.program import Program
from sparsebounds.testing import brute_force

Invoke = Callable[..., Any]
READ = ("--target", "y", "--one-hot", "--ridge", 0.05)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Text of three and of two values, two pairs of numbers that belong together, and one alone."""
    rng = np.random.default_rng(11)
    n = 60
    town, sex = rng.choice(["Bonn", "Oslo", "Rome"], n), rng.choice(["f", "m"], n)
    numbers = {name: rng.normal(size=n) for name in ("lab_1", "lab_2", "x_a", "x_b", "age")}
    y = 1.5 * (town == "Rome") - (town == "Oslo") + 0.4 * numbers["lab_2"] + 0.3 * numbers["age"]
    y += 0.3 * rng.normal(size=n)
    path = tmp_path / "table.csv"
    pl.DataFrame({"town": town, "sex": sex, **numbers, "y": y}).write_csv(path)
    return path


def answer(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


def by_hand(path: Path, groups: dict[str, list[str]]) -> Program:
    """The problem with k = 2, from the encoding that the page of the command line tells of."""
    frame = pl.read_csv(path)
    columns = {f"town={town}": frame["town"] == town for town in ("Bonn", "Oslo", "Rome")}
    columns |= {"sex=m": frame["sex"] == "m"}
    columns |= {name: frame[name] for name in frame.columns[2:-1]}
    X = np.column_stack([np.asarray(column.to_numpy(), float) for column in columns.values()])
    return Program(
        X,
        frame["y"].to_numpy(),
        k=2,
        ridge=0.05,
        fit_intercept=True,
        standardize=True,
        feature_names=list(columns),
        groups=groups,
    )


TOWN = {"town": ["town=Bonn", "town=Oslo", "town=Rome"]}
LAB, X = {"lab": ["lab_1", "lab_2"]}, {"x": ["x_a", "x_b"]}


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        ((), TOWN),
        (("--levels",), {}),
        (("--group-by", "lab_", "--group", "x=x_a, x_b"), TOWN | LAB | X),
        (("--levels", "--group-by", "lab_", "--group-by", "x_"), LAB | X),
        (("--group", "both=town,lab_*"), {"both": TOWN["town"] + LAB["lab"]}),
        (("--group", "south=town=Rome,age"), {"south": ["town=Rome", "age"]}),
    ],
)
def test_the_best_model_of_groups(
    invoke: Invoke, table: Path, given: tuple[str, ...], groups: dict[str, list[str]]
) -> None:
    program = by_hand(table, groups)
    optimum = brute_force(program).value
    found = answer(invoke("solve", table, *READ, "-k", 2, *given, "--exact", "--json"))
    assert found["status"] == "optimal"
    assert found["lower"] <= optimum + 1e-12
    assert found["upper"] == pytest.approx(optimum, rel=1e-6)
    assert found["problem"] == program.describe()
    if not groups:
        assert found["groups"] is found["groups_in"] is found["groups_out"] is None
        assert "at most 2 features" in found["message"]
        return
    assert "at most 2 groups" in found["message"]
    owner = {column: name for name, columns in groups.items() for column in columns}
    assert set(found["groups"]) == {owner.get(name, name) for name in found["features"]}
    assert len(found["groups"]) <= 2
    assert set(found["groups_in"]) <= set(found["groups"])


def test_files_keep_groups(invoke: Invoke, table: Path, tmp_path: Path) -> None:
    model, proof, again = (tmp_path / name for name in ("m.json", "c.json", "d.json"))
    given = (*READ, "-k", 2, "--group-by", "lab_")
    solved = ("--out", model, "--certificate", proof, "--json")
    found = answer(invoke("solve", table, *given, *solved))
    document = json.loads(model.read_text())
    assert document["parameters"]["groups"] == {"lab": ["lab_1", "lab_2"], "town": ["town"]}
    loaded = Certificate.load(proof)
    assert loaded.problem.group_names == ("town", "sex=m", "lab", "x_a", "x_b", "age")
    assert invoke("verify", proof, table).exit_code == 0
    # The model's problem, without an option again; and another, with one.
    certified = answer(invoke("certify", model, table, "--certificate", again, "--json"))
    assert certified["problem"] == found["problem"]
    assert certified["upper"] == pytest.approx(found["upper"], rel=1e-9)
    assert invoke("verify", again, table).exit_code == 0
    single = answer(invoke("certify", model, table, "--levels", "-k", 9, "--json"))
    assert "groups" not in single["problem"]
    assert invoke("predict", model, table).exit_code == 0
    # A table may have another value of a category since: the group is that of the column.
    grown = tmp_path / "grown.csv"
    frame = pl.read_csv(table)
    frame.vstack(frame.head(2).with_columns(town=pl.lit("Turin"))).write_csv(grown)
    problem = answer(invoke("certify", model, grown, "--json"))["problem"]
    assert problem == found["problem"].replace("60 x 9", "62 x 10")
    # A file that says nothing of groups was about single features.
    del document["parameters"]["groups"]
    model.write_text(json.dumps(document))
    assert "groups" not in answer(invoke("certify", model, grown, "-k", 9, "--json"))["problem"]
    document["parameters"]["groups"] = {"lab": "lab_1"}
    model.write_text(json.dumps(document))
    assert "groups.lab" in invoke("certify", model, grown).output.replace("\n", " ")


def test_other_commands_name_groups(invoke: Invoke, table: Path, tmp_path: Path) -> None:
    text = invoke("solve", table, *READ, "-k", 2, "--always", "town").output
    rows = [line.split() for line in text.splitlines() if line.startswith("town=")]
    assert [row[:2] for row in rows] == [[name, "town"] for name in TOWN["town"]]
    assert "2 groups besides the 1 always in" in " ".join(text.split())
    shown = invoke("path", table, *READ, "--ks", "1:2").output
    assert "+town" in shown
    assert "+town=" not in shown
    path = answer(invoke("path", table, *READ, "--json"))
    assert len(path["points"]) == 7  # of 9 columns
    assert path["points"][0]["groups"] == ["town"]
    near = answer(invoke("near", table, *READ, "-k", 2, "--eps", 0.3, "--json"))
    listed = [frozenset(one["groups"]) for one in near["models"]]
    assert len(set(listed)) == len(listed) > 1
    folds = ("--cv", 3, "--ks", "1:3", "--ridges", 0.05, "--json")
    assert len(answer(invoke("solve", table, *READ, *folds))["groups"]) <= 3
    report = tmp_path / "r.html"
    assert invoke("solve", table, *READ, "-k", 2, "--report", report).exit_code == 0
    assert "No model with at most 2 groups" in report.read_text()


def test_groups_of_arrays(invoke: Invoke, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(40, 5))
    y = matrix[:, 1] - matrix[:, 4] + 0.1 * rng.normal(size=40)
    path, proof = tmp_path / "a.npz", tmp_path / "c.json"
    np.savez(path, X=matrix, y=y)
    options = ("-k", 1, "--group", "pair=1,4", "--certificate", proof)
    found = answer(invoke("solve", path, *options, "--json"))
    assert (found["features"], found["groups"]) == ([1, 4], ["pair"])
    assert invoke("verify", proof, path).exit_code == 0


def test_wrong_groups_are_refused(refused: Callable[..., str], table: Path) -> None:
    wrong = {
        ("--group", "lab_1,lab_2"): "must be a name and columns",
        ("--group", "lab="): "must be a name and columns",
        ("--group", "lab=lab_1,lab_3"): "--group lab 'lab_3' is not a column of",
        ("--group", "age=lab_1"): "there is a column 'age', which is not in it",
        ("--group-by", "z_"): "--group-by 'z_': no feature begins so",
        ("--group", "a=x_a", "--group", "a=x_b"): "there is a group 'a' already",
        ("--group", "a=x_a,x_b", "--group-by", "x_"): "'x_a' is in the group 'a' and again in 'x'",
    }
    for given, words in wrong.items():
        assert words in refused("solve", table, *READ, *given)
    assert "always and never both hold" in refused(
        "solve", table, *READ, "--always", "town", "--never", "town=Rome"
    )
