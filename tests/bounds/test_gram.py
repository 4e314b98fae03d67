"""Bounds by shifts: never above the optimum, not below without cause, -inf where not convex."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sparsebounds.bounds.gram import GramBounds
from sparsebounds.bounds.many import node_bounds
from sparsebounds.certificates.tree import dual_vectors
from sparsebounds.matrices import DenseMatrix
from sparsebounds.models import refit
from sparsebounds.program import Program


def best_in_node(program: Program, state: np.ndarray) -> float:
    """The smallest objective over the supports of the node, all of them refitted."""
    inside, opened = np.flatnonzero(state > 0), np.flatnonzero(state == 0)
    most = len(opened) if program.k is None else min(len(opened), program.k - len(inside))
    best = math.inf
    for size in range(most + 1):
        for more in itertools.combinations(opened.tolist(), size):
            support = np.sort(np.concatenate((inside, np.array(more, dtype=np.int64))))
            model = refit(program, support)
            zeros = len(support) - len(model.support)  # in, though not used: still charged
            charge = float(program.prices[0]) * zeros if program.k is None else 0.0
            best = min(best, model.value + charge)
    return best


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("terms", [{"k": 3}, {"l0": 0.05}], ids=["k", "l0"])
def test_they_are_bounds(terms: dict[str, float], intercept: bool) -> None:
    better = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 6)) + (2.0 if intercept else 0.0)
        y = X @ rng.normal(size=6) + rng.normal(size=20)
        weights = rng.uniform(0.5, 2.0, 20) if seed % 3 == 0 else None
        program = Program(X, y, ridge=0.05, fit_intercept=intercept, sample_weight=weights, **terms)
        state = rng.choice(np.array([-1, 0, 0, 0, 1], dtype=np.int8), size=6)
        if program.k is not None and np.count_nonzero(state > 0) > program.k:
            assert GramBounds(program).bound(state, np.zeros(6), np.zeros(6)) == np.inf
            continue
        live = np.flatnonzero(state >= 0)
        p = program.F.p
        centred = X - p @ X if intercept else X
        gram = (centred * p[:, None]).T @ centred
        least = float(np.linalg.eigvalsh(gram[np.ix_(live, live)])[0]) if len(live) else 0.0
        w = np.where(state < 0, 0.0, rng.normal(size=6))
        optimum = best_in_node(program, state)
        for part in (0.0, 0.5, 0.99):
            shift = np.where(state == 0, part * least, 0.0)
            bound = GramBounds(program).bound(state, w, shift)
            assert math.isfinite(bound)
            assert bound <= optimum
        target = refit(program, live).w  # near the node's relaxed solution
        shifted = GramBounds(program).bound(state, target, np.where(state == 0, 0.9 * least, 0.0))
        t = dual_vectors(program, DenseMatrix(X), target[None], np.array([program.null_intercept]))
        better += shifted > node_bounds(program, t, state[None]).lower[0]
        assert shifted <= optimum
        # More than the smallest eigenvalue cannot be given away.
        if np.any(state == 0) and not np.any(state > 0):
            assert (
                GramBounds(program).bound(state, w, np.where(state == 0, 1.01 * least, 0.0))
                == -np.inf
            )
    assert better >= 7


def test_other_losses_and_the_ball_have_none() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    state, w = np.zeros(3, dtype=np.int8), np.zeros(3)
    assert GramBounds(Program(X, y, k=1, ridge=0.1, loss="huber")).bound(state, w, w) == -np.inf


def test_columns_that_overflow_when_squared_prove_nothing() -> None:
    # A length of 1e-160 has a unit whose square is no number, and LAPACK may take NaN for definite.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4))
    X[:, 0] *= 1e-160
    program = Program(X, X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=12), k=2, ridge=0.1)
    state = np.zeros(4, dtype=np.int8)
    optimum = best_in_node(program, state)
    w = refit(program, np.array([1, 2, 3])).w
    for size in (0.4, 1.0, 1e3):
        assert GramBounds(program).bound(state, w, np.array([0.0, size, size, size])) <= optimum


def test_a_large_ridge_of_one_feature_does_not_drown_the_others() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * np.array([1.0, 1.0, 1e-6])
    ridge = np.array([0.01, 0.01, 10.0])
    program = Program(X, X[:, 0] + rng.normal(size=30), l0=0.01, ridge=ridge)
    state = np.array([0, 0, 1], dtype=np.int8)
    gram = X[:, :2].T @ X[:, :2] / 30.0
    shift = np.array([1.0, 1.0, 0.0]) * 0.9 * np.linalg.eigvalsh(gram)[0]
    bound = GramBounds(program).bound(state, refit(program, np.arange(3)).w, shift)
    assert math.isfinite(bound)
    assert bound <= best_in_node(program, state)


def test_the_level_of_the_response_costs_nothing_with_an_intercept() -> None:
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(30, 3)), rng.normal(size=30)
    state, shift = np.zeros(3, dtype=np.int8), np.full(3, 0.1)
    bounds = []
    for level in (0.0, 1e6):
        program = Program(X, X[:, 0] + noise + level, l0=0.1, ridge=0.1, fit_intercept=True)
        bounds.append(GramBounds(program).bound(state, refit(program, np.arange(3)).w, shift))
    # Charged by its rounding: 2^-48 of 1e6, not by its size.
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-6)
