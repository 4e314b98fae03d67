"""Exact search against exhaustive search: every form and loss, cold and warm, stopped anywhere."""

from __future__ import annotations

import itertools
from typing import Any, get_args

import numpy as np
import pytest
from tests.cases import LONG, seeds

import sparsebounds as sb
from sparsebounds.certificates.tree import tree_bound
from sparsebounds.datasets import make_correlated, make_low_rank
from sparsebounds.exact import ExactSearch, Proof, SearchProgress
from sparsebounds.losses import REGISTRY
from sparsebounds.models import Search, refit
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import relax
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force, random_program

EVERY = list(itertools.product(sorted(REGISTRY), get_args(Form)))
TOL = 1e-6
LONGER = make_correlated(60, 40, 0.9, nonzeros=8, random_state=0)
"""Data for searches of some hundred nodes, with k=8 and ridge=0.01."""


def searched(program: Program, *, warm: bool, **limits: Any) -> Proof:
    relaxed = relax(program)
    nothing = np.zeros(0, dtype=np.int64)
    start = Search(program, relaxed).run() if warm else refit(program, nothing)
    return ExactSearch(program, relaxed, start, TOL).run(lambda: False, **limits)


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_the_optimum_is_found_and_proved(loss: str, form: Form) -> None:
    for seed in seeds(4, loss, form):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        if not program.free.any():
            continue
        proof = searched(program, warm=seed % 4 < 2)
        optimum = brute_force(program).value
        scale = max(abs(optimum), abs(program.null), program.rounding)
        assert proof.lower <= optimum
        assert proof.model.value >= optimum - 1e-9 * scale
        # Columns of 1e8 leave no digits for more: the claim's room is relative to what they weigh.
        assert program.null_share(proof.model.value - proof.lower, proof.model.value) <= TOL


@pytest.mark.parametrize("kind", ["duplicated", "correlated", "rank 3", "scaled"])
@pytest.mark.parametrize("terms", [{"k": 3}, {"l0": 0.02}], ids=["k", "l0"])
def test_hard_columns(kind: str, terms: dict[str, Any]) -> None:
    for seed in range(6 if LONG else 2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 9))
        if kind == "duplicated":
            X[:, 5:] = X[:, :4] * rng.choice([-1.0, 1.0], 4)
        elif kind == "correlated":
            X = 0.1 * X + rng.normal(size=(25, 1))
        elif kind == "rank 3":
            X = rng.normal(size=(25, 3)) @ rng.normal(size=(3, 9))
        else:
            X = X * 10.0 ** rng.uniform(-4, 4, 9)
        y = X @ rng.normal(size=9) + rng.normal(size=25)
        program = Program(X, y, ridge=0.01, **terms)
        proof = searched(program, warm=bool(seed % 2))
        optimum = brute_force(program).value
        assert proof.lower <= optimum
        distance = program.null_share if kind == "scaled" else program.relative
        assert distance(proof.model.value - proof.lower, proof.model.value) <= TOL
        assert proof.model.value == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("terms", [{"k": 3}, {"l0": 0.02}], ids=["k", "l0"])
def test_the_ball_decides_features_the_right_way(terms: dict[str, Any]) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 6)) + 0.5 * rng.normal(size=(25, 1))
        y = X[:, :3] @ np.array([2.0, -1.0, 0.5]) + rng.normal(size=25)
        program = Program(X, y, ball=2.0, **terms)
        proof, optimum = searched(program, warm=False), brute_force(program).value
        assert proof.lower <= optimum
        assert proof.model.value == pytest.approx(optimum, rel=1e-7)
        assert program.relative(proof.model.value - proof.lower, proof.model.value) <= TOL


def test_features_always_in_do_not_use_the_budget() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 8)) + rng.normal(size=(25, 1))
        y = X @ rng.normal(size=8) + rng.normal(size=25)
        program = Program(X, y, k=2, ridge=0.05, always=[0, 5])
        proof, optimum = searched(program, warm=False), brute_force(program).value
        assert proof.lower <= optimum
        assert proof.model.value == pytest.approx(optimum, rel=1e-9)
        assert program.relative(proof.model.value - proof.lower, proof.model.value) <= TOL


