"""Wrong use of tables on the command line, each a sentence with exit code 2, and shared options."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from sparsebounds.cli import app
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._run import command_line
from sparsebounds.tables import Choice, read_table

Invoke = Callable[..., Any]
Refused = Callable[..., str]


def answer(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


# Tables.


def test_one_answer_from_every_kind_of_file(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(numbers)
    frame.write_parquet(tmp_path / "d.parquet")
    frame.write_ipc(tmp_path / "d.feather")
    frame.write_csv(tmp_path / "d.tsv", separator="\t")
    commas = frame.write_csv(separator=";", quote_style="necessary").replace(".", ",")
    (tmp_path / "semicolons.csv").write_text(commas, encoding="utf-8")
    np.savez(
        tmp_path / "d.npz",
        X=frame.drop("score").to_numpy(),
        score=frame["score"],
        feature_names=np.array(frame.columns[:-1]),
    )
    options = ("--target", "score", "-k", 2, "--json")
    expected = answer(invoke("solve", numbers, *options))
    for name in ("d.parquet", "d.feather", "d.tsv", "semicolons.csv", "d.npz"):
        found = answer(invoke("solve", tmp_path / name, *options))
        assert {**found, "seconds": 0, "notes": []} == {**expected, "seconds": 0}


def test_the_proof_of_an_encoded_table(invoke: Invoke, trial: Path, tmp_path: Path) -> None:
    """Text, gaps and rows held out: the same options give the same data, others do not."""
    lines = trial.read_text().splitlines()
    lines[3] = "," + lines[3].split(",", 1)[1]
    data = tmp_path / "gaps.csv"
    data.write_text("\n".join(lines) + "\n")
    read = ("--target", "score", "--exclude", "count", "--one-hot", "--impute", "mean")
    proof, model = tmp_path / "c.json", tmp_path / "m.json"
    saved = ("--certificate", proof, "--out", model)
    found = answer(invoke("solve", data, *read, "--test", 0.25, "-k", 2, *saved, "--json"))
    assert invoke("verify", proof, data, *read, "--test", 0.25).exit_code == 0
    assert invoke("verify", proof, data, *read).exit_code == 0  # what is not said is remembered
    assert invoke("verify", proof, data, *read, "--test", 0.5).exit_code == 1
    assert invoke("verify", proof, data, *read, "--test", 0.25, "--seed", 1).exit_code == 1
    again = answer(invoke("certify", model, data, "--json"))
    assert again["upper"] == pytest.approx(found["upper"], rel=1e-9)
    assert again["problem"] == found["problem"]


def test_truths_and_labels_as_targets(invoke: Invoke, words: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(words)
    truths = tmp_path / "truths.csv"
    frame.with_columns(fate=pl.col("fate") == "dead").write_csv(truths)
    options = ("--target", "fate", "--loss", "logistic", "-k", 2, "--test", 0.2, "--json")
    text, truth = (answer(invoke("solve", path, *options)) for path in (words, truths))
    assert text["classes"] == ["alive", "dead"]
    assert truth["classes"] == [False, True]
    assert truth["coef"] == text["coef"]
    assert truth["scores"] == text["scores"]
    assert set(text["scores"]["test"]) == {"AUC", "accuracy", "log-loss"}


def test_scores_that_suit_the_loss(invoke: Invoke, trial: Path) -> None:
    common = ("solve", trial, "-k", 2, "--exclude", "fate", "--test", 0.2)
    text = " ".join(invoke(*common, "--target", "score").stdout.split())
    assert "score training (48 rows) held out (12 rows) R2" in text
    for loss, names in (("huber", {"R2", "RMSE", "MAE"}), ("poisson", {"deviance", "D2"})):
        found = answer(invoke(*common, "--target", "count", "--loss", loss, "--json"))
        assert set(found["scores"]["test"]) == names
    assert answer(invoke(*common[:-2], "--target", "score", "--json"))["scores"] is None


def test_rows_of_weight_zero_are_not_scored(invoke: Invoke, trial: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(trial).drop("fate")
    common = ("--target", "score", "--weights", "count", "-k", 2, "--test", 0.2, "--json")
    marked = tmp_path / "marked.csv"
    reading = read_table(trial, Choice(target="score", exclude=("fate",), test=0.2))
    assert reading.held is not None
    out = frame["score"].is_in(reading.held.y.tolist())
    frame.with_columns(count=pl.when(out).then(0.0).otherwise(1.0)).write_csv(marked)
    scores = answer(invoke("solve", marked, *common))["scores"]
    assert scores["train"]["R2"] > 0.5
    assert scores["test"] == {}
    assert "nan" in invoke("solve", marked, *common[:-1]).stdout


# Wrong use.


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("", (), "is empty."),
        ("a,b,y\n", (), "has a header but no rows."),
        ("a,b,y\n1,2,3\n", (), "The data have one row; a model needs two or more."),
        ("a,a,y\n1,2,3\n4,5,6\n", (), "has more than one column named 'a'"),
        ("a,b,y\n1,2,3\n4,5\n", (), "line 3 has 2 fields, but the header 3."),
        ("a,b,y\n1,2,3\n4,5,6,7\n", (), "line 3 has 4 fields, but the header 3."),
        ("a,b,y\n1,2,3\n4,5,3\n", (), "The target 'y' is 3 in every row: there is nothing"),
        ("a,b,y\n1,2,p\n4,5,p\n", ("--loss", "logistic"), "The target 'y' is 'p' in every row"),
        (
            "a,b,y\n1,2,3\n4,5,6.5\n7,8,9\n",
            ("--loss", "logistic"),
            "3 classes (3.0, 6.5, 9.0)",
        ),
        ("a,b,y\n1,2,p\n4,5,q\n", (), "needs numbers; pass --loss logistic."),
        (
            "a,b,y\n1,2,p\n4,5,q\n7,8,r\n",
            (),
            "needs numbers; pass --loss logistic for a model of each of them against",
        ),
        ("a,b,y\nu,v,3\nw,x,4\n", (), "not numbers: 'a' (text, 2 values), 'b' (text, 2 values)"),
        ("a,b,y\n1,2,3\n4,inf,6\n", (), "has infinite values, or values beyond 1e+150: 'b' (1)"),
        ("a,b,y\n1,NaN,3\n4,5,6\n", (), "has missing values: 'b' (1)"),
        ("a,b,z\n1,2,3\n4,5,6\n", (), "--target 'y' is not a column of"),
        ("a,b,y\n1,2,3\n4,5,6\n", ("--features", "a,y"), "--features holds 'y', which is the"),
        ("a,b,y\n1,2,3\n4,5,6\n", ("--impute", "modus"), "must be median or mean."),
        ("a,b,y\n1,2,3\n4,5,6\n", ("--test", 0.9), "at least 1 and 2 are needed."),
        ("a,b,y\n1,2,3\n4,5,6\n", ("--loss", "possion"), "Did you mean 'poisson'?"),
        ("a,b,w,y\n1,2,u,3\n4,5,v,6\n", ("--weights", "w"), "Column 'w' of"),
        ("day,b,y\n2024-01-02,2,3\n2024-01-03,5,6\n", ("--one-hot",), "dates or times in 'day'"),
    ],
)
def test_tables_that_cannot_be_used(
    refused: Refused, tmp_path: Path, content: str, options: tuple[Any, ...], sentence: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(content)
    for command in ("solve", "rank"):
        assert sentence in refused(command, path, "--target", "y", *options)


def test_a_constant_target_may_have_an_offset(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,o,y\n1,0.5,1\n2,0.1,1\n4,0.7,1\n")
    options = ("--target", "y", "--loss", "poisson", "--json")
    assert answer(invoke("solve", path, *options, "--offset", "o"))["features"] == ["a"]
    assert answer(invoke("solve", path, *options, "--no-intercept"))["status"]


def test_notes_go_to_standard_error(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes("größe;y\n1,5;2\n2,5;3\n3,5;5\n;7\n".encode("latin-1"))
    result = invoke("solve", path, "--target", "y", "--drop-missing", "--json")
    assert answer(result)["features"] == ["größe"]
    notes = " ".join(result.stderr.split())
    for note in (
        "not UTF-8",
        "with decimal commas.",
        "1 row with missing values left out: 'größe' (1).",
    ):
        assert note in notes


# Options.


@dataclass(frozen=True)
class Pair:
    """Two options."""

    first: Annotated[int, typer.Option(help="One.")] = 1
    second: Annotated[str | None, typer.Option(help="Two.")] = None


def test_groups_of_options() -> None:
    small = typer.Typer()

    @small.command()
    @grouped
    def show(
        context: typer.Context,
        name: str,
        pair: Pair,
        loud: bool = False,
        many: Annotated[list[str] | None, typer.Option()] = None,
    ) -> None:
        """Shows."""
        print(name, pair, loud)
        print(command_line(context))

    assert list(signature(show).parameters) == [
        "context",
        "name",
        "first",
        "second",
        "loud",
        "many",
    ]
    words = ["a b", "--second", "x", "--many", "p q", "--many", "r", "--no-loud"]
    done = CliRunner().invoke(small, words, prog_name="show")
    assert done.stdout.splitlines() == [
        "a b Pair(first=1, second='x') False",
        "show 'a b' --second x --no-loud --many 'p q' --many r",
    ]
    assert "--first" in CliRunner().invoke(small, ["--help"]).stdout


def test_unknown_words_get_near_ones(invoke: Invoke, numbers: Path) -> None:
    assert "solve" in invoke("slove").stderr
    assert "--target" in invoke("solve", numbers, "--traget", "score").stderr


def test_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell asks for when the tab key is pressed."""
    monkeypatch.setenv("_SPARSEBOUNDS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "sparsebounds solve d.csv --loss s")
    monkeypatch.setenv("COMP_CWORD", "4")
    done = CliRunner().invoke(app, [], prog_name="sparsebounds")
    assert {"squared", "squared_hinge"} <= set(done.stdout.split())
    assert "logistic" not in done.stdout


# A look at the columns.


def test_twins_on_the_command_line(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    """One of them stays, a sentence says so everywhere, and files know the columns by name."""
    frame = pl.read_csv(numbers)
    data = tmp_path / "twins.csv"
    frame.with_columns(years=pl.col("age"), pulse=pl.lit(3)).write_csv(data)
    proof, model, page = tmp_path / "c.json", tmp_path / "m.json", tmp_path / "r.html"
    options = ("--target", "score", "-k", 2, "--json")
    result = invoke(
        "solve", data, *options, "--certificate", proof, "--out", model, "--report", page
    )
    found = answer(result)
    sentences = [
        "Left out, as another column says the same: 'years' (equals 'age'). --keep-twins keeps it.",
        "The same value in every row, which explains nothing: 'pulse' (3).",
    ]
    assert found["notes"] == sentences
    written = html.unescape(page.read_text(encoding="utf-8"))
    for sentence in sentences:
        assert sentence in " ".join(result.stderr.split())
        assert sentence in written
    alone = frame.with_columns(pulse=pl.lit(3))
    alone.write_csv(tmp_path / "alone.csv")
    expected = answer(invoke("solve", tmp_path / "alone.csv", *options))
    assert found["coef"] == expected["coef"]
    assert found["lower"] == expected["lower"]
    assert invoke("verify", proof, data, "--target", "score").exit_code == 0
    # Another table, in which other columns are twins, is read by the same names.
    frame.with_columns(years=pl.col("dose"), weight=pl.col("age")).write_csv(data)
    again = answer(invoke("certify", model, data, "--json"))
    assert again["nonzeros"] == 2
    assert "years" not in json.loads(model.read_text())["features"]
    frame.with_columns(years=pl.col("age")).write_csv(data)
    # Who asks for one of them by name has it.
    assert "years" in answer(invoke("solve", data, *options, "--always", "years"))["features"]
    points = answer(invoke("path", data, "--target", "score", "--ks", "1", "--json"))
    assert points["notes"] == sentences[:1]


def test_a_certificate_from_before_twins_were_left_out(
    invoke: Invoke, numbers: Path, tmp_path: Path
) -> None:
    data, proof = tmp_path / "twins.csv", tmp_path / "c.json"
    pl.read_csv(numbers).with_columns(years=pl.col("age")).write_csv(data)
    read = ("--target", "score")
    result = invoke("solve", data, *read, "-k", 1, "--keep-twins", "--certificate", proof)
    assert result.exit_code in (0, 3)
    assert invoke("verify", proof, data, *read, "--keep-twins").exit_code == 0
    assert invoke("verify", proof, data, *read).exit_code == 0


def test_a_target_with_cells_that_are_no_numbers(refused: Refused, tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{'<0.5' if i % 10 == 0 else i}" for i in range(40))
    (tmp_path / "d.csv").write_text(f"a,sev\n{rows}\n")
    assert refused("solve", tmp_path / "d.csv", "--target", "sev") == (
        "The target 'sev' must hold numbers, but has '<0.5' in 4 rows: write numbers there, or "
        "nothing, and pass --drop-missing."
    )


def test_options_that_tell_twins_apart_keep_them(invoke: Invoke, tmp_path: Path) -> None:
    """The model is the best of the user's table, whatever was asked of it."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 200))
    noise = 0.1 * rng.normal(size=200)
    data, model = tmp_path / "t.csv", tmp_path / "m.csv"
    columns = {"x": x, "mirror": -x, "large": 1000 * x, "above": x + 5, "z": z, "b_x": x}
    for target, wanted, options in (
        (-x, "mirror", ["--nonnegative"]),
        (x, "large", ["--no-standardize"]),
        (5 + x, "above", ["--no-intercept"]),
        (x + z, "b_x", ["--group", "a=x,mirror", "--group", "b=b_x,z"]),
        (x, "mirror", ["--never", "x"]),
    ):
        pl.DataFrame(columns | {"y": target + noise}).write_csv(data)
        asked = ("solve", data, "--target", "y", "-k", 1, "--ridge", 0.1, "--json", *options)
        found, kept = answer(invoke(*asked)), answer(invoke(*asked, "--keep-twins"))
        assert found["upper"] == pytest.approx(kept["upper"], rel=1e-9)
        assert wanted in found["features"]
    model.write_text("feature,coef\nmirror,1\n")
    assert invoke("certify", model, data, "--target", "y", "-k", 1).exit_code == 0
