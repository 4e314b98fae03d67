"""Time limits, with clocks that tests wind: loops end, and what they leave is valid."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random as sparse_random

import sparsebounds as sb
from sparsebounds._support import deadline as _deadline
from sparsebounds._support.deadline import NEVER, Deadline, TimeUp
from sparsebounds.bounds import enclosed
from sparsebounds.matrices.sparse import SparseMatrix
from sparsebounds.program import Program
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force

pytestmark = pytest.mark.filterwarnings("ignore::sparsebounds.relaxation.RelaxationWarning")
RNG = np.random.default_rng(5)
X = RNG.normal(size=(14, 7)) + RNG.normal(size=(14, 1))
Y = RNG.normal(size=14)
LIMITS = (1e-3, 3.0, 10.0, 40.0, 150.0)
AFTER = 60
"""Looks at the clock after the time is up, at most: those of loops that then end."""


class Clock:
    """A clock that goes on by one second at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(_deadline, "clock", found)
    return found


PROBLEMS: dict[str, dict[str, Any]] = {
    "k+ridge": {"k": 3, "ridge": 0.01},
    "l0+ridge": {"l0": 0.02, "ridge": 0.01, "fit_intercept": True},
    "k+ball": {"k": 2, "ball": 1.0},
    "l0+ball": {"l0": 0.02, "ball": 1.0},
    "logistic": {"k": 3, "ridge": 0.01, "loss": "logistic", "fit_intercept": True},
    "tukey": {"k": 2, "ridge": 0.05, "loss": "tukey"},
    "sigmoid": {"l0": 0.01, "ridge": 0.05, "loss": "sigmoid"},
}


def posed(name: str) -> Program:
    two = name in ("logistic", "sigmoid")
    return Program(X, Y > 0 if two else Y, **PROBLEMS[name])


def assert_valid(program: Program, found: Any, optimum: float) -> None:
    assert found.lower <= optimum
    assert found.upper >= optimum - 1e-9 * abs(program.null)
    assert program.objective(found.coef, found.intercept) == pytest.approx(found.upper, rel=1e-9)
    assert found.certificate.verify(X, program.y).ok


@pytest.mark.parametrize("name", PROBLEMS)
def test_solve_ends(name: str, clock: Clock) -> None:
    program = posed(name)
    optimum = brute_force(program).value
    for exact in (False, True) if program.loss.convex else (False,):
        for limit in LIMITS:
            began = clock.now
            found = solve_program(program, 1e-9, exact=exact, time_limit=limit)
            assert clock.now - began <= limit + AFTER
            assert_valid(program, found, optimum)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in ("tukey", "sigmoid")])
def test_paths_and_lists_end(name: str, clock: Clock) -> None:
    program = posed(name)
    best = brute_force(program).value
    by_price = program.l0 is not None
    grid: dict[str, Any] = {"l0s": [0.2, 0.02]} if by_price else {"ks": [1, 2, 3]}
    points = [
        program.with_price(value) if by_price else program.with_budget(value)
        for value in next(iter(grid.values()))
    ]
    optima = [brute_force(point).value for point in points]
    for limit in LIMITS:
        began = clock.now
        path = sb.path(program, **grid, exact=True, time_limit=limit)
        assert clock.now - began <= limit + AFTER
        assert len(path) >= 1
        for point, problem, optimum in zip(path, points, optima, strict=False):
            assert_valid(problem, point, optimum)
        began = clock.now
        near = sb.near_optimal(program, 0.01, time_limit=limit)
        assert clock.now - began <= limit + AFTER
        assert near.lower <= best <= near.upper * (1.0 + 1e-9) + 1e-12
        assert near.complete or "time_limit" in near.message
        began = clock.now
        relaxed = sb.relax(program, 1e-12, time_limit=limit)
        assert clock.now - began <= limit + AFTER
        assert relaxed.lower <= best
        certificate = sb.certify(program, np.zeros(program.m), time_limit=limit)
        assert certificate.lower <= best


def test_ranks_end(clock: Clock) -> None:
    program = posed("k+ridge")
    found = sb.rank_bounds(program, [1, 2, 3, 4], time_limit=5.0)
    assert 1 <= len(found.rows) < 4
    assert found.certificate.lower <= brute_force(program).value


def test_a_search_that_time_ends_goes_on(clock: Clock, tmp_path: Path) -> None:
    """What time cuts short is not kept: all the pieces make the nodes of one search."""
    program, file = posed("l0+ridge"), tmp_path / "search.npz"
    whole = solve_program(program, 1e-9, exact=True)
    for _ in range(40):
        piece = solve_program(program, 1e-9, exact=True, checkpoint=file, time_limit=200.0)
        assert_valid(program, piece, whole.upper)
        if piece.status == "optimal":
            break
    assert (piece.lower, piece.upper) == (whole.lower, whole.upper)
    assert piece.stats.nodes == whole.stats.nodes


@pytest.mark.parametrize("loss", ["squared", "tukey"])
def test_passes_end(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a pass over X takes a second, it ends within a few passes of the limit."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 400))
    y = A[:, :8] @ np.ones(8) + rng.normal(size=30)

    def passes(limit: float | None) -> float:
        program = Program(A, y, l0=0.1, ridge=0.03, loss=loss)
        monkeypatch.setattr(_deadline, "clock", lambda: program.matrix.passes)
        began = program.matrix.passes
        solve_program(program, time_limit=limit)
        return program.matrix.passes - began

    whole = passes(None)
    assert whole > 8.0
    for limit in (1e-3, 2.0, 3.5):
        assert passes(limit) <= limit + 4.5


def test_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(_deadline, "clock", lambda: now[0])
    deadline = Deadline.of(8.0)
    assert Deadline.of(deadline) is deadline
    assert not deadline.late(scan=1e9)  # not measured yet
    with deadline.timed("scan", 2.0):
        now[0] += 3.0
    assert (deadline.seconds, deadline.late(scan=3.0), deadline.late(scan=3.5)) == (
        3.0,
        False,
        True,
    )
    assert deadline.cut
    earlier = deadline.before(scan=2.0)
    assert earlier.end == 15.0
    half = deadline.part(0.5)
    assert (half.end, half.cut) == (15.5, False)
    with half.timed("scan", 1.0):  # a slow one counts as twice the last
        now[0] += 40.0
    assert deadline.before(scan=1.0).end == 15.0
    with pytest.raises(TimeUp):
        deadline.require()
    assert deadline.part(0.5).end == now[0]
    assert not NEVER.late(product=math.inf)


def test_sparse_boxes() -> None:
    """Non-convex losses on wide sparse data: no dense block is made of them."""
    A = sparse_random(20, 3000, density=0.01, format="csc", random_state=0)
    y = np.asarray(A[:, :3].sum(axis=1)).ravel() + 0.1
    program = Program(A, y, k=3, ridge=0.01, loss="tukey")

    def refused(matrix: SparseMatrix, index: Any) -> Any:
        assert len(index) == 0, "a box was made of dense columns"
        return np.zeros((matrix.shape[0], 0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparseMatrix, "columns", refused)
        box = enclosed(program).box
    dense = enclosed(Program(A.toarray(), y, k=3, ridge=0.01, loss="tukey")).box
    assert box is not None
    assert dense is not None
    np.testing.assert_allclose(box.low, dense.low, rtol=1e-12)
    np.testing.assert_allclose(box.high, dense.high, rtol=1e-12)
