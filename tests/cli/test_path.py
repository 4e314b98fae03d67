"""sparsebounds path: a table of models, JSON, a picture, proofs that verify, and sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import sparsebounds as sb
from sparsebounds.cli import _output
from sparsebounds.cli._grids import prices, sizes

Invoke = Callable[..., Any]
FEATURES = ["age", "dose", "weight", "pulse", "bmi", "a, b"]


def test_the_table(invoke: Invoke, numbers: Path) -> None:
    result = invoke("path", numbers, "--target", "score", "--ks", "0:3")
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    assert "squared loss on 60 x 6 data with at most k nonzero coefficients, ridge=0.129" in text
    assert "+age" in text
    assert "+dose" in text
    assert "Every point of the grid was done. At each point the best possible" in text
    assert max(map(len, result.stdout.splitlines())) <= 80
    stopped = invoke("path", numbers, "--target", "score", "--stop", 0.1, "--tol", 0.9)
    assert stopped.exit_code == 0
    assert "Stopped early: no model with up to 6 features is better" in " ".join(
        stopped.output.split()
    )


def test_json_is_what_path_finds(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    folder = tmp_path / "proofs"
    options = ("--target", "score", "--l0s", "1:0.01:4", "--certificates", folder, "--json")
    result = invoke("path", numbers, *options)
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    frame = pl.read_csv(numbers)
    path = sb.path(
        frame[FEATURES],
        frame["score"],
        l0s=prices("--l0s", "1:0.01:4"),
        fit_intercept=True,
        standardize=True,
    )
    assert found["complete"]
    for ours, point in zip(found["points"], path, strict=True):
        assert ours["l0"] == point.l0
        assert (ours["lower"], ours["upper"]) == (point.lower, point.upper)
        assert ours["features"] == [FEATURES[column] for column in point.support]
    assert len(list(folder.iterdir())) == 4
    for proof in folder.iterdir():
        assert invoke("verify", proof, numbers, "--target", "score").exit_code == 0


def test_a_picture(invoke: Invoke, words: Path, tmp_path: Path) -> None:
    picture = tmp_path / "path.png"
    options = ("--target", "fate", "--loss", "logistic", "--ks", "1,3", "--plot", picture)
    assert invoke("path", words, *options).exit_code == 0
    assert invoke("path", words, *options, "--tol", 1e-12, "--require-optimal").exit_code == 3
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_progress_on_a_terminal(
    invoke: Invoke, numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("path", numbers, "--target", "score", "--ks", "1:2", "--json")
    assert invoke(*command).stderr == ""
    terminal = Console(stderr=True, force_terminal=True, force_interactive=True)
    monkeypatch.setattr(_output, "errors", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert "Path" in invoke(*command).stderr


def test_grids() -> None:
    assert sizes("--ks", "1:20") == list(range(1, 21))
    assert sizes("--ks", "1:3") == [1, 2, 3]
    assert sizes("--ks", "0:10:5, 7") == [0, 5, 10, 7]
    assert prices("--l0s", "1, 0.5") == [1.0, 0.5]
    assert prices("--l0s", "1:0.01:3") == pytest.approx([1.0, 0.1, 0.01])
    assert len(prices("--l0s", "1:0.01")) == 20


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--ks", "1:3", "--l0s", "1"), "Both --ks and --l0s were given; pass only one of them."),
        (("--ks", "a"), "--ks 'a': write 1:30, 0:50:5 or 1,2,5, with whole numbers."),
        (("--ks", "1:2:3:4"), "--ks '1:2:3:4': write 1:30"),
        (("--ks", "5:1"), "--ks '5:1': 5:1 names no number."),
        (("--ks", "1:5:0"), "--ks '1:5:0': 1:5:0 names no number."),
        (("--l0s", "0"), "--l0s '0': write 1:0.001:30 or 1,0.1,0.01"),
        (("--l0s", "x:1"), "--l0s 'x:1': write 1:0.001:30"),
        (("--stop", 3), "--stop 3.0 must be a number between 0 and 1"),
        (
            ("--plot", "/nowhere/p.png"),
            "--plot /nowhere/p.png cannot be written: the folder /nowhere does not exist",
        ),
        (("--certificates", "/dev/null"), "--certificates /dev/null is a file; name a folder."),
        (("--loss", "hinge"), "--loss 'hinge' is not a loss"),
    ],
)
def test_wrong_options(
    refused: Callable[..., str], numbers: Path, options: tuple[Any, ...], sentence: str
) -> None:
    assert sentence in refused("path", numbers, "--target", "score", *options)


def test_a_path_goes_on_from_its_checkpoint(
    invoke: Invoke, refused: Callable[..., str], numbers: Path, tmp_path: Path
) -> None:
    file = tmp_path / "path.npz"
    asked = ("path", numbers, "--target", "score", "--ks", "1:4", "--json")
    whole = json.loads(invoke(*asked).stdout)
    first = json.loads(invoke(*asked, "--checkpoint", file, "--time-limit", 1e-9).stdout)
    assert not first["complete"]
    for _ in range(2):  # then from a finished one
        found = json.loads(invoke(*asked, "--checkpoint", file).stdout)
        for ours, theirs in zip(found["points"], whole["points"], strict=True):
            assert ours | {"seconds": 0.0} == theirs | {"seconds": 0.0}
    assert file.exists()
    sentence = refused(*asked, "--checkpoint", file, "--ridge", 0.2)
    assert "belongs to a path of another problem on these data; name another file" in sentence
    assert "does not exist" in refused(*asked, "--checkpoint", tmp_path / "no" / "path.npz")
