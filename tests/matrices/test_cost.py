"""What a matrix costs: passes over X are counted, and nothing is copied whole."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sparsebounds.matrices import Matrix, SparseMatrix, StandardizedMatrix, as_matrix
from sparsebounds.matrices.bits import multipliers
from sparsebounds.program import Program

N, M = 20, 8


def storages() -> dict[str, Any]:
    X = np.random.default_rng(0).normal(size=(N, M))
    return {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "float32": X.astype(np.float32),
        "csr": sp.csr_array(X),
    }


@pytest.fixture(params=storages())
def matrix(request: pytest.FixtureRequest) -> Matrix:
    return as_matrix(storages()[request.param])[0]


@pytest.mark.parametrize("standardized", [False, True])
def test_every_read_is_counted(matrix: Matrix, standardized: bool) -> None:
    assert matrix.passes == 1.0  # the check for NaN, which is the pass for the norms
    if standardized:
        matrix = StandardizedMatrix(matrix, np.ones(M), np.full(M, 2.0))
    a = np.ones(N)
    for read, passes in (
        (lambda: matrix.norms, 0.0),
        (lambda: matrix.score_radius(a), 0.0),
        (lambda: matrix.scores(a), 1.0),
        (lambda: matrix.moments(np.full(N, 1 / N)), 2.0),
        (lambda: matrix.checksum(multipliers(N, 1)[None], multipliers(M, 2)[None]), 1.0),
        (lambda: matrix.columns(np.array([1, 5])), 2 / M),
        (lambda: matrix.image(np.array([0, 3, 7]), np.ones(3)), 3 / M),
        (lambda: matrix.columns(np.zeros(0, dtype=np.int64)), 0.0),
    ):
        before = matrix.passes
        read()
        assert matrix.passes - before == pytest.approx(passes, abs=1e-12)


def test_a_program_reads_the_data_once_and_once_more_for_its_fingerprint() -> None:
    X = storages()["C"]
    program = Program(X, np.arange(N), k=2, ridge=1.0)
    assert program.matrix.passes == 1.0
    first = program.fingerprint
    assert program.matrix.passes == 2.0
    assert program.fingerprint == first
    assert program.matrix.passes == 2.0


MEGABYTE = 1 << 20


@pytest.mark.parametrize("order", ["C", "F"])
def test_forty_megabytes_of_float32_need_no_copy(order: Any) -> None:
    n, m = 5000, 2000
    X = np.empty((n, m), dtype=np.float32, order=order)
    X[:] = np.cos(np.arange(m))
    assert X.nbytes > 38 * MEGABYTE
    a, rows, cols = np.ones(n), multipliers(n, 3)[None], multipliers(m, 4)[None]
    tracemalloc.start()
    try:
        matrix, _ = as_matrix(X)
        scores = matrix.scores(a)
        norms = matrix.norms
        matrix.checksum(rows, cols)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 15 * MEGABYTE
    assert np.shares_memory(matrix.array, X)
    column = X[0].astype(np.float64)
    np.testing.assert_allclose(scores, n * column, rtol=1e-12)
    np.testing.assert_allclose(norms, np.sqrt(n) * np.abs(column), rtol=1e-12)


def test_a_sparse_matrix_is_written_once() -> None:
    """Whatever was computed of it; the copy computes the same."""
    X = sp.random_array(
        (200, 100), density=0.1, random_state=np.random.default_rng(0), format="csc"
    )
    matrix, a = SparseMatrix(X), np.arange(200.0)
    before, scores = len(pickle.dumps(matrix)), matrix.scores(a)
    written = pickle.dumps(matrix)
    assert len(written) < before + 1000
    np.testing.assert_array_equal(pickle.loads(written).scores(a), scores)
