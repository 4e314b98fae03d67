"""--report: the page a command writes, and what it refuses before any work."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

Invoke = Callable[..., Any]


def figures(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', page)
    assert found is not None
    charts: dict[str, Any] = json.loads(found[1])
    return charts


def test_solve_with_held_out_rows(invoke: Invoke, trial: Path) -> None:
    out, proof = trial.with_name("r.html"), trial.with_name("proof.json")
    common = ("--target", "score", "--exclude", "fate,count", "--test", 0.25)
    result = invoke(
        *("solve", trial, *common, "-k", 2, "--report", out, "--certificate", proof, "--json")
    )
    found, page = json.loads(result.stdout), out.read_text()
    text = unescape(page)
    for name, coef in zip(found["features"], found["coef"], strict=True):
        assert name in text
        assert f">{coef:.6g}<" in text
    assert found["message"] in re.sub("<.*?>", "", text)
    assert f"held out ({60 // 4} rows)" in text
    assert f"{found['scores']['test']['R2']:.4g}" in text
    assert f"sparsebounds solve {trial} --target score --exclude fate,count" in text
    assert f"--report {out}" in text
    assert set(figures(page)) == {"observed", "residuals", "histogram", "normal", "band"}
    # The command that the page gives verifies the certificate.
    command = re.search(r"<pre>(sparsebounds verify .*?)</pre>", page)
    assert command is not None
    assert command[1] == f"sparsebounds verify {proof} {trial}"
    assert invoke(*unescape(command[1]).split()[1:]).exit_code == 0


def test_solve_with_folds(invoke: Invoke, trial: Path) -> None:
    out = trial.with_name("r.html")
    options = ("--cv", 3, "--ks", "1:3", "--ridges", "0.05,0.5", "--loss", "logistic")
    result = invoke(
        *("solve", trial, "--target", "fate", "--exclude", "score,count", *options),
        *("--report", out, "--json"),
    )
    found, page = json.loads(result.stdout), out.read_text()
    charts = figures(page)
    assert set(charts) == {"roc", "calibration", "split", "band", "folds"}
    *lines, chosen = charts["folds"]["data"]
    assert [line["name"] for line in lines] == ["ridge = 0.05", "ridge = 0.5"]
    assert all(line["x"] == [1, 2, 3] for line in lines)
    assert chosen["x"] == [len(found["features"])] or len(found["features"]) < chosen["x"][0]
    assert max(y for line in lines for y in line["y"]) == chosen["y"][0]
    assert found["chosen"] in unescape(page)
    band = charts["band"]["data"]
    assert band[0]["x"] == [1, 2, 3]
    at = band[0]["x"].index(chosen["x"][0])
    assert band[0]["y"][at] >= found["lower"]
    assert band[1]["y"][at] <= found["upper"]


@pytest.mark.parametrize("grid", [("--ks", "1:4"), ("--l0s", "1:0.01:4")])
def test_path(invoke: Invoke, trial: Path, grid: tuple[str, str]) -> None:
    out = trial.with_name("r.html")
    result = invoke(
        *("path", trial, "--target", "score", "--exclude", "fate,count", *grid, "--test", 0.2),
        *("--report", out, "--json"),
    )
    found, page = json.loads(result.stdout), out.read_text()
    charts = figures(page)
    assert set(charts) == {"band", "scores", "coefficients", "members"}
    assert charts["band"]["data"][0]["y"] == [point["lower"] for point in found["points"]]
    assert charts["band"]["data"][1]["y"] == [point["upper"] for point in found["points"]]
    assert [line["name"] for line in charts["scores"]["data"]] == [
        "training (48 rows)",
        "held out (12 rows)",
    ]
    assert "sparsebounds path" in page


def test_refused_before_any_work(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing, out = tmp_path / "no.csv", tmp_path / "r.html"
    assert "does not exist" in refused("solve", nothing, "--report", tmp_path / "no" / "r.html")
    assert "is a folder" in refused("path", nothing, "--report", tmp_path)
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.delitem(sys.modules, "plotly.offline", raising=False)
    for command in ("solve", "path"):
        sentence = refused(command, nothing, "--target", "y", "--report", out)
        assert "pip install 'sparsebounds[report]'" in sentence
