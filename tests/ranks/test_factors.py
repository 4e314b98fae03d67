"""Singular vectors, other bases, sparse data, and the best multiple of a dual vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ranks.small import FORMS, M, N, case, data, posed, sparse_data

import sparsebounds as sb
from sparsebounds.bounds import bound_at, dual_point
from sparsebounds.datasets import make_bell_spectrum
from sparsebounds.matrices import SparseMatrix, base
from sparsebounds.program import Form, Program
from sparsebounds.ranks.basis import Rows, factorise, residual
from sparsebounds.ranks.multiple import best_multiple
from sparsebounds.relaxation import relax
from sparsebounds.testing import brute_force, random_program

# The factorisation.


def test_the_singular_vectors_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for shape in ((8, 90), (90, 8), (20, 20)):
        X = rng.normal(size=shape)
        U, s, _ = np.linalg.svd(X, full_matrices=False)
        program = Program(X, rng.normal(size=shape[0]), k=1, ball=1.0)
        for part in (1, 100, 1 << 22):
            monkeypatch.setattr(base, "PART", part)
            found = factorise(program, 6, "svd", None, 0, 0)
            np.testing.assert_allclose(np.abs(np.sum(found.left * U[:, :6], axis=0)), 1.0)
            np.testing.assert_allclose(np.linalg.norm(found.right, axis=1), s[:6])
            kept = np.cumsum(s**2)[:6] / np.sum(s**2)
            np.testing.assert_allclose(found.explained, kept, rtol=1e-12)


def test_the_residual_survives_cancellation() -> None:
    """|X - QQ^T X| = 1e-9 |X|: by Pythagoras alone its square would be rounding noise."""
    rng = np.random.default_rng(0)
    exact, noise = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 15)), rng.normal(size=(40, 15))
    X = exact + 1e-9 * noise
    Q = np.linalg.qr(exact[:, :3])[0]
    program = Program(X, rng.normal(size=40), k=1, ball=1.0)
    rows = Rows.of(program)
    rest = X - Q @ (Q.T @ X)
    assert residual(rows, Q, Q.T @ X) == pytest.approx(np.sum(rest**2), rel=1e-5, abs=0.0)
    assert np.sum(rest**2) < 1e-15 * np.sum(X**2)


@pytest.mark.parametrize("shape", [(30, 200), (200, 30)])
def test_randomized_is_nearly_the_best(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    sample = make_bell_spectrum(*shape, rank=5, nonzeros=3)
    program = Program(sample.X, rng.normal(size=shape[0]), k=1, ball=1.0)
    best = factorise(program, 8, "svd", None, 0, 0).explained
    near = factorise(program, 8, "randomized", None, 6, 0).explained
    poor = factorise(program, 8, "randomized", None, 0, 0).explained
    np.testing.assert_allclose(near, best, rtol=1e-3)
    assert np.all(poor <= best + 1e-12)
    assert np.all(near <= best + 1e-12)


def test_weights_are_rows_written_twice() -> None:
    X, y = data(3)
    weights = np.random.default_rng(0).integers(0, 3, size=N)
    options: dict[str, Any] = {"l0": 0.03, "ball": 1.0, "fit_intercept": True}
    once = sb.rank_bounds(Program(X, y, sample_weight=weights, **options))
    twice = sb.rank_bounds(Program(np.repeat(X, weights, axis=0), np.repeat(y, weights), **options))
    for name in ("explained", "lower", "upper", "zeta_r", "primalized"):
        np.testing.assert_allclose(
            once.columns()[name], twice.columns()[name], rtol=1e-5, atol=1e-9, err_msg=name
        )


def test_the_intercept_absorbs_what_is_added_to_a_column() -> None:
    X, y = data(2)
    options: dict[str, Any] = {"k": 2, "ball": 1.0, "fit_intercept": True}
    here = sb.rank_bounds(Program(X, y, **options)).columns()
    there = sb.rank_bounds(Program(X + np.arange(M), y + 7.0, **options)).columns()
    for name in ("explained", "lower", "upper", "zeta_r"):
        np.testing.assert_allclose(here[name], there[name], rtol=1e-6, atol=1e-9, err_msg=name)


def test_standardized_columns() -> None:
    X, y = data(1)
    options: dict[str, Any] = {"k": 2, "ball": 1.0, "fit_intercept": True}
    here = sb.rank_bounds(Program(5.0 * X + 3.0, y, standardize=True, **options)).columns()
    by_hand = (X - X.mean(axis=0)) / X.std(axis=0)
    there = sb.rank_bounds(Program(by_hand, y, **options)).columns()
    for name in ("explained", "lower", "upper", "zeta_r"):
        np.testing.assert_allclose(here[name], there[name], rtol=1e-6, atol=1e-9, err_msg=name)


# Other bases, sparse data.


@pytest.mark.parametrize("form", FORMS)
def test_a_poor_basis_only_loosens(form: Form) -> None:
    rng = np.random.default_rng(0)
    for seed in range(3):
        program, _, optimum = case(form, "squared", 2 * seed)
        basis = np.linalg.qr(rng.normal(size=(N, 3)))[0]
        bounds = sb.rank_bounds(program, basis=basis)
        assert bounds.method == "basis"
        poor = sb.rank_bounds(program, [1, 3], method="randomized", power=0, random_state=seed)
        for row in (*bounds.rows, *poor.rows):
            assert row.lower <= optimum
            assert row.upper >= optimum * (1 - 1e-12)


def test_the_singular_vectors_as_a_basis() -> None:
    X, y = data(4)
    program = Program(X, y, l0=0.03, ball=1.0)
    U = np.linalg.svd(X)[0][:, :4]
    given_ = sb.rank_bounds(program, [2, 4], basis=U).columns()
    found = sb.rank_bounds(program, [2, 4]).columns()
    for name in ("explained", "stated_lower", "lower", "upper"):
        np.testing.assert_allclose(given_[name], found[name], rtol=1e-6)


@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_data_give_what_dense_ones_give(standardize: bool) -> None:
    X, y = sparse_data()
    # A ball that binds: else the relaxed point on X_1 is one of many.
    options: dict[str, Any] = {"k": 3, "ball": 0.05, "fit_intercept": True}
    here = sb.rank_bounds(Program(X, y, standardize=standardize, **options), [1, 5, 20])
    dense = Program(X.toarray(), y, standardize=standardize, **options)
    there = sb.rank_bounds(dense, [1, 5, 20], method="randomized")
    assert (here.method, there.method) == ("randomized", "randomized")
    for name in ("explained", "lower", "upper", "zeta_r", "zeta"):
        np.testing.assert_allclose(here.columns()[name], there.columns()[name], rtol=1e-5)


def test_sparse_data_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sparse_data()
    program = Program(X, y, k=3, ridge=0.1, fit_intercept=True)
    widest = 0

    def watched(self: SparseMatrix, index: Any, read: Any = SparseMatrix.columns) -> np.ndarray:
        nonlocal widest
        widest = max(widest, len(index))
        result: np.ndarray = read(self, index)
        return result

    monkeypatch.setattr(SparseMatrix, "columns", watched)
    factorise(program, 5, "randomized", None, 6, 0)
    assert widest == 0


def test_no_second_array_of_the_size_of_X(monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    monkeypatch.setattr(base, "PART", 1 << 16)
    X = np.random.default_rng(0).normal(size=(50, 20_000))  # 8 MB
    program = Program(X, X[:, 0], k=2, ridge=1.0)
    tracemalloc.start()
    try:
        factors = factorise(program, 3, "svd", None, 0, 0)
        low = program.with_matrix(factors.at(3))
        low.matrix.scores(X[:, 0])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


# The best multiple of a dual vector.


@given(st.integers(0, 10**6), st.sampled_from(FORMS), st.booleans(), st.floats(1e-3, 1e3))
def test_the_best_multiple_is_never_worse(
    seed: int, form: Form, intercept: bool, length: float
) -> None:
    program = random_program(seed, form=form, fit_intercept=intercept)
    a = length * np.random.default_rng(seed).normal(size=program.n)
    point = dual_point(program, a)
    best = best_multiple(program, point)
    scale = max(abs(program.null), 1e-12)
    assert bound_at(program, best) >= bound_at(program, point) - 1e-12 * scale
    assert bound_at(program, best) >= program.F.infimum - 1e-9 * scale
    assert bound_at(program, best) <= brute_force(program).value


def test_the_best_multiple_of_a_vector_too_long() -> None:
    program = posed("k+ball", "squared", 0)
    a = relax(program).dual
    shortened = best_multiple(program, dual_point(program, 3.0 * a))
    assert bound_at(program, shortened) == pytest.approx(sb.lower_bound(program, a), rel=1e-5)
