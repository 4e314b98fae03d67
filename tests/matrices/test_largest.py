"""Sums of the largest terms in each row: the same on every kind of matrix, in one pass."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import array_api_strict
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from sparsebounds._support.rounding import U
from sparsebounds.matrices import (
    DenseMatrix,
    DeviceMatrix,
    LowRankMatrix,
    Matrix,
    SparseMatrix,
    StandardizedMatrix,
)
from sparsebounds.matrices.blocks import BlockMatrix
from sparsebounds.matrices.dask import DaskMatrix
from sparsebounds.matrices.largest import RowSums, RowTerms
from sparsebounds.matrices.storage import MappedStorage
from sparsebounds.matrices.stored import StoredMatrix

N, M = 23, 41


def low_rank() -> tuple[np.ndarray, np.ndarray]:
    """Small integers: products and sums of them are exact."""
    rng = np.random.default_rng(0)
    return tuple(rng.integers(-4, 5, size=shape).astype(float) for shape in ((N, 3), (3, M)))


def entries() -> np.ndarray:
    left, right = low_rank()
    return left @ right


def mapped(order: Any) -> Callable[[np.ndarray, Path], Matrix]:
    def make(X: np.ndarray, folder: Path) -> Matrix:
        np.save(folder / "X.npy", np.asarray(X, order=order))
        return StoredMatrix(MappedStorage(np.load(folder / "X.npy", mmap_mode="r")), 1 << 11)

    return make


def chunked(rows: int, cols: int) -> Callable[[np.ndarray, Path], Matrix]:
    return lambda X, _: DaskMatrix(da.from_array(X, chunks=(rows, cols)), cache=1 << 10)


def from_torch(X: np.ndarray, _: Path) -> Matrix:
    torch = pytest.importorskip("torch")
    return DeviceMatrix(torch.asarray(X))


KINDS: dict[str, Callable[[np.ndarray, Path], Matrix]] = {
    "dense": lambda X, _: DenseMatrix(X),
    "dense float32": lambda X, _: DenseMatrix(np.asfortranarray(X, dtype=np.float32)),
    "sparse": lambda X, _: SparseMatrix(sp.csr_array(X)),
    "low rank": lambda X, _: LowRankMatrix(*low_rank()),
    "strict": lambda X, _: DeviceMatrix(array_api_strict.asarray(X)),
    "torch": from_torch,
    "memmap C": mapped("C"),
    "memmap F": mapped("F"),
    "dask rows": chunked(5, M),
    "dask columns": chunked(N, 6),
    "dask tiles": chunked(7, 9),
}


def asked(seed: int, most: int | None) -> RowTerms:
    rng = np.random.default_rng(seed)
    role = rng.integers(0, 3, size=M)
    role[:12] = 0  # whole blocks that do not matter
    return RowTerms(
        rng.normal(size=M),
        rng.uniform(0.0, 0.3, size=M),
        rng.uniform(0.5, 2.0, size=M),
        role == 1,
        role == 2,
        most,
    )


def by_sorting(X: np.ndarray, asked: RowTerms) -> tuple[np.ndarray, np.ndarray]:
    """The sums, and those of the magnitudes |x_ij c_j| of columns that are always in."""
    shift, slack = X * asked.center, np.abs(X) * asked.error
    terms = (shift + slack, slack - shift, X * X / asked.curvature)
    most = M if asked.most is None else asked.most
    sums = [
        term[:, asked.always].sum(axis=1)
        + np.sort(np.maximum(term[:, asked.chosen], 0.0), axis=1)[:, ::-1][:, :most].sum(axis=1)
        for term in terms
    ]
    return np.stack(sums), np.abs(shift[:, asked.always]).sum(axis=1)


@pytest.mark.parametrize("standardized", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_matrix(kind: str, standardized: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = entries()
    matrix = KINDS[kind](X, tmp_path)
    for _ in range(standardized):
        center, scale = rng.normal(size=M), rng.uniform(0.5, 2.0, size=M)
        matrix, X = StandardizedMatrix(matrix, center, scale), (X - center) / scale
    for seed, most in enumerate((0, 1, 4, M, None)):
        terms = asked(seed, most)
        before = matrix.passes
        found = matrix.largest(terms)
        assert matrix.passes - before <= 1.0 + 1e-12
        sums, magnitudes = by_sorting(X, terms)
        np.testing.assert_allclose(found.sums, sums, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(found.fixed[3], magnitudes, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kind", ["dense", "memmap C", "memmap F", "dask rows", "dask tiles"])
def test_sums_err_by_as_many_roundings_as_terms(kind: str, tmp_path: Path) -> None:
    """Against fractions, on columns of all scales: what the slack of a box is made for."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, M)) * 10.0 ** rng.uniform(-8, 8, size=M)
    matrix = KINDS[kind](X, tmp_path)
    for seed, most in enumerate((1, 5, None)):
        terms = asked(seed, most)
        found = matrix.largest(terms).sums
        for i in range(N):
            for t in range(3):
                exact, size = _exact_sum(X[i], terms, t)
                assert abs(Fraction(float(found[t, i])) - exact) <= (M + 8) * Fraction(U) * size


