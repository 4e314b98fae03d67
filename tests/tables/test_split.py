"""Rows held out: a partition, the same for the same seed, with both classes on both sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds._support.errors import InputError
from sparsebounds.tables import Choice, read_table
from sparsebounds.tables.response import held_out


@given(st.integers(3, 200), st.floats(0.01, 0.99), st.integers(0, 2**32 - 1))
def test_a_partition(n: int, share: float, seed: int) -> None:
    y = np.arange(float(n))
    count = round(share * n)
    if not 1 <= count <= n - 2:
        with pytest.raises(InputError, match="at least 1 and 2 are needed"):
            held_out(y, share, seed)
        return
    train, test = held_out(y, share, seed)
    assert len(test) == count
    assert np.array_equal(np.sort(np.concatenate((train, test))), np.arange(n))
    for part, again in zip((train, test), held_out(y, share, seed), strict=True):
        assert np.array_equal(part, np.sort(part))
        assert np.array_equal(part, again)


def test_classes_keep_their_shares() -> None:
    y = np.array(["no"] * 90 + ["yes"] * 10, dtype=object)
    for seed in range(5):
        train, test = held_out(y, 0.2, seed)
        assert np.count_nonzero(y[test] == "yes") == 2
        assert np.count_nonzero(y[train] == "yes") == 8
    # One row of a class cannot be on both sides.
    assert len(held_out(np.array([0, 0, 0, 0, 1]), 0.4, 0)[1]) == 2


def test_a_table_and_its_parts(tmp_path: Path, rng: np.random.Generator) -> None:
    frame = pl.DataFrame({"a": rng.normal(size=50), "w": rng.uniform(size=50), "y": range(50)})
    path = tmp_path / "t.csv"
    frame.write_csv(path)
    choice = Choice(target="y", weights="w", offset=None, test=0.3, seed=5)
    reading = read_table(path, choice)
    assert reading.held is not None
    for part in (reading.train, reading.held):
        assert np.array_equal(part.X[:, 0], frame["a"].to_numpy()[part.y])
        assert np.array_equal(part.weights, frame["w"].to_numpy()[part.y])
    assert sorted([*reading.train.y, *reading.held.y]) == list(range(50))
    other = read_table(path, choice.changed(seed=6))
    assert not np.array_equal(other.train.y, reading.train.y)
    # The same rows from arrays.
    np.savez(tmp_path / "t.npz", X=frame[["a"]].to_numpy(), y=frame["y"], w=frame["w"])
    arrays = read_table(tmp_path / "t.npz", choice)
    assert np.array_equal(arrays.train.y, reading.train.y)
    np.savez(tmp_path / "t.npz", X=np.ones((4, 1)), y=np.ones(3))
    with pytest.raises(InputError, match="4 rows of X but 3 of y"):
        read_table(tmp_path / "t.npz", Choice(test=0.5))
