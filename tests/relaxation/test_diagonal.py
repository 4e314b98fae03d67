"""Diagonals to move into the ridge: inside the room, no worse than none, the best at the root."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparsebounds._support.array import HOST
from sparsebounds.bounds import Curvature
from sparsebounds.program import Program
from sparsebounds.relaxation import (
    GramPart,
    best_diagonal,
    central_diagonal,
    minorant_at,
    relax,
)
from sparsebounds.relaxation.diagonal import LENT, LENT_INSIDE


def posed(seed: int, **more: Any) -> Program:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8)) + rng.normal(size=(30, 1))
    y = X[:, :4] @ np.array([1.0, -1.0, 0.5, 0.5]) + rng.normal(size=30)
    terms = {"k": 3} if seed % 2 else {"l0": 0.05}
    return Program(X, y, fit_intercept=seed % 4 < 2, **{"ridge": 0.02} | terms | more)


def ascended(program: Program, goal: float = np.inf) -> tuple[float, np.ndarray, np.ndarray]:
    smooth = GramPart(program, HOST)
    smooth.add(program.matrix.columns(np.arange(program.m)))
    start = relax(program).w
    return best_diagonal(program, smooth, Curvature(program), start, lambda v: v >= goal)


def inside(program: Program, diagonal: np.ndarray) -> bool:
    """Q - D positive semidefinite, with what features lend; and no more is lent."""
    lent = np.where(program.always, LENT_INSIDE, LENT) * program.ridges
    gram = Curvature(program).gram
    least = float(np.linalg.eigvalsh(gram - np.diag(diagonal))[0])
    return bool(np.all(diagonal >= -lent)) and least >= -1e-13 * float(np.trace(gram))


@pytest.mark.parametrize("seed", range(4))
def test_diagonals_are_inside(seed: int) -> None:
    for more in (
        {},
        {"always": [2, 5]},
        {"positive": np.arange(8) < 2},
        {"ridge": np.linspace(0.01, 0.1, 8)},
    ):
        program = posed(seed, **more)
        central = central_diagonal(Curvature(program), program.ridges)
        assert central is not None
        assert inside(program, central)
        # On the boundary, but for a thousandth: no multiple of it is.
        lent = np.where(program.always, LENT_INSIDE, LENT) * program.ridges
        assert not inside(program, 1.002 * (central + lent) - lent)
        assert np.all(central[program.free] > 0.0)
        assert inside(program, ascended(program)[1])


@pytest.mark.parametrize("seed", range(8))
def test_the_best_is_best(seed: int) -> None:
    program = posed(seed)
    curvature, room = Curvature(program), 1e-4 * program.null
    value, best, w = ascended(program)
    plain = relax(program, 1e-9)
    assert value > plain.value + room

    def at(diagonal: np.ndarray) -> float:
        minorant = minorant_at(curvature, diagonal)
        assert minorant is not None
        return relax(minorant.program(program), 1e-9).value + minorant.base(curvature)

    # It is the relaxation's value with that diagonal, at the solution that comes with it.
    assert at(best) == pytest.approx(value, abs=room)
    small = minorant_at(curvature, best)
    assert small is not None
    found = relax(small.program(program), 1e-9).w
    assert np.abs(program.matrix.columns(np.arange(8)) @ (found - w)).max() < 0.1
    central = central_diagonal(curvature, program.ridges)
    assert central is not None
    rng = np.random.default_rng(seed)
    least = float(np.linalg.eigvalsh(curvature.gram)[0])
    for other in (central, 0.5 * central, np.full(8, 0.99 * least), *rng.uniform(0, least, (3, 8))):
        assert at(other) <= value + room
        # L is concave: between two diagonals it is not below the chord.
        assert at(0.5 * (best + other)) >= 0.5 * (at(best) + at(other)) - room


def test_a_value_that_is_enough_ends_the_ascent() -> None:
    program = posed(1)
    best = ascended(program)[0]
    early = ascended(program, relax(program).value)[0]
    assert relax(program).value <= early <= best


@pytest.mark.parametrize("kind", ["duplicates", "rank 3", "zero", "few rows"])
def test_dependent_columns_have_room_by_lending(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5 if kind == "few rows" else 30, 8))
    if kind == "duplicates":
        X[:, 4:] = X[:, :4]
    elif kind == "rank 3":
        X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 8))
    elif kind == "zero":
        X[:, 3] = 0.0
    program = Program(X, X @ rng.normal(size=8) + rng.normal(size=len(X)), k=2, ridge=0.05)
    curvature = Curvature(program)
    assert np.linalg.eigvalsh(curvature.gram)[0] < 1e-12
    central = central_diagonal(curvature, program.ridges)
    assert central is not None
    assert inside(program, central)
    minorant = minorant_at(curvature, central)
    assert minorant is not None
    assert np.isfinite(minorant.base(curvature, claim=True))
    # The dependent ones have what they lent, at most; the others may have more.
    assert np.any(central < 0.0)
    # Without a ridge to lend there is none (but for a column of 0, which stands alone).
    assert (central_diagonal(curvature, np.full(8, 1e-14)) is None) == (kind != "zero")


def test_features_always_in_lend_most_of_their_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no relaxation to tighten: what they lend is room for the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6)) + 2.0 * rng.normal(size=(30, 1))
    y = X @ rng.normal(size=6) + rng.normal(size=30)
    program = Program(X, y, k=2, ridge=0.5, always=[0, 1])
    value, diagonal, _ = ascended(program)
    assert inside(program, diagonal)
    monkeypatch.setattr("sparsebounds.relaxation.diagonal.LENT_INSIDE", 0.0)
    assert ascended(program)[0] < value - 1e-3 * (value - relax(program).value)