def _exact_sum(x: np.ndarray, asked: RowTerms, which: int) -> tuple[Fraction, Fraction]:
    """One row's exact sum of one of the terms, and the magnitudes that went into it."""
    values, sizes = [], []
    for j in range(M):
        entry, c, e, r = (
            Fraction(float(v)) for v in (x[j], asked.center[j], asked.error[j], asked.curvature[j])
        )
        signed = (entry * c, -entry * c, entry * entry / r)[which]
        slack = abs(entry) * e if which < 2 else 0
        values.append(signed + slack)
        sizes.append(abs(signed) + slack)
    inside, chosen = np.flatnonzero(asked.always), np.flatnonzero(asked.chosen)
    positive = sorted((max(values[j], Fraction(0)) for j in chosen), reverse=True)
    largest = sorted((sizes[j] for j in chosen), reverse=True)
    most = M if asked.most is None else asked.most
    total = sum((values[j] for j in inside), Fraction(0)) + sum(positive[:most])
    return total, sum((sizes[j] for j in inside), Fraction(0)) + sum(largest[:most])


@pytest.mark.parametrize("kind", ["dense", "memmap C", "dask columns"])
def test_what_is_not_a_number_shows(kind: str, tmp_path: Path) -> None:
    """An overflow on the way must not vanish among the largest: the row proves nothing."""
    X = entries()
    X[3, 30] = 1e200
    terms = asked(0, 2)
    center = terms.center.copy()
    center[30] = np.inf
    every = np.ones(M, dtype=np.bool_)
    terms = RowTerms(center, terms.error, terms.curvature, ~every, every, 2)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # Threads of dask before 2026.8 do not know of `errstate`.
        warnings.simplefilter("ignore", RuntimeWarning)
        sums = KINDS[kind](X, tmp_path).largest(terms).sums
    assert not np.any(np.isfinite(sums[0][X[:, 30] >= 0]))
    assert np.isinf(sums[2, 3])


def test_columns_in_the_cache_are_not_read_again() -> None:
    X = entries()
    matrix = DaskMatrix(da.from_array(X, chunks=(5, M)), cache=8 * N * M)
    terms = asked(0, 3)
    matrix.columns(terms.used)
    before = matrix.passes
    np.testing.assert_allclose(matrix.largest(terms).sums, by_sorting(X, terms)[0], rtol=1e-13)
    assert matrix.passes == before


def test_rows_that_are_one_block_send_their_sums_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[RowSums] = []
    fold = DaskMatrix.fold

    def listening(self: DaskMatrix, *args: Any) -> Any:
        for i, part in fold(self, *args):
            found.append(part)
            yield i, part

    monkeypatch.setattr(DaskMatrix, "fold", listening)
    for chunks, kept in (((5, M), 1), ((N, 6), 4)):
        found.clear()
        DaskMatrix(da.from_array(entries(), chunks=chunks)).largest(asked(0, 4))
        assert {part.kept.shape[2] for part in found} == {kept}


def test_terms_travel() -> None:
    terms = asked(0, 3).below(np.zeros(M), np.ones(M))
    again = pickle.loads(pickle.dumps(terms))
    assert np.array_equal(again.center, terms.center)
    # Their size is what decides how a plan is sent.
    assert terms.nbytes == 5 * 8 * M + 2 * M


@pytest.mark.parametrize("kind", ["memmap C", "memmap F", "dask rows"])
def test_parts_are_as_wide_as_the_budget_allows(kind: str, tmp_path: Path) -> None:
    matrix = KINDS[kind](entries(), tmp_path)
    assert isinstance(matrix, BlockMatrix)
    parts = list(StandardizedMatrix(matrix, np.zeros(M), np.ones(M)).parts())
    assert np.array_equal(np.concatenate(parts), np.arange(M))
    assert {len(part) for part in parts[:-1]} == {matrix.room} == {1024 // (8 * N)}
