"""sparsebounds rank: the rows of rank_bounds, in a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sparsebounds as sb

Invoke = Callable[..., Any]


def test_rows_are_those_of_rank_bounds(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    options = ("--target", "score", "-k", 2, "--ranks", "1:3,6")
    proof = tmp_path / "c.json"
    result = invoke("rank", numbers, *options, "--json", "--certificate", proof)
    assert result.exit_code == 0
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    frame = pl.read_csv(numbers)
    program = sb.Program(
        frame.drop("score"), frame["score"], k=2, fit_intercept=True, standardize=True
    )
    bounds = sb.rank_bounds(program, [1, 2, 3, 6])
    assert [row["rank"] for row in found["rows"]] == [1, 2, 3, 6]
    for row, expected in zip(found["rows"], bounds.rows, strict=True):
        assert row["lower"] == pytest.approx(expected.lower)
        assert row["upper"] == pytest.approx(expected.upper)
        # The certificate's claims are rounded a little further.
        assert found["lower"] >= row["lower"] * (1.0 - 1e-12)
        assert found["upper"] <= row["upper"] * (1.0 + 1e-12)
    assert found["best_rank"] == bounds.best.rank
    assert invoke("verify", proof, numbers, "--target", "score").exit_code == 0
    text = " ".join(invoke("rank", numbers, *options).output.split())
    assert "rank variance kept proved lower bound objective gap" in text
    assert "Of 4 ranks the interval is narrowest at rank" in text


def test_wrong_ranks(refused: Callable[..., str], numbers: Path) -> None:
    common = ("rank", numbers, "--target", "score")
    for text in ("x", "1:", ":3", "1,,2", "1:2:3:4", "1-3"):
        assert "write 1:30, 0:50:5 or 1,2,5" in refused(*common, f"--ranks={text}")
    assert "ranks go from 1 to 6" in refused(*common, "--ranks", "7")
    assert "names no number" in refused(*common, "--ranks", "3:2")
