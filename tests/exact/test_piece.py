"""Pieces: where solutions move, and by how much the relaxed value grows, against direct solves."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds.exact.piece import Piece
from sparsebounds.penalties import Pattern

NONE = np.zeros(0, dtype=np.int64)


def make(seed: int, count: int = 8) -> tuple[Piece, np.ndarray, np.ndarray]:
    """A piece of features all linear, whose signs are those of its solution; M and r."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, count))
    M, ridge = A.T @ A / 30.0, rng.uniform(0.1, 0.5, count)
    w = rng.choice([-1.0, 1.0], count) * rng.uniform(0.5, 1.0, count)
    sign = np.sign(w)
    kink = ridge * (np.abs(w) + rng.uniform(0.1, 1.0, count))
    right = M @ w
    pattern = Pattern(np.arange(count), sign, np.zeros(count), kink * sign, None, np.inf)
    piece = Piece.of(pattern, np.asfortranarray(M), right, ridge, kink)
    assert piece is not None
    return piece, M, right


@pytest.mark.parametrize("seed", range(8))
def test_a_moved_solution_solves_the_moved_problem(seed: int) -> None:
    piece, M, right = make(seed)
    inside, outside = np.array([1, 4]), np.array([0, 6])
    w = piece.moved(inside, outside)
    assert np.all(w[outside] == 0.0)
    # Those whose sign turned once are out as well; on the others the system must hold.
    kept = np.flatnonzero(w != 0.0)
    system, r = M.copy(), right.copy()
    system[inside, inside] += piece.ridge[inside]
    r[inside] += piece.kink[inside] * piece.pattern.sign[inside]
    expected = np.linalg.solve(system[np.ix_(kept, kept)], r[kept])
    np.testing.assert_allclose(w[kept], expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_gains_are_what_the_relaxed_value_grows_by(seed: int) -> None:
    piece, M, right = make(seed)
    out, into = piece.gains()

    def value(w: np.ndarray, i: int, inside: bool) -> float:
        """The quadratic on the piece; feature i in pays its price and ridge instead."""
        total = 0.5 * float(w @ M @ w) - float(right @ w)
        if inside:
            size = piece.kink[i] ** 2 / (2.0 * piece.ridge[i])
            linear = piece.kink[i] * piece.pattern.sign[i] * float(w[i])
            total += size + 0.5 * piece.ridge[i] * float(w[i]) ** 2 - linear
        return total

    for i in range(len(out)):
        one = np.array([i])
        base = value(piece.w, i, False)
        # No exchange of signs: the formula is that of the piece.
        assert value(piece._solution(NONE, one), i, False) - base == pytest.approx(out[i], rel=1e-8)
        assert value(piece._solution(one, NONE), i, True) - base == pytest.approx(into[i], rel=1e-8)
