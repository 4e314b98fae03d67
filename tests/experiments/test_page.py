"""experiments/README.md: what it states is what the tables beside it show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sparsebounds.experiments import EXPERIMENTS
from sparsebounds.experiments.base import columns
from sparsebounds.experiments.experiment_2 import PRICES, SCALES
from sparsebounds.experiments.ranks import widths

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
PAGE = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())


def table_of(number: str) -> pl.DataFrame:
    path = FOLDER / f"experiment{number}" / "results.csv"
    return pl.read_csv(path, infer_schema_length=None)


@pytest.mark.parametrize("number", EXPERIMENTS)
def test_the_page_states_the_findings_of_the_table(number: str) -> None:
    findings = EXPERIMENTS[number]().findings(table_of(number))
    saved = (FOLDER / f"experiment{number}" / "findings.txt").read_text(encoding="utf-8")
    assert saved.splitlines() == findings
    missing = [sentence for sentence in findings if sentence not in PAGE]
    assert not missing


@pytest.mark.parametrize("number", EXPERIMENTS)
def test_the_page_describes_every_column_and_shows_every_figure(number: str) -> None:
    missing = [name for name in table_of(number).columns if f"`{name}`" not in PAGE]
    assert not missing
    folder = FOLDER / f"experiment{number}"
    figures = sorted(folder.glob("*.png"))
    assert figures
    for path in figures:
        assert f"{folder.name}/{path.name}" in PAGE
        assert path.with_suffix(".pdf").is_file()


def test_ours_is_never_wider_and_strictly_narrower_where_something_was_left_out() -> None:
    parts = [columns(table_of("3"))]
    parts += [columns(table_of("2"), data=name, l0=price) for name in SCALES for price in PRICES]
    assert [len(part["rank"]) for part in parts] == [72] + [100] * 6
    for part in parts:
        valid, ours = widths(part)
        assert np.all(ours <= valid)
        assert np.all((ours < valid)[~part["full_rank"]])
        assert np.all(part["lower"] >= part["stated_lower"])
