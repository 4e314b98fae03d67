"""All supports of a node, tried: the bound is below the best of them, and no more than rounding."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds._support.errors import InputError
from sparsebounds.bounds import Curvature, Exhaustion, effort, objective_up
from sparsebounds.models import refit
from sparsebounds.program import Program
from sparsebounds.testing import random_program


def values_of(program: Program, state: np.ndarray) -> dict[tuple[int, ...], float]:
    """The objectives, rounded up, on the supports of the node, all of them refitted."""
    inside = np.flatnonzero(state > 0)
    opened = np.flatnonzero((state == 0) & program.groups.lead)
    assert program.k is not None
    most = min(len(opened), program.k - int(np.count_nonzero(program.free[inside])))
    values = {}
    for some in itertools.chain(*(itertools.combinations(opened, s) for s in range(most + 1))):
        more = program.groups.whole(np.array(some, dtype=np.int64))
        support = np.sort(np.append(inside, more)).astype(np.int64)
        model = refit(program, support)
        values[tuple(support.tolist())] = objective_up(program, model.w, model.b)
    return values


def nodes(program: Program, rng: np.random.Generator) -> Any:
    """The root, and nodes with some features in and some out."""
    for share in (0.0, 0.3, 0.6):
        state = rng.choice(
            np.array([-1, 0, 1], dtype=np.int8), size=program.m, p=[share / 2, 1 - share, share / 2]
        )
        state = program.groups.spread(state)
        state[program.always] = 1
        state[program.never] = -1
        yield state


def tried(program: Program, *, rng: np.random.Generator, tight: bool) -> int:
    """Compare with the referee, and say how many nodes were tried."""
    curvature, count = Curvature(program), 0
    plain, claims = (Exhaustion(curvature, claim=claim) for claim in (False, True))
    for state in nodes(program, rng):
        if not math.isfinite(plain.effort(state)):
            continue
        found, claimed = plain.search(state), claims.search(state)
        taken = int(np.count_nonzero(program.free & (state > 0)))
        assert program.k is not None
        if taken > program.k:
            assert found.lower == claimed.lower == math.inf
            continue
        count += 1
        values = values_of(program, state)
        optimum, scale = min(values.values()), max(abs(program.null), 1e-290)
        assert claimed.lower <= found.lower <= optimum
        assert np.all(state[found.support] >= 0)
        assert np.isin(np.flatnonzero(state > 0), found.support).all()
        assert np.count_nonzero(program.free[found.support]) <= program.k
        if tight:
            room = 1e-9 * max(abs(optimum), scale)
            assert optimum - room <= claimed.lower
            assert refit(program, found.support).value <= optimum + room
        for level in (optimum, optimum + 0.1 * scale, math.inf):
            listed = claims.below(state, level, len(values))
            assert listed is not None
            rows = [tuple(np.flatnonzero(row > 0).tolist()) for row in listed[0]]
            assert {support for support, value in values.items() if value < level} <= set(rows)
            assert len(set(rows)) == len(rows)
            for support, lower in zip(rows, listed[1], strict=True):
                assert lower <= values[support]
                assert not tight or values[support] <= min(lower, level) + 1e-9 * scale
            assert level < math.inf or len(rows) == len(values)
            assert claims.below(state, level, len(rows) - 1) is None
    return count


@pytest.mark.parametrize("grouped", [False, True])
def test_random_programs(grouped: bool) -> None:
    count = 0
    for seed in seeds(40, "exhaustion"):
        options = {"most_rows": 12, "most_columns": 8 if grouped else 5, "grouped": grouped}
        try:
            program = random_program(seed, fit_intercept=bool(seed % 2), **options)
        except InputError:  # a group is always and never in
            continue
        if program.signed:
            assert not Exhaustion(Curvature(program)).possible
            continue
        count += tried(program, rng=np.random.default_rng(seed), tight=False)
    assert count > 30


@pytest.mark.parametrize("kind", ["plain", "duplicates", "ties", "zeros", "far", "scales"])
@pytest.mark.parametrize("groups", [None, [0, 1, 0, 2, 3, 3], [0, 1, 2, 3, 0, 1]])
def test_the_best_is_found(kind: str, groups: list[int] | None) -> None:
    count = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 6))
        if kind == "duplicates":
            X[:, 3:] = X[:, :3] * [1.0, -1.0, 1.0]
        elif kind == "ties":
            X = np.kron(np.eye(6), np.ones((4, 1)))[:20]
        elif kind == "zeros":
            X[:, [1, 4]] = 0.0
        elif kind == "far":
            X += 100.0
        y = X @ rng.normal(size=6) + rng.normal(size=20)
        if kind == "ties":
            y = np.ones(20)
        ridge: Any = 0.05
        if kind == "scales":
            X, ridge = X * np.logspace(-8, 8, 6), 0.05 * np.logspace(-16, 16, 6)
        program = Program(
            X,
            y,
            k=(0, 1, 2, 3, 9)[seed],
            ridge=ridge,
            fit_intercept=bool(seed % 2) or kind == "far",
            sample_weight=rng.uniform(0.5, 2.0, 20) if seed % 3 == 0 else None,
            offset=rng.normal(size=20) if seed == 2 else None,
            always=([2] if groups is None else [groups[2]]) if seed == 3 else [],
            never=([5] if groups is None else [groups[5]]) if seed == 1 else [],
            groups=groups,
        )
        # A level of 100 costs digits, in each feature.
        count += tried(program, rng=rng, tight=kind != "far")
    assert count >= 8


def test_effort() -> None:
    assert effort(3, 100, 100) < effort(3, 200, 200) < math.inf == effort(4, 5, 5)
    assert effort(9, 3, 3) < math.inf  # all of them
    assert effort(2, 50, 50) < 50 * effort(2, 10, 10)
    assert effort(0, 50, 50) == effort(-1, 50, 50) <= effort(1, 50, 50) < effort(1, 50, 80)


def test_where_it_is_not_possible() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    state = np.zeros(3, dtype=np.int8)
    for options in (
        {"l0": 0.1, "ridge": 0.1},
        {"k": 1, "ball": 1.0},
        {"k": 1, "ridge": 0.1, "positive": True},
        {"k": 1, "ridge": 0.1, "loss": "huber"},
    ):
        exhaustion = Exhaustion(Curvature(Program(X, y, **options)))
        assert not exhaustion.possible
        assert exhaustion.effort(state) == math.inf
