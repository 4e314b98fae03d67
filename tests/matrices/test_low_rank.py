"""Factored matrices against exact rational arithmetic; block products of every storage."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds.matrices import LowRankMatrix, Matrix, StandardizedMatrix, as_matrix, base
from sparsebounds.matrices.bits import multipliers
from sparsebounds.program import Program

N, M, R = 7, 5, 3
SCALES = {
    "one": (1.0, np.ones(R)),
    "spread": (1.0, np.array([1e8, 1.0, 1e-8])),
    "tiny": (1e-160, np.full(R, 1e-160)),
    "huge": (1e70, np.full(R, 1e70)),
}


def factors(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Factors whose product cancels in its last column."""
    rng = np.random.default_rng(1)
    left_scale, right_scale = SCALES[name]
    left, right = rng.normal(size=(N, R)), rng.normal(size=(R, M))
    right[:, -1] = np.linalg.qr(left.T)[0][:, -1] * 1e-3
    right[:, 1] = 0.0
    return left_scale * left, right_scale[:, None] * right


def product(left: np.ndarray, right: np.ndarray) -> list[list[Fraction]]:
    """left right, exactly, by rows."""
    return [
        [
            sum((Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True)), Fraction(0))
            for column in right.T
        ]
        for row in left
    ]


def dot(x: Any, a: Any) -> Fraction:
    return sum((Fraction(p) * Fraction(q) for p, q in zip(x, a, strict=True)), Fraction(0))


def check(matrix: LowRankMatrix) -> None:
    """Everything the matrix says of itself, against the exact entries."""
    X = product(matrix.left, matrix.right)
    columns = list(zip(*X, strict=True))
    for norm, column in zip(matrix.norms, columns, strict=True):
        assert Fraction(norm) ** 2 >= dot(column, column)
    rng = np.random.default_rng(5)
    n, m = matrix.shape
    for a in (rng.normal(size=n), 1e-30 * rng.normal(size=n), np.full(n, 5e-324), np.zeros(n)):
        scores, radius = matrix.scores(a), matrix.score_radius(a)
        for score, allowed, column in zip(scores, radius, columns, strict=True):
            assert abs(Fraction(score) - dot(column, a)) <= Fraction(allowed)
    index = np.array([m - 1, 0])
    for w in (rng.normal(size=2), 1e-200 * rng.normal(size=2), 1e60 * rng.normal(size=2)):
        z, radius = matrix.image(index, w)
        for value, allowed, row in zip(z, radius, X, strict=True):
            assert abs(Fraction(value) - dot([row[j] for j in index], w)) <= Fraction(allowed)


@pytest.mark.parametrize("name", SCALES)
def test_against_fractions(name: str) -> None:
    check(LowRankMatrix(*factors(name)))


finite = st.floats(-1e70, 1e70, allow_subnormal=True)


@given(st.lists(finite, min_size=10, max_size=10))
def test_any_factors(numbers: list[float]) -> None:
    left, right = np.array(numbers[:6]).reshape(3, 2), np.array(numbers[6:]).reshape(2, 2)
    check(LowRankMatrix(left, right))


def test_the_bounds_are_tight() -> None:
    """A few roundings of |B|^T |L|: valid bounds that are not useless."""
    left, right = factors("one")
    matrix = LowRankMatrix(left, right)
    size = np.abs(right).T @ np.linalg.norm(left, axis=0)
    assert np.all(matrix.norms <= size * (1 + 1e-13) + 1e-300)
    a = np.random.default_rng(0).normal(size=N)
    assert np.all(matrix.score_radius(a) <= 1e-14 * size * np.linalg.norm(a) + 1e-300)
    w = np.ones(2)
    _, radius = matrix.image(np.array([0, 2]), w)
    assert np.all(radius <= 1e-14 * np.abs(left) @ np.abs(right[:, [0, 2]]).sum(axis=1))


def test_moments() -> None:
    left, right = factors("one")
    shares = np.arange(1.0, N + 1.0) / 28.0
    mean, spread = LowRankMatrix(left, right).moments(shares)
    X = left @ right
    np.testing.assert_allclose(mean, shares @ X, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(spread, shares @ (X - shares @ X) ** 2, rtol=1e-12, atol=1e-15)


def test_views_of_the_factors_and_the_cost_of_a_read() -> None:
    left, right = factors("one")
    matrix = LowRankMatrix(left[:, :2], right[:2])
    assert matrix.rank == 2
    assert np.shares_memory(matrix.left, left)
    assert matrix.entries == 2 * (N + M)
    np.testing.assert_allclose(matrix.columns(np.arange(M)), left[:, :2] @ right[:2], rtol=1e-13)
    assert matrix.passes == 1.0


def test_the_checksum_tells_factors_apart() -> None:
    left, right = factors("one")
    rows, cols = multipliers(N, 1)[None], multipliers(M, 2)[None]

    def checksum(left: np.ndarray, right: np.ndarray) -> int:
        return int(LowRankMatrix(left, right).checksum(rows, cols)[0])

    mixed = [2, 0, 1]
    assert checksum(left, right) == checksum(left[:, mixed], right[mixed])
    assert checksum(left, right) != checksum(left[:, mixed], right)
    assert checksum(left, right) != checksum(-left, right)
    other = right.copy()
    other[0, 0] = np.nextafter(other[0, 0], 9.0)
    assert checksum(left, right) != checksum(left, other)


def test_a_program_on_the_product_is_the_program_on_its_entries() -> None:
    left, right = factors("one")
    y = np.arange(N, dtype=float)
    program = Program(left @ right, y, k=2, ridge=0.1)
    low = program.with_matrix(LowRankMatrix(left, right))
    w = np.array([0.0, 0.0, 1.0, -1.0, 0.0])
    assert low.objective(w) == pytest.approx(program.objective(w), rel=1e-13)
    assert low.fingerprint != program.fingerprint
    assert (low.k, low.n, low.m, low.standardize) == (2, N, M, False)


STORAGES = {
    "C": lambda X: X,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize("part", [1, 20, 1 << 22])
def test_block_products(
    storage: str, standardized: bool, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "PART", part)
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N, M)) * (rng.random((N, M)) < 0.6), 3)
    X = X.astype(np.float32).astype(np.float64)
    matrix: Matrix = as_matrix(STORAGES[storage](X))[0]
    if standardized:
        center, scale = rng.normal(size=M), rng.uniform(0.5, 2.0, size=M)
        matrix, X = StandardizedMatrix(matrix, center, scale), (X - center) / scale
    before = matrix.passes
    weights, basis = rng.normal(size=(M, 2)), rng.normal(size=(N, 4))
    np.testing.assert_allclose(matrix.combine(weights), X @ weights, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(matrix.project(basis), basis.T @ X, rtol=1e-12, atol=1e-14)
    assert matrix.passes - before == pytest.approx(2.0, abs=1e-12)
    assert matrix.sparse == (storage == "csr")
    assert np.array_equal(np.concatenate(list(matrix.parts())), np.arange(M))


def test_sparse_products_read_no_dense_block(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = as_matrix(
        sp.random_array((50, 30), density=0.1, random_state=np.random.default_rng(0))
    )[0]
    centred = StandardizedMatrix(matrix, np.ones(30), np.ones(30))

    def refused(*_: object) -> None:
        raise AssertionError("a dense block was read")

    monkeypatch.setattr(type(matrix), "columns", refused)
    centred.combine(np.ones((30, 2)))
    centred.project(np.ones((50, 2)))
