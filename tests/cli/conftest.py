"""Running commands in this process, and data in files for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from sparsebounds.cli import app

Invoke = Callable[..., Any]


@pytest.fixture
def invoke() -> Invoke:
    """Runs a command; whatever happens, nobody sees a traceback."""

    def run(*arguments: Any) -> Any:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def refused(invoke: Invoke) -> Callable[..., str]:
    """The sentence of an input error: exit code 2, on standard error, and nothing else."""

    def run(*arguments: Any) -> str:
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        sentence = " ".join(result.output.split())
        assert sentence.startswith("Error: ")
        return sentence.removeprefix("Error: ")

    return run


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """A CSV of 60 patients: six features, two of which count; the response as number and word."""
    rng = np.random.default_rng(7)
    columns = {name: rng.normal(size=60) for name in ("age", "dose", "weight", "pulse", "bmi")}
    columns["age"] = 50 + 10 * columns["age"]
    columns["a, b"] = rng.normal(size=60)
    score = 0.2 * (columns["age"] - 50) - 1.5 * columns["dose"] + 0.3 * rng.normal(size=60)
    extra = {
        "score": score,
        "fate": np.where(score + rng.normal(size=60) > 0, "alive", "dead"),
        "count": rng.uniform(0.5, 2.0, size=60),
    }
    path = tmp_path / "trial.csv"
    pl.DataFrame(columns | extra).write_csv(path)
    return path


@pytest.fixture
def numbers(trial: Path) -> Path:
    """The trial's features and the response `score`."""
    path = trial.with_name("numbers.csv")
    pl.read_csv(trial).drop("fate", "count").write_csv(path)
    return path


@pytest.fixture
def words(trial: Path) -> Path:
    """The trial's features and the response `fate`."""
    path = trial.with_name("words.csv")
    pl.read_csv(trial).drop("score", "count").write_csv(path)
    return path
