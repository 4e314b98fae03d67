"""The diagonal that a shift moves: as much as leaves the loss convex, and a bound all the same."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds import Program
from sparsebounds.bounds.gram import full_shift
from sparsebounds.exact.diagonal import _diagonal
from sparsebounds.exact.ridge import RidgeBounder
from sparsebounds.relaxation.gram_part import GramPart
from sparsebounds.testing import brute_force


def test_the_rest_is_positive_definite_and_nearly_singular() -> None:
    """Over Gram matrices of any conditioning; the features undecided are given the most."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(12, 6)) + rng.choice([0.0, 3.0]) * rng.normal(size=(12, 1))
        matrix = np.asfortranarray(A.T @ A / 12.0)
        opened = np.arange(6) != seed % 7
        u = rng.choice([0.0, 0.3, 1.0], size=6)
        shift = _diagonal(matrix, opened, rng.normal(size=6), u)
        assert shift is not None
        assert np.all(shift > 0.0)
        whole = np.zeros(6)
        whole[opened] = shift
        assert np.min(np.linalg.eigvalsh(matrix - np.diag(whole))) > 0.0
        assert np.min(np.linalg.eigvalsh(matrix - np.diag(3.0 * whole))) < 0.0


def test_a_singular_matrix_has_no_shift() -> None:
    A = np.ones((5, 3))
    ones = np.ones(3)
    assert _diagonal(np.asfortranarray(A.T @ A), ones > 0.0, ones, 0.5 * ones) is None


@pytest.mark.parametrize("terms", [{"k": 3}, {"l0": 0.05}], ids=["k", "l0"])
def test_nodes_are_closed_and_no_bound_is_above_their_best_model(terms: dict[str, float]) -> None:
    """At the root, and with a feature in and one out; the cutoff is just below the optimum."""
    closed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 6))
        y = X @ rng.normal(size=6) + rng.normal(size=40)
        program = Program(X, y, ridge=0.05, **terms)
        state = np.zeros((1, 6), dtype=np.int8)
        if seed % 3:
            state[0, :2] = 1, -1
        bounder = RidgeBounder(program, price=0.05)
        assert isinstance(bounder.smooth, GramPart)
        start = np.zeros((1, 6))
        nodes = bounder.bound(state, start, np.zeros(1), np.inf, np.inf)
        node = Program(X, y, ridge=0.05, never=[1] if seed % 3 else None, **terms)
        best = brute_force(node).value
        if seed % 3:  # with feature 0 in: what it costs is paid in any case
            inner = {"k": 2} if "k" in terms else {"l0": np.where(np.arange(6) == 0, 0.0, 0.05)}
            node = Program(X, y, ridge=0.05, never=[1], always=[0], **inner)
            best = brute_force(node).value + (0.05 if "l0" in terms else 0.0)
        cutoff = float(nodes.lower[0]) + 0.5 * (best - float(nodes.lower[0]))
        found = bounder.diagonals.close(
            bounder,
            bounder.smooth,
            state[0],
            nodes.w[0],
            bounder.weights(nodes, 0),
            cutoff,
            best,
        )
        if found is not None and best - float(nodes.lower[0]) > 1e-9:
            closed += 1
            shift, lower = found
            assert cutoff <= lower <= best
            diagonal = shift.at(state[0])[1]
            assert np.all(diagonal[state[0] != 0] == 0.0)
            d = full_shift(program, state[0], diagonal)
            live = state[0] >= 0
            rest = (X.T @ X / 40.0 - np.diag(d))[np.ix_(live, live)]
            assert np.min(np.linalg.eigvalsh(rest)) > 0.0
    assert closed >= 8
