"""Scores, norms, images and moments of every storage against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from sparsebounds.bounds import dual_point_at
from sparsebounds.matrices import (
    DenseMatrix,
    Matrix,
    SparseMatrix,
    StandardizedMatrix,
    as_matrix,
    column_statistics,
    dense,
)
from sparsebounds.program import Program

N, M = 7, 5
ALL = np.arange(M)


def exact(x: Any) -> list[Any]:
    """The array as nested lists of fractions."""
    return [exact(row) for row in x] if np.ndim(x) else Fraction(float(x))


def dot(x: list[Fraction], a: list[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(x, a, strict=True)), Fraction(0))


def unsummed(X: np.ndarray) -> Any:
    """The same matrix with every entry stored as two halves (exact: halving is), columns mixed."""
    row, col = np.indices(X.shape).reshape(2, -1)
    half = X.ravel() / 2
    order = np.random.default_rng(0).permutation(2 * X.size)
    data = np.concatenate([half, half])[order]
    return sp.coo_array((data, (np.tile(row, 2)[order], np.tile(col, 2)[order])), shape=X.shape)


def unsummed_columns(X: np.ndarray) -> Any:
    """CSC with each entry stored as two halves: never summed by a conversion."""
    n, m = X.shape
    rows = np.tile(np.repeat(np.arange(n), 2), m)
    starts = 2 * n * np.arange(m + 1)
    return sp.csc_array((np.repeat(X.T.ravel() / 2, 2), rows, starts), shape=X.shape)


def explicit_zeros(X: np.ndarray) -> Any:
    """Every entry stored, zeros too."""
    row, col = np.indices(X.shape).reshape(2, -1)
    return sp.csr_array((X.ravel(), (row, col)), shape=X.shape)


STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 3, axis=0), 2, axis=1)[::3, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "reversed F": lambda X: np.asfortranarray(X[:, ::-1])[:, ::-1],
    "list": lambda X: X.tolist(),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "csr matrix": sp.csr_matrix,
    "csc matrix": sp.csc_matrix,
    "lil": sp.lil_array,
    "unsummed": unsummed,
    "unsummed columns": unsummed_columns,
    "explicit zeros": explicit_zeros,
}
NARROW = {
    "float32 C": lambda X: X.astype(np.float32),
    "float32 F": lambda X: np.asfortranarray(X, dtype=np.float32),
    "float32 strided": lambda X: np.repeat(X.astype(np.float32), 2, axis=1)[:, ::2],
    "float32 csr": lambda X: sp.csr_array(X.astype(np.float32)),
    "int": lambda X: np.round(X).astype(np.int64),
    "int8 csc": lambda X: sp.csc_array(np.clip(np.round(X), -9, 9).astype(np.int8)),
    "bool": lambda X: X > 0,
}
SCALES = {
    "one": np.ones(M),
    "spread": 10.0 ** np.array([-8.0, -3.0, 0.0, 4.0, 8.0]),
    "tiny": np.full(M, 1e-160),
    "huge": np.full(M, 1e140),
}


def entries(scale: np.ndarray, seed: int = 0) -> np.ndarray:
    """A matrix with zeros, a zero column, cancellation and columns of these scales."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) * (rng.random((N, M)) < 0.7)
    X[:, 1] = 0.0
    X[:, 3] = 1.0 + 1e-9 * rng.normal(size=N)
    return X * scale


def cases() -> list[Any]:
    wide = [pytest.param(wrap(entries(SCALES[scale])), id=f"{name}, {scale}")
            for name, wrap in STORAGES.items() for scale in SCALES]  # fmt: skip
    return wide + [
        pytest.param(wrap(entries(3 * SCALES["one"])), id=name) for name, wrap in NARROW.items()
    ]


