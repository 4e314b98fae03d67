"""Results on disk: complete, the same each time, and nothing half-written."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sparsebounds._support.errors import InputError
from sparsebounds.experiments import Experiment, SmallRidge, interruptible, reproduce
from sparsebounds.experiments.base import Tick


def test_results_are_complete_and_the_same_each_time(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        done = reproduce(SmallRidge(quick=True), tmp_path / name)
        folder = tmp_path / name / "experiment4"
        assert sorted(done.files) == sorted(folder.iterdir())
        contents.append({path.name: path.read_bytes() for path in done.files})
    first, second = contents
    assert set(first) == {"results.csv", "findings.txt", "figure.pdf", "figure.png"}
    assert first == second
    assert first["figure.pdf"].startswith(b"%PDF")
    assert first["figure.png"].startswith(b"\x89PNG")
    assert len(pl.read_csv(first["results.csv"])) == 3
    assert tuple(first["findings.txt"].decode().splitlines()) == done.findings


class Swallows(Experiment):
    """Presses Ctrl-C inside a step that, like relax, answers it with what it has."""

    number, title, steps = "9", "A test", 2

    def run(self, tick: Tick) -> pl.DataFrame:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(5)
        except KeyboardInterrupt:
            pass
        tick()
        raise AssertionError("the tick stops the experiment")

    def draw(self, table: pl.DataFrame) -> dict[str, Any]:
        return {}

    def findings(self, table: pl.DataFrame) -> list[str]:
        return []


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals are the main thread's",
)
def test_ctrl_c_stops_though_a_step_swallows_it(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible() as check:
        reproduce(Swallows(), tmp_path, check)
    assert signal.getsignal(signal.SIGINT) is before
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'sparsebounds\[plot\]'"):
        reproduce(SmallRidge(quick=True), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_drawing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: SmallRidge, table: pl.DataFrame) -> dict[str, Any]:
        raise RuntimeError("no ink")

    monkeypatch.setattr(SmallRidge, "draw", fails)
    with pytest.raises(RuntimeError, match="no ink"):
        reproduce(SmallRidge(quick=True), tmp_path)
    assert list(tmp_path.iterdir()) == []
