"""sparsebounds near: all models nearly as good, in words, in JSON and in the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sparsebounds as sb
from sparsebounds.models import refit

Invoke = Callable[..., Any]


def everyone(path: Path, k: int, eps: float) -> dict[tuple[str, ...], float]:
    """Supports within eps of the best, by trying all."""
    frame = pl.read_csv(path)
    X = frame.drop("score")
    program = sb.Program(X, frame["score"], k=k, fit_intercept=True, standardize=True)
    values: dict[tuple[str, ...], float] = {}
    for size in range(k + 1):
        for chosen in combinations(range(X.width), size):
            model = refit(program, list(chosen))
            values[tuple(X.columns[i] for i in chosen)] = model.value
    best = min(values.values())
    most = best + eps * max(best, program.null)
    return {names: value for names, value in values.items() if value <= most}


def test_all_of_them_are_listed(invoke: Invoke, numbers: Path) -> None:
    options = ("--target", "score", "-k", 3, "--eps", 0.05)
    found = json.loads(invoke("near", numbers, *options, "--json").stdout)
    listed = {tuple(one["features"]): one["objective"] for one in found["models"]}
    assert listed == pytest.approx(everyone(numbers, 3, 0.05), rel=1e-8)
    assert len(listed) > 3
    assert found["complete"]
    assert found["in_every_model"] == ["age", "dose"]
    result = invoke("near", numbers, *options)
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    assert f"{len(listed)} supports are at most 5% of the objective without features above" in text
    assert "it is proved that there are no others." in text
    assert f"age {len(listed)} 100% every one" in text


def test_a_limit_is_said_in_options(invoke: Invoke, numbers: Path) -> None:
    options = ("--target", "score", "-k", 3, "--eps", 0.05, "--max-supports", 2)
    result = invoke("near", numbers, *options)
    text = " ".join(result.output.split())
    assert result.exit_code == 0
    assert "ended early, at --max-supports 2. 2 are listed;" in text
    assert "To have all, lower --eps or raise the limit." in text


def test_in_reports(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    own, other = tmp_path / "near.html", tmp_path / "solve.html"
    options = ("--target", "score", "-k", 2)
    assert invoke("near", numbers, *options, "--eps", 0.3, "--report", own).exit_code == 0
    page = unescape(own.read_text())
    for part in ("Nearly as good", "age, dose", "share of the models", "sparsebounds near"):
        assert part in page
    assert invoke("solve", numbers, *options, "--report", other).exit_code == 0
    assert "One support is at most 1% of the objective without" in unescape(other.read_text())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--eps", 2), "--eps 2.0 must be a number from 0 to below 1, such as 0.01."),
        (("--max-supports", 0), "--max-supports 0 must be"),
        (("--loss", "tukey"), "near_optimal needs a convex loss"),
    ],
)
def test_wrong_use(
    refused: Callable[..., str], numbers: Path, options: tuple[Any, ...], sentence: str
) -> None:
    assert sentence in refused("near", numbers, "--target", "score", *options)