def values(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def vectors() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    balanced = rng.normal(size=N)
    return [
        rng.normal(size=N),
        balanced - balanced.mean(),
        1e-30 * rng.normal(size=N),
        np.eye(N)[2],
        np.where(np.arange(N) % 2, 1.0, -1.0) * 10.0 ** rng.uniform(-12, 12, N),
        np.full(N, 5e-324),
        np.zeros(N),
    ]


def check(matrix: Matrix, X: list[list[Fraction]]) -> None:
    """Everything the matrix says of itself, against the exact entries."""
    columns = list(zip(*X, strict=True))
    for norm, column in zip(matrix.norms, columns, strict=True):
        assert Fraction(norm) ** 2 >= dot(column, column)
    many = np.stack(vectors())
    rows = zip(matrix.scores_many(many), matrix.score_radius_many(many), strict=True)
    for a, together in zip(many, rows, strict=True):
        weights = exact(a)
        for scores, radius in ((matrix.scores(a), matrix.score_radius(a)), together):
            for score, allowed, column in zip(scores, radius, columns, strict=True):
                assert abs(Fraction(score) - dot(column, weights)) <= Fraction(allowed)
    rng = np.random.default_rng(6)
    for w in (rng.normal(size=3), 1e-200 * rng.normal(size=3), 1e120 * rng.normal(size=3)):
        index = np.array([4, 0, 3])
        z, radius = matrix.image(index, w)
        for value, allowed, row in zip(z, radius, X, strict=True):
            truth = dot([row[j] for j in index], exact(w))
            assert abs(Fraction(value) - truth) <= Fraction(allowed)


@pytest.mark.parametrize("data", cases())
def test_every_storage_against_fractions(data: Any) -> None:
    matrix, _ = as_matrix(data)
    X = values(data)
    check(matrix, exact(X))
    np.testing.assert_array_equal(matrix.columns(ALL), X)
    np.testing.assert_array_equal(matrix.columns(np.array([3, 1, 3])), X[:, [3, 1, 3]])


@pytest.mark.parametrize("data", cases())
@pytest.mark.parametrize("block", [1, 8, 1 << 18])
def test_the_bounds_are_tight(data: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Norms within 1e-13, radii a few roundings: valid bounds that are not useless."""
    monkeypatch.setattr(dense, "BLOCK", block)
    matrix, _ = as_matrix(data)
    X = values(data)
    largest = np.abs(X).max(axis=0)
    unit = X / np.where(largest > 0, largest, 1.0)
    norms = np.sqrt(np.sum(unit**2, axis=0)) * largest
    # Below 1e-154 squares underflow: an absolute error of 1e-161.
    assert np.all(matrix.norms <= norms * (1 + 1e-13) + 1e-161)
    a = vectors()[0]
    assert np.all(matrix.score_radius(a) <= 1e-14 * norms * np.linalg.norm(a) + 1e-170)
    np.testing.assert_allclose(
        matrix.scores(a), X.T @ a, rtol=1e-13, atol=1e-14 * norms.max() * np.linalg.norm(a)
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("storage", ["C", "F", "csc"])
@pytest.mark.parametrize("center", ["mean", "none", "far"])
def test_standardized_against_fractions(scale: str, storage: str, center: str) -> None:
    X = entries(SCALES[scale])
    spread = SCALES[scale] * np.array([0.7, 1.0, 3.0, 1e-9, 0.1])
    middle = {"mean": X.mean(axis=0), "none": np.zeros(M), "far": 10.0 * spread}[center]
    base, _ = as_matrix(STORAGES[storage](X))
    matrix = StandardizedMatrix(base, middle, spread)
    c, s = exact(middle), exact(spread)
    rows = [[(x - cj) / sj for x, cj, sj in zip(row, c, s, strict=True)] for row in exact(X)]
    check(matrix, rows)
    np.testing.assert_array_equal(matrix.columns(ALL), (X - middle) / spread)


def test_entries_that_underflow_meet_large_coefficients() -> None:
    """(x - c)/s below the smallest float is lost, however large w is: the radius must say so."""
    X = np.array([[1e-200, 1.0], [3e-200, -1.0]])
    matrix = StandardizedMatrix(DenseMatrix(X), np.zeros(2), np.array([3e120, 1.0]))
    w = np.array([1e140, 0.0])
    z, radius = matrix.image(np.arange(2), w)
    for i in range(2):
        truth = Fraction(X[i, 0]) / Fraction(3e120) * Fraction(1e140)
        assert abs(Fraction(z[i]) - truth) <= Fraction(radius[i])


finite = st.floats(-1e140, 1e140, allow_subnormal=True)
vector = st.lists(finite, min_size=3, max_size=3)


@given(st.lists(vector, min_size=2, max_size=2), vector, vector)
@example([[1e-320, 1e140, 1.0], [1.0, 1e16, -1.0]], [1e-5, 1.0, 1e-140], [1e16, 1e-16, 1.0])
def test_any_floats(columns: list[list[float]], a: list[float], scale: list[float]) -> None:
    X = np.array(columns).T
    center = np.array(columns)[:, 0]
    spread = np.abs(np.array(scale[:2])) + 1e-140
    base = DenseMatrix(X)
    for matrix, shift, size in (
        (base, np.zeros(2), np.ones(2)),
        (SparseMatrix(sp.csr_array(X)), np.zeros(2), np.ones(2)),
        (StandardizedMatrix(base, center, spread), center, spread),
    ):
        with np.errstate(all="ignore"):
            one, rows = np.array(a), np.array([a])
            pairs = (
                (matrix.scores(one), matrix.score_radius(one)),
                (matrix.scores_many(rows)[0], matrix.score_radius_many(rows)[0]),
            )
            norms = matrix.norms
        for j in range(2):
            column = [(Fraction(x) - Fraction(shift[j])) / Fraction(size[j]) for x in X[:, j]]
            if np.isfinite(norms[j]):
                assert Fraction(norms[j]) ** 2 >= dot(column, column)
            for scores, radius in pairs:
                # An overflow shows in the score (bounds then take nothing from it) or the radius.
                if np.isfinite(radius[j]) and np.isfinite(scores[j]):
                    error = abs(Fraction(scores[j]) - dot(column, exact(a)))
                    assert error <= Fraction(radius[j])


@pytest.mark.parametrize("data", cases())
@pytest.mark.parametrize("block", [8, 1 << 18])
def test_moments_against_fractions(data: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "BLOCK", block)
    matrix, _ = as_matrix(data)
    shares = np.arange(1.0, N + 1.0) / 28.0
    mean, spread = matrix.moments(shares)
    X, p = values(data), exact(shares)
    for j in range(M):
        column = exact(X[:, j])
        middle = dot(column, p)
        variance = dot([(x - middle) ** 2 for x in column], p)
        size = Fraction(np.abs(X[:, j]).max())
        assert abs(Fraction(mean[j]) - middle) <= Fraction(1e-15) * size
        # (1e-15 size)^2: the error of the mean, squared. 1e-320: squares that underflow.
        slack = Fraction(1e-13) * variance + (Fraction(4e-15) * size) ** 2
        assert abs(Fraction(spread[j]) - variance) <= slack + Fraction(1e-320)


def test_moments_of_a_standardized_matrix() -> None:
    X = entries(SCALES["spread"])
    base = DenseMatrix(X)
    shares = np.full(N, 1 / N)
    center, scale = column_statistics(base, shares, centred=True)
    mean, spread = StandardizedMatrix(base, center, scale).moments(shares)
    np.testing.assert_allclose(mean, 0.0, atol=1e-6)
    np.testing.assert_allclose(spread[[0, 2, 4]], 1.0, rtol=1e-12)


# Column statistics.


@pytest.mark.parametrize("wrap", [DenseMatrix, lambda X: SparseMatrix(sp.csc_array(X))])
def test_column_statistics(wrap: Any, rng: np.random.Generator) -> None:
    X, shares = rng.normal([0.0, 5.0, -2.0], size=(9, 3)), rng.random(9)
    shares /= shares.sum()
    X[:, 2] *= rng.random(9) < 0.5
    center, scale = column_statistics(wrap(X), shares, centred=True)
    mean = shares @ X
    np.testing.assert_allclose(center, mean, rtol=1e-13)
    np.testing.assert_allclose(scale, np.sqrt(shares @ (X - mean) ** 2), rtol=1e-13)
    center, scale = column_statistics(wrap(X), shares, centred=False)
    assert not center.any()
    np.testing.assert_allclose(scale, np.sqrt(shares @ X**2), rtol=1e-13)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e-8, 1e8, 1e140])
@pytest.mark.parametrize("n", [1, 2, 10, 1000])
@pytest.mark.parametrize("wrap", [DenseMatrix, lambda X: SparseMatrix(sp.csc_array(X))])
def test_a_constant_column_is_left_unscaled(value: float, n: int, wrap: Any) -> None:
    """Rounding noise must not be blown up to unit variance."""
    shares = np.random.default_rng(n).random(n)
    shares /= shares.sum()
    center, scale = column_statistics(wrap(np.full((n, 1), value)), shares, centred=True)
    assert scale[0] == 1.0
    assert center[0] == pytest.approx(value, rel=1e-13)
    _, rms = column_statistics(wrap(np.full((n, 1), value)), shares, centred=False)
    assert rms[0] == pytest.approx(abs(value) or 1.0, rel=1e-13)


@pytest.mark.parametrize("order", list(permutations([1.7, 1.0, -3.0])))
@pytest.mark.parametrize("n", [3, 8, 16])
def test_scores_that_overflow_prove_nothing(order: tuple[float, ...], n: int) -> None:
    """1.7e308 + 1e308 - 3e308 may come out as +inf, but is negative: a bound must not use it."""
    X = np.zeros((n, 1))
    X[:3, 0] = 1e150 * np.array(order)
    program = Program(X, np.zeros(n), k=1, ridge=1.0, positive=True, sample_weight=np.full(n, 1e8))
    point = dual_point_at(program, np.full(n, 1e150))
    score = -0.3e300 / n  # sum_i x_i a_i, a_i = 1e150 / n
    assert point.reach[0] >= -score
    if np.isfinite(point.scores[0]):
        assert abs(point.scores[0] - score) <= point.radius[0]
    else:
        assert point.radius[0] == np.inf