def test_features_of_no_price_and_no_use_cost_no_digits() -> None:
    """l0 + ball. A constant column next to an intercept has a score of 0, up to rounding."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, 5))
        X[:, 0] = 1.0
        y = X @ (rng.normal(size=5) * (rng.random(5) < 0.6)) + rng.normal(size=12)
        program = Program(
            X,
            y,
            l0=10.0 ** rng.uniform(-2, 0) * rng.integers(0, 4, size=5),
            ball=10.0 ** rng.uniform(-1.5, 0.5),
            fit_intercept=True,
            always=[0] if seed % 2 else None,
            sample_weight=rng.uniform(0.2, 2.0, size=12) if seed % 3 else None,
        )
        proof, optimum = searched(program, warm=True), brute_force(program).value
        assert proof.lower <= optimum <= proof.model.value * (1.0 + 1e-12)
        assert program.relative(proof.model.value - proof.lower, proof.model.value) <= TOL


def test_solve_proves_what_the_relaxation_cannot() -> None:
    data = make_low_rank(random_state=0)
    plain = sb.solve(data.X, data.y, k=10, ridge=0.01, exact=False)
    exact = sb.solve(data.X, data.y, k=10, ridge=0.01, exact=True)
    assert (plain.status, plain.stats.nodes) == ("bounded", 0)
    assert exact.status == "optimal"
    assert plain.lower < exact.lower <= exact.upper <= plain.upper
    assert exact.stats.nodes > 1
    assert exact.certificate.verify(data.X, data.y).ok


def test_bounds_hold_wherever_the_search_stops() -> None:
    data = LONGER
    program = Program(data.X, data.y, k=8, ridge=0.01)
    best = solve_program(program, exact=True)
    lowers = [searched(program, warm=True, node_limit=limit).lower for limit in (1, 20, 100, 400)]
    assert lowers == sorted(set(lowers))
    assert lowers[-1] <= best.upper


def test_ctrl_c_loses_nothing() -> None:
    data = LONGER
    program = Program(data.X, data.y, k=8, ridge=0.01)
    seen: list[SearchProgress] = []

    def press(now: Any) -> None:
        if isinstance(now, SearchProgress):
            seen.append(now)
            if len(seen) == 5:
                raise KeyboardInterrupt

    stopped = solve_program(program, exact=True, callback=press)
    done = solve_program(program, exact=True)
    assert len(seen) == 5
    assert stopped.status == "bounded"
    assert stopped.lower <= done.upper
    assert stopped.certificate.verify(data.X, data.y).ok
    assert "nodes" in seen[0].line()


def test_an_interrupt_in_the_middle_of_a_batch_leaves_a_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = LONGER
    program = Program(data.X, data.y, k=8, ridge=0.01)
    relaxed = relax(program)
    search = ExactSearch(program, relaxed, Search(program, relaxed).run(), 1e-4)
    bounder, calls = search.search.bounder, []
    bound = bounder.bound

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return bound(*arguments)

    monkeypatch.setattr(bounder, "bound", interrupted)
    proof = search.run(lambda: False)
    assert proof.open > 0
    assert proof.lower == tree_bound(program, proof.tree, claim=True)
    assert proof.lower <= proof.model.value
    again = search.run(lambda: False)  # and it goes on from there
    assert program.relative(again.model.value - again.lower, again.model.value) <= 1e-4


def test_node_limits_are_checked() -> None:
    with pytest.raises(ValueError, match="node_limit=0 must be a whole number, 1 or more"):
        sb.solve([[1.0], [2.0]], [1.0, 0.0], k=1, ridge=1.0, exact=True, node_limit=0)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_node_without_open_features_is_solved_exactly(loss: str) -> None:
    # One feature of length 1e7: the node that has it in is all but closed by its parent's solution.
    program = random_program(7010, loss=loss, form="l0+ridge")
    relaxed = relax(program)
    nothing = refit(program, np.zeros(0, dtype=np.int64))
    proof = ExactSearch(program, relaxed, nothing, 1e-6).run(lambda: False)
    assert program.relative(proof.model.value - proof.lower, proof.model.value) <= 1e-6
