"""sparsebounds reproduce."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sparsebounds._support.errors import InputError
from sparsebounds.experiments import LeukemiaRank, SmallRidge
from sparsebounds.experiments.base import Tick

Invoke = Callable[..., Any]


def interrupted(self: Any, tick: Tick) -> pl.DataFrame:
    raise KeyboardInterrupt


def missing(self: Any, tick: Tick) -> pl.DataFrame:
    raise InputError("The data are not here; name their folder.")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results without figures, which are most of the work of a small experiment."""
    monkeypatch.setattr(SmallRidge, "draw", lambda self, table: {})


def test_one_experiment(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("reproduce", "4", "--quick", "--out", tmp_path / "made")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "Experiment 4: The ridge in Theorem 2.1" in text
    for sentence in (tmp_path / "made/experiment4/findings.txt").read_text().splitlines():
        assert sentence in text
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [(interrupted, 130, "Interrupted"), (missing, 2, "Error: The data are not here")],
)
def test_what_is_finished_is_kept(
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[..., pl.DataFrame],
    status: int,
    words: str,
) -> None:
    only = {"4": SmallRidge, "3": LeukemiaRank}
    finished = {"results.csv", "findings.txt"}
    monkeypatch.setattr("sparsebounds.experiments.EXPERIMENTS", only)
    monkeypatch.setattr(LeukemiaRank, "run", answer)
    result = invoke("reproduce", "all", "--quick", "--out", tmp_path)
    assert result.exit_code == status
    assert words in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["experiment4"]
    assert {path.name for path in (tmp_path / "experiment4").iterdir()} == finished


@pytest.mark.usefixtures("undrawn")
def test_other_experiments_run_though_one_cannot(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = {"3": LeukemiaRank, "4": SmallRidge}
    monkeypatch.setattr("sparsebounds.experiments.EXPERIMENTS", only)
    monkeypatch.setattr(LeukemiaRank, "run", missing)
    result = invoke("reproduce", "all", "--quick", "--out", tmp_path)
    assert result.exit_code == 2
    assert (tmp_path / "experiment4/results.csv").is_file()


def test_bad_arguments(invoke: Invoke, refused: Callable[..., str], tmp_path: Path) -> None:
    assert invoke("reproduce", "5", "--out", tmp_path).exit_code == 2
    taken = tmp_path / "taken"
    taken.touch()
    assert refused("reproduce", "4", "--out", taken) == (f"--out {taken} is a file; name a folder.")


def never(self: Any, tick: Tick) -> pl.DataFrame:
    raise AssertionError("the work has begun")


def test_folders_are_tried_before_the_work(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (LeukemiaRank, SmallRidge):
        monkeypatch.setattr(kind, "run", never)
    taken = tmp_path / "experiment4"
    taken.touch()
    words = f"Results cannot be written into the folder {taken}: File exists. Name another folder"
    for which in ("4", "all"):
        assert refused("reproduce", which, "--out", tmp_path).startswith(words)
    assert list(tmp_path.iterdir()) == [taken]
    inside = taken / "deeper"
    assert "Not a directory" in refused("reproduce", "4", "--out", inside)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that nobody can write")
def test_a_folder_that_nobody_can_write(refused: Callable[..., str]) -> None:
    assert refused("reproduce", "4", "--out", "/proc").startswith(
        "Results cannot be written into the folder /proc/experiment4: "
    )
