"""Solutions of sparse and dense data: the same model and bounds, and either verifies the other."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import sparsebounds as sb

CASES = [
    ("squared", {"k": 2, "ridge": 0.05}),
    ("squared", {"l0": 0.05, "ridge": 0.02, "fit_intercept": True, "standardize": True}),
    ("squared", {"k": 2, "ball": 0.5, "standardize": True}),
    ("logistic", {"k": 2, "ridge": 0.05, "fit_intercept": True, "standardize": True}),
    ("logistic", {"l0": 0.02, "ridge": 0.05, "fit_intercept": True}),
    ("huber", {"k": 2, "ridge": 0.05, "fit_intercept": True, "standardize": True}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_sparse_and_dense_solutions_are_the_same(case: int) -> None:
    loss, options = CASES[case]
    rng = np.random.default_rng(case)
    n, m = 40, 14
    X = np.where(rng.random((n, m)) < 0.1, rng.normal(size=(n, m)), 0.0)
    z = X @ rng.normal(size=m) + 0.3 * rng.normal(size=n)
    y = np.where(z > 0.0, 1.0, -1.0) if loss == "logistic" else z
    both = (X, sp.csc_array(X))
    dense, sparse = (sb.solve(A, y, loss=loss, exact=True, **options) for A in both)
    assert dense.status == sparse.status == "optimal"
    assert sparse.upper == pytest.approx(dense.upper, rel=1e-10)
    assert sparse.coef == pytest.approx(dense.coef, abs=1e-8)
    assert np.array_equal(sparse.coef != 0.0, dense.coef != 0.0)
    for solution in (dense, sparse):
        for A in both:
            assert solution.certificate.verify(A, y)
        assert solution.lower <= min(dense.upper, sparse.upper)
    programs = [sb.Program(A, y, loss=loss, **options) for A in both]
    given = [sb.certify(program, dense.coef, dense.intercept) for program in programs]
    assert given[0].upper == pytest.approx(given[1].upper, rel=1e-10)
    assert given[0].lower == pytest.approx(given[1].lower, rel=1e-6)


def test_claims_of_long_columns_hold_for_dense_ones(rng: np.random.Generator) -> None:
    """Radii of a sparse matrix count stored entries; what it claims allows for all rows."""
    n, m = 20_000, 40
    X = np.zeros((n, m))
    for j in range(m):
        X[rng.choice(n, 10, replace=False), j] = rng.normal(size=10)
    y = X[:, 0] - X[:, 1] + 0.01 * rng.normal(size=n)
    found = sb.solve(sp.csc_array(X), y, k=2, ridge=1e-6, exact=False)
    assert found.certificate.verify(X, y)
    thin, full = (sb.Program(A, y, k=2, ridge=1e-6).matrix for A in (sp.csc_array(X), X))
    assert np.all(100.0 * thin.score_radius(y) <= full.score_radius(y))
    assert thin.radius_elsewhere(y) == pytest.approx(full.score_radius(y), rel=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_solution_takes_less_memory_than_dense_columns(loss: str) -> None:
    """The relaxed support alone would take many times the data. A pool of features is limited."""
    rng = np.random.default_rng(0)
    n, m = 10_000, 20_000
    rows = rng.integers(0, 500, size=(m, 20)) + 500 * np.arange(20)
    X = sp.csc_array((rng.normal(size=20 * m), rows.ravel(), np.arange(0, 20 * m + 1, 20)), (n, m))
    z = X @ np.where(np.arange(m) < 100, 1.0, 0.0) + 0.3 * rng.normal(size=n)
    y = np.where(z > 0.0, 1.0, -1.0) if loss == "logistic" else z
    tracemalloc.start()
    found = sb.solve(X, y, loss=loss, k=10, ridge=1e-5, exact=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    data = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    dense = 8 * n * np.count_nonzero(found.relaxation.w)
    assert peak <= 6.0 * data
    assert 12.0 * data <= dense
