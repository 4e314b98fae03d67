"""Fingerprints: the same for every storage of the same data, another for other data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds.matrices import DenseMatrix, as_matrix, dense
from sparsebounds.matrices.bits import COLS, ROWS, multipliers
from sparsebounds.program import Program

N, M = 6, 4


def data(seed: int = 0) -> np.ndarray:
    """Entries that float32 holds exactly, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)).astype(np.float32).astype(np.float64)
    X[rng.random((N, M)) < 0.2] = 0.0
    return X


Y = np.array([0.5, -1.0, 2.0, 0.0, 3.0, 0.5])


def fingerprint(X: Any, y: Any = Y, **options: Any) -> str:
    return Program(X, y, k=1, ridge=1.0, **options).fingerprint


def nudged(x: np.ndarray, where: Any) -> np.ndarray:
    """One entry moved by one unit in its last place."""
    x = np.array(x, dtype=np.float64)
    x[where] = np.nextafter(x[where], np.inf)
    return x


STORAGES = {
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "float32 F": lambda X: np.asfortranarray(X, dtype=np.float32),
    "longdouble": lambda X: X.astype(np.longdouble),
    "list": lambda X: X.tolist(),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "float32 csr": lambda X: sp.csr_array(X.astype(np.float32)),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "negative zeros": lambda X: np.where(X == 0, -0.0, X),
    "explicit negative zeros": lambda X: sp.csr_array(
        (np.where(X == 0, -0.0, X).ravel(), np.indices(X.shape).reshape(2, -1)), shape=X.shape
    ),
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("block", [1, 5, 1 << 18])
def test_storage_does_not_matter(storage: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = fingerprint(data())
    monkeypatch.setattr(dense, "BLOCK", block)
    assert fingerprint(STORAGES[storage](data())) == reference


def test_what_means_the_same_is_the_same() -> None:
    X, reference = data(), fingerprint(data())
    assert fingerprint(X, sample_weight=np.ones(N)) == reference
    assert fingerprint(X, offset=np.zeros(N)) == reference
    assert fingerprint(X, offset=np.full(N, -0.0)) == reference
    assert fingerprint(X, np.where(Y == 0, -0.0, Y)) == reference
    assert fingerprint(X, Y.tolist()) == reference
    # Not the problem, only the data.
    assert Program(X, Y, l0=0.1, ball=2.0, fit_intercept=True, never=[0]).fingerprint == reference
    assert Program(X, Y, k=2, ball=2.0, standardize=True).fingerprint == reference
    # A row of weight 0 is no row.
    longer = np.vstack([X, np.full((1, M), 9.0)])
    weights = np.append(np.ones(N), 0.0)
    assert fingerprint(longer, np.append(Y, 7.0), sample_weight=weights) == reference
    # Two labels are -1 and +1.
    labels = np.array([1, -1, 1, 1, -1, -1])
    words = np.where(labels > 0, "yes", "no")
    options: dict[str, Any] = {"k": 1, "ridge": 1.0, "loss": "logistic"}
    assert Program(X, labels, **options).fingerprint == Program(X, words, **options).fingerprint


@given(st.integers(0, N - 1), st.integers(0, M - 1), st.integers(0, 2**32 - 1))
def test_one_entry_by_one_ulp(i: int, j: int, seed: int) -> None:
    X = data(seed)
    assert fingerprint(nudged(X, (i, j))) != fingerprint(X)
    assert fingerprint(sp.csr_array(nudged(X, (i, j)))) != fingerprint(X)


@given(st.integers(0, N - 1), st.integers(0, 2**32 - 1))
def test_response_weights_and_offset_by_one_ulp(i: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, weights, offset = data(), rng.uniform(0.5, 2, N), rng.normal(size=N)
    reference = fingerprint(X, sample_weight=weights, offset=offset)
    assert fingerprint(X, nudged(Y, i), sample_weight=weights, offset=offset) != reference
    assert fingerprint(X, sample_weight=nudged(weights, i), offset=offset) != reference
    assert fingerprint(X, sample_weight=weights, offset=nudged(offset, i)) != reference
    assert fingerprint(X) != reference


@given(
    st.sampled_from(["normal", "signs", "indicators", "constant columns"]),
    st.integers(0, 2**32 - 1),
    st.data(),
)
def test_swapped_rows_or_columns(kind: str, seed: int, draw: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    X = {
        "normal": rng.normal(size=(N, M)),
        "signs": rng.choice([-1.0, 1.0], size=(N, M)),
        "indicators": rng.choice([0.0, 1.0], size=(N, M)),
        "constant columns": np.ones((N, 1)) * rng.normal(size=M),
    }[kind]
    # The response hides nothing: it is the same in every row.
    y = np.ones(N)
    for axis, size in ((0, N), (1, M)):
        i, j = draw.draw(st.permutations(range(size)))[:2]
        order = np.arange(size)
        order[[i, j]] = order[[j, i]]
        swapped = np.take(X, order, axis=axis)
        same = np.array_equal(swapped, X)
        assert (fingerprint(swapped, y) == fingerprint(X, y)) == same


@given(st.integers(0, 2**32 - 1))
def test_changed_signs_and_units(seed: int) -> None:
    """Sums mod 2^64 see an even number of sign bits only because bits_of() folds them."""
    X = np.random.default_rng(seed).normal(size=(N, M))
    reference = fingerprint(X)
    assert fingerprint(-X) != reference
    assert fingerprint(X * [1.0, -1.0, 1.0, 1.0]) != reference
    assert fingerprint(X * np.where(np.arange(N) < 2, -1.0, 1.0)[:, None]) != reference
    two = X.copy()
    two[1, 2], two[4, 0] = -two[1, 2], -two[4, 0]
    assert fingerprint(two) != reference
    for factor in (0.5, 2.0, 4.0, 1024.0):
        assert fingerprint(X * factor) != reference
        assert fingerprint(X * [1.0, factor, 1.0, 1.0]) != reference


def test_other_shapes() -> None:
    X = data()
    seen = {fingerprint(X)}
    seen.add(fingerprint(np.column_stack([X, np.zeros(N)])))
    seen.add(fingerprint(X[:, :3]))
    seen.add(fingerprint(X[:5], Y[:5]))
    seen.add(fingerprint(np.vstack([X, np.zeros(M)]), np.append(Y, 0.0)))
    assert len(seen) == 5


# The checksum itself.


def test_the_checksum_is_the_formula() -> None:
    X = data()
    X[0, 0], X[1, 1] = -0.0, -2.5
    rows = np.stack([multipliers(N, 11), multipliers(N, 13)])
    cols = np.stack([multipliers(M, 12), multipliers(M, 14)])
    totals = [0, 0]
    for s, i, j in np.ndindex(2, N, M):
        bits = int(np.float64(X[i, j] + 0.0).view(np.uint64))
        totals[s] += int(rows[s, i]) * int(cols[s, j]) * (bits ^ (bits >> 32))
    expected = [total % 2**64 for total in totals]
    assert as_matrix(X)[0].checksum(rows, cols).tolist() == expected
    assert as_matrix(sp.csr_array(X))[0].checksum(rows, cols).tolist() == expected


@given(st.integers(1, N - 1), st.integers(1, M - 1), st.integers(0, 2**32 - 1))
def test_the_checksum_adds_up_over_blocks(i: int, j: int, seed: int) -> None:
    X = data(seed)
    rows, cols = multipliers(N, seed)[None], multipliers(M, seed + 1)[None]

    def checksum(r: slice, c: slice) -> int:
        part = X[r, c]
        whole = DenseMatrix(part).checksum(rows[:, r], cols[:, c])
        assert as_matrix(sp.csr_array(part))[0].checksum(rows[:, r], cols[:, c]) == whole
        return int(whole[0])

    everything = slice(None)
    total = checksum(everything, everything)
    assert (checksum(slice(i), everything) + checksum(slice(i, N), everything)) % 2**64 == total
    assert (checksum(everything, slice(j)) + checksum(everything, slice(j, M))) % 2**64 == total


def test_multipliers_are_odd_and_differ() -> None:
    drawn = [multipliers(1000, seed) for seed in ROWS + COLS]
    assert all(np.all(numbers % 2 == 1) for numbers in drawn)
    assert len(np.unique(np.concatenate(drawn))) == 4000
    # Global: the multiplier of index i does not depend on how many there are.
    assert np.array_equal(multipliers(10, ROWS[0]), drawn[0][:10])
