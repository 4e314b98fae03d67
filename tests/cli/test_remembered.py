"""A certificate knows how its table was read: `verify c.json data.csv` needs no option again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sparsebounds.certificates import Certificate
from sparsebounds.certificates.codec import _checksum

Invoke = Callable[..., Any]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A table with text, gaps, weights, an offset, and names that options could misread."""
    rng = np.random.default_rng(3)
    columns = {
        " padded ": rng.normal(size=50),
        "a, b": rng.normal(size=50),
        "lab_*": rng.normal(size=50),
        "lab_1": rng.normal(size=50),
        "site": rng.choice(["north", "south", "west"], 50),
        "ward": rng.integers(1, 4, 50),
        "count": rng.uniform(0.5, 2.0, 50),
        "start": rng.normal(size=50),
        "secret": rng.normal(size=50),
    }
    y = columns["lab_1"] + (columns["site"] == "west") + 0.2 * rng.normal(size=50)
    frame = pl.DataFrame(columns | {"days": y})
    gaps = pl.when(pl.col("lab_1") > 1.2).then(None).otherwise(pl.col("lab_1"))
    path = tmp_path / "mixed.csv"
    frame.with_columns(gaps.alias("lab_1")).write_csv(path)
    return path


READ = {
    "--target": "days",
    "--exclude": "secret",
    "--weights": "count",
    "--offset": "start",
    "--categorical": "ward",
    "--impute": "mean",
    "--test": 0.2,
    "--seed": 5,
}
OPTIONS = [word for pair in READ.items() for word in pair] + ["--one-hot", "-k", 2]


def test_verify_needs_no_option_again(invoke: Invoke, mixed: Path, tmp_path: Path) -> None:
    proof, model, proofs = tmp_path / "c.json", tmp_path / "m.json", tmp_path / "proofs"
    saved = ("--certificate", proof, "--out", model)
    assert invoke("solve", mixed, *OPTIONS, *saved).exit_code == 0
    result = invoke("verify", proof, mixed)
    assert (result.exit_code, result.stdout[:9]) == (0, "Verified:")
    # It says what it read, because a proof is about that.
    note = " ".join(result.stderr.split())
    assert note.startswith("Read as the certificate says: --target days; --features ")
    for part in ("--weights count", "--offset start", "--impute mean", "--test 0.2", "--seed 5"):
        assert part in note
    # The other commands that prove something.
    assert invoke("certify", model, mixed, "--certificate", tmp_path / "d.json").exit_code == 0
    assert invoke("verify", tmp_path / "d.json", mixed).exit_code == 0
    options = (*OPTIONS[:-2], "--ks", "1:2", "--certificates", proofs)
    assert invoke("path", mixed, *options).exit_code == 0
    assert invoke("verify", proofs / "k=2.json", mixed).exit_code == 0
    ranked = tmp_path / "rank.json"
    assert invoke("rank", mixed, *OPTIONS, "--certificate", ranked).exit_code == 0
    assert invoke("verify", ranked, mixed).exit_code == 0
    # With the options typed again, as before.
    assert invoke("verify", proof, mixed, *OPTIONS[:-2]).exit_code == 0


def test_a_table_that_has_grown_and_one_that_changed(
    invoke: Invoke, mixed: Path, tmp_path: Path
) -> None:
    proof = tmp_path / "c.json"
    assert invoke("solve", mixed, *OPTIONS, "--certificate", proof).exit_code == 0
    frame = pl.read_csv(mixed)
    grown, changed = tmp_path / "grown.csv", tmp_path / "changed.csv"
    frame.with_columns(later=pl.lit("text")).write_csv(grown)
    assert invoke("verify", proof, grown).exit_code == 0
    frame.with_columns(pl.col("days") + 1e-9).write_csv(changed)
    assert invoke("verify", proof, changed).exit_code == 1
    # An option takes the place of what the certificate says.
    assert invoke("verify", proof, mixed, "--seed", 6).exit_code == 1


def test_arrays(invoke: Invoke, mixed: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X, outcome, mass = rng.normal(size=(30, 4)), rng.normal(size=30), rng.uniform(1, 2, 30)
    data, proof = tmp_path / "d.npz", tmp_path / "c.json"
    np.savez(data, X=X, outcome=outcome, mass=mass)
    read = ("--target", "outcome", "--weights", "mass", "--test", 0.3)
    assert invoke("solve", data, *read, "-k", 2, "--certificate", proof).exit_code == 0
    assert invoke("verify", proof, data).exit_code == 0
    # What a certificate says of a table is not asked of arrays, whose names are their own.
    assert invoke("solve", mixed, *OPTIONS, "--certificate", proof).exit_code == 0
    result = invoke("verify", proof, data, "--target", "outcome")
    assert result.exit_code == 1


def test_what_is_wrong_in_the_record_is_said(
    invoke: Invoke, refused: Callable[..., str], mixed: Path, tmp_path: Path
) -> None:
    proof = tmp_path / "c.json"
    invoke("solve", mixed, *OPTIONS, "--certificate", proof)
    assert Certificate.load(proof).table is not None
    for table, sentence in (
        ({}, "table.choice is missing."),
        ({"choice": {"target": 3}}, "table.choice.target is of the wrong kind."),
        ({"choice": {"later": 3}}, "table.choice.later is not known here; update sparsebounds"),
        ([], "table must be an object."),
    ):
        document = json.loads(proof.read_text()) | {"table": table}
        document["sha256"] = _checksum(document)
        other = tmp_path / "other.json"
        other.write_text(json.dumps(document))
        assert sentence in refused("verify", other, mixed)
