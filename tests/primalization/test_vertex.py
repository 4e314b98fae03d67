"""The walk to a vertex, and ranks: exact to rounding, whatever the ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds.primalization.rank import numerical_rank
from sparsebounds.primalization.vertex import basis, vertex
from sparsebounds.program import Program


def tied_columns(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A of low rank, with repeats and zero columns; weights with ties among them; costs."""
    rng = np.random.default_rng(seed)
    n, rank, t = rng.integers(1, 9), rng.integers(1, 6), rng.integers(1, 25)
    A = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, t))
    if seed % 3 == 1:
        A = A[:, rng.integers(0, t, size=t)] * rng.choice([-1.0, 1.0], size=t)
    if seed % 3 == 2:
        A[:, rng.random(t) < 0.3] = 0.0
    A = A * 10.0 ** rng.uniform(-3, 3, size=t)
    u = rng.choice([0.25, 0.5, 0.75], size=t) if seed % 2 else rng.uniform(0.01, 0.99, size=t)
    return A, u, rng.choice([1.0, 2.0], size=t)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_walk_ends_at_a_vertex_that_costs_no_more(seed: int) -> None:
    A, u, cost = tied_columns(seed)
    lengths = np.linalg.norm(A, axis=0)
    found = basis(A, lengths)
    assert found.rank == np.linalg.matrix_rank(A / np.where(lengths > 0, lengths, 1), tol=1e-9)
    end = vertex(found, lengths, u, cost)
    between = (end > 0) & (end < 1)
    assert np.all((end >= 0) & (end <= 1))
    assert np.count_nonzero(between) <= found.rank
    np.testing.assert_allclose(A @ end, A @ u, rtol=0, atol=1e-9 * np.max(lengths * u, initial=0))
    assert cost @ end <= cost @ u * (1 + 1e-9)
    # A vertex: its fractional columns are independent.
    unit = A[:, between] / lengths[between]
    assert np.linalg.matrix_rank(unit, tol=1e-10) == np.count_nonzero(between)


def program_of(X: np.ndarray, *, fit_intercept: bool = False, **more: object) -> Program:
    return Program(X, np.arange(len(X)) % 2.0, k=1, ridge=1.0, fit_intercept=fit_intercept, **more)


@pytest.mark.parametrize("rank", [1, 3, 20])
@pytest.mark.parametrize("shape", [(30, 400), (400, 30), (150, 150)])
def test_rank_by_blocks(shape: tuple[int, int], rank: int) -> None:
    """Of low rank in floating point, of mixed scales; centring takes the constant away."""
    rng = np.random.default_rng(0)
    n, m = shape
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m)) * 10.0 ** rng.uniform(-8, 8, size=m)
    assert numerical_rank(program_of(X)).value == rank
    assert numerical_rank(program_of(X, fit_intercept=True)).value == rank
    shifted = X + np.linalg.norm(X, axis=0)
    assert numerical_rank(program_of(shifted)).value == rank + 1
    assert numerical_rank(program_of(shifted, fit_intercept=True)).value == rank
    full = rng.normal(size=shape)
    assert numerical_rank(program_of(full)).value == min(shape)
    assert numerical_rank(program_of(full, fit_intercept=True)).value == min(n - 1, m)


def test_rank_reads_no_more_than_it_must_and_says_when_it_gave_up() -> None:
    rng = np.random.default_rng(0)
    program = program_of(rng.normal(size=(40, 1000)))
    before = program.matrix.passes
    assert numerical_rank(program).known
    assert program.matrix.passes - before <= 0.2
    wide = program_of(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 300)))
    rank = numerical_rank(wide, work=0.0)
    assert not rank.known
    assert rank.value == 40
    assert "was not computed" in str(rank)
    assert "1e-10" in str(numerical_rank(wide))


def test_rank_is_of_the_features_to_choose_from() -> None:
    X = np.eye(5)
    assert numerical_rank(program_of(X, always=[0], never=[1, 2])).value == 2
    assert numerical_rank(program_of(np.zeros((5, 3)))).value == 0
    assert numerical_rank(program_of(np.ones((5, 3)), fit_intercept=True)).value == 0
