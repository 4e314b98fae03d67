"""Screening: thousands of fixings, none wrong; signs and boxes hold at every optimum."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache, partial
from typing import get_args

import numpy as np
import pytest
from tests.cases import LONG

from sparsebounds.bounds import Node, bound_at, dual_point, screen, screen_at, widened
from sparsebounds.bounds.forcing import forced_bounds, forced_claims
from sparsebounds.losses import REGISTRY
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, conic_relaxation, random_program

FORMS = get_args(Form)
TELLING = (0, 2, 10, 12, 15, 17, 24)
"""Seeds of instances in which much is fixed, whatever the loss; of every kind."""


def instance(seed: int, loss: str, form: Form) -> Program:
    """A planted program on which screening has something to find."""
    rng = np.random.default_rng(seed)
    n, m = 12, 6
    X = rng.normal(size=(n, m))
    if seed % 4 == 1:
        X[:, 1] = X[:, 0]
    if seed % 4 == 2:
        X[:, 2] = 0.0
    signal = 2.0 * X[:, 0] - 1.5 * X[:, 3]
    if REGISTRY[loss].two_class:
        y = np.where(signal + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
        y[:2] = (-1.0, 1.0)
    elif loss == "poisson":
        y = rng.poisson(np.exp(0.5 * signal)) + 0.0
    else:
        y = signal + 0.3 * rng.normal(size=n)
    sparsity = {"k": 2} if form.startswith("k") else {"l0": (0.02, np.full(m, 0.02))[seed % 2]}
    size = {"ridge": 0.05} if form.endswith("ridge") else {"ball": 1.0 + 3.0 * rng.random()}
    if form == "l0+ball" and seed % 3 == 0:
        sparsity = {"l0": 0.02 * rng.integers(0, 3, size=m)}
    return Program(
        X,
        y,
        loss=loss,
        fit_intercept=bool(seed % 2),
        positive=seed % 5 == 0,
        always=[4] if seed % 7 == 0 else None,
        **sparsity,
        **size,
    )


def optimum_with(program: Program, i: int) -> float:
    """The best objective of a model that uses feature i (and pays for it)."""
    options = {
        "k": program.k,
        "l0": None if program.l0 is None else program.prices,
        "ridge": program.ridge,
        "ball": program.ball,
        "loss": program.loss,
        "fit_intercept": program.fit_intercept,
        "positive": program.positive,
    }
    always = np.flatnonzero(program.always).tolist()
    X = program.matrix.columns(np.arange(program.m))
    if program.k is not None:
        if program.k == 0:
            return np.inf
        # i is always in and one of the k is spent on it
        options["k"] = program.k - 1
        return brute_force(Program(X, program.y, always=[*always, i], **options)).value
    inner = Program(X, program.y, always=[*always, i], **options)
    return brute_force(inner).value + program.prices[i] * (1 + 1e-15)


def optimum_without(program: Program, i: int) -> float:
    options = {
        "k": program.k,
        "l0": None if program.l0 is None else program.prices,
        "ridge": program.ridge,
        "ball": program.ball,
        "loss": program.loss,
        "fit_intercept": program.fit_intercept,
        "positive": program.positive,
        "always": np.flatnonzero(program.always),
        "never": [*np.flatnonzero(program.never).tolist(), i],
    }
    X = program.matrix.columns(np.arange(program.m))
    return brute_force(Program(X, program.y, **options)).value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_no_fixing_is_wrong(loss: str, form: Form) -> None:
    fixed = signed = 0
    for seed in range(25) if LONG else TELLING:
        program = instance(seed, loss, form)
        best = brute_force(program)
        relaxed = conic_relaxation(program).a
        z = program.matrix.columns(np.arange(program.m)) @ best.w + best.b
        without = cache(partial(optimum_without, program))
        using = cache(partial(optimum_with, program))
        rng = np.random.default_rng(seed)
        for noise in (0.0, 0.02, 0.1, 1.0):
            # From the best dual vector to a poor one: every fixing must hold all the same.
            a = (1 - noise) * relaxed + noise * program.F.gradient(z + rng.normal(size=program.n))
            found = screen(program, a, best.value)
            for i in found.fixed_in:
                assert best.w[i] != 0
                assert without(int(i)) > best.value
            for i in found.fixed_out:
                assert best.w[i] == 0
                assert using(int(i)) > best.value
            used = np.flatnonzero(best.w)
            assert np.all(found.low[used] <= best.w[used])
            assert np.all(best.w[used] <= found.high[used])
            known = used[found.signs[used] != 0]
            assert np.all(np.sign(best.w[known]) == found.signs[known])
            fixed += len(found.fixed_in) + len(found.fixed_out)
            signed += len(known)
    # No combination is idle.
    assert fixed >= 10
    assert signed >= 20


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(30))
def test_forced_bounds_agree_with_child_nodes(form: Form, seed: int) -> None:
    """One vectorised exchange per feature = the bound of the child node, computed afresh."""
    program = random_program(seed, form=form, most_columns=5)
    rng = np.random.default_rng(seed)
    point = dual_point(program, program.F.gradient(rng.normal(size=program.n)))
    forced = forced_bounds(program, point)
    several_prices = form == "l0+ball" and np.ndim(program.l0) > 0
    for position, i in enumerate(forced.features):
        into = bound_at(program, point, Node(inside=np.array([i])))
        out = bound_at(program, point, Node(outside=np.array([i])))
        size = 1e-10 * max(1.0, abs(bound_at(program, point)))
        # Never above the child's own bound (equal but for l0 + ball, where eta is shared).
        assert forced.inside[position] <= into + size
        assert forced.outside[position] <= out + size
        if form != "l0+ball":
            assert forced.inside[position] == pytest.approx(into, rel=1e-10, abs=size)
            assert forced.outside[position] == pytest.approx(out, rel=1e-10, abs=size)
        elif not several_prices:
            plain = bound_at(program, point)
            assert forced.inside[position] >= plain - size
            assert forced.outside[position] >= plain - size


def test_direct_rule_of_the_ball_is_sharper_than_fixing_eta() -> None:
    """S_k - q_i + q_[k+1] under the root, against the same sum at a fixed multiplier."""
    sharper = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20, 8)), rng.normal(size=20)
        program = Program(X, y, k=3, ball=0.5)
        point = dual_point(program, program.F.gradient(0.1 * rng.normal(size=20)))
        forced = forced_bounds(program, point)
        q = (X.T @ (point.t / 20)) ** 2
        order = np.argsort(-q)
        for position, i in enumerate(forced.features):
            total = q[order[:3]].sum()
            if i not in order[:3]:
                total += q[i] - q[order[2]]
            expected = max(0.0, -program.F.conjugate(point.t / 20) - np.sqrt(0.5 * total))
            assert forced.inside[position] == pytest.approx(expected, rel=1e-12, abs=1e-13)
        assert np.all(forced.inside >= forced.quadratic - 1e-12)
        sharper += int(np.any(forced.inside > forced.quadratic + 1e-6))
    assert sharper >= 15


def test_screening_within_a_node_and_with_no_budget() -> None:
    rng = np.random.default_rng(0)
    program = Program(rng.normal(size=(10, 5)), rng.normal(size=10), k=0, ridge=0.1)
    found = screen(program, np.zeros(10), program.null)
    # k = 0: no model may use anything.
    assert np.array_equal(found.fixed_out, np.arange(5))
    program = Program(rng.normal(size=(10, 5)), rng.normal(size=10), k=1, ridge=0.1)
    point = dual_point(program, np.zeros(10))
    found = screen_at(program, point, program.null, Node(inside=np.array([2])))
    assert sorted(found.fixed_out) == [0, 1, 3, 4]


def test_bad_upper_is_refused() -> None:
    program = random_program(0)
    with pytest.raises(ValueError, match="upper is NaN"):
        screen(program, np.zeros(program.n), float("nan"))
    with pytest.raises(TypeError, match="must be a number: the objective of a feasible model"):
        screen(program, np.zeros(program.n), "low")
    a = program.F.gradient(np.zeros(program.n))
    with pytest.raises(ValueError, match="is below the proved lower bound"):
        screen(program, a, -1e9)


def test_nothing_is_fixed_at_a_useless_dual_vector() -> None:
    for form, seed in itertools.product(FORMS, range(5)):
        program = instance(seed, "squared", form)
        found = screen(program, np.full(program.n, 10.0), program.null)
        assert len(found.fixed_in) == 0


def test_nodes_that_have_paid_more_than_they_gain() -> None:
    """l0 + ball, one price: the direct rule within nodes whose best gain is negative."""
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10, 5))
        y = X @ rng.normal(size=5) + 0.3 * rng.normal(size=10)
        program = Program(X, y, l0=10.0 ** rng.uniform(-1.5, 1.5), ball=10.0 ** rng.uniform(-1, 2))
        inside = np.flatnonzero(rng.random(5) < 0.5)
        # The best model whose support holds `inside`, by making those features always in.
        free = Program(X, y, l0=program.l0, ball=program.ball, always=inside)
        best = brute_force(free)
        upper = best.value + program.l0 * len(inside)
        point = dual_point(program, program.F.gradient(X @ best.w))
        fixed = screen_at(program, point, upper * (1 + 1e-9), Node(inside=inside))
        assert not set(fixed.fixed_out) & set(np.flatnonzero(best.w))
        checked += len(fixed.fixed_out)
    assert checked > 50


@pytest.mark.parametrize("form", FORMS)
def test_claims_hold_for_other_last_digits(form: Form) -> None:
    """Errors far larger than those of rounding, so that eta moves from feature to feature."""
    told = 0
    for seed in range(0, 360, 3):
        program = instance(seed, "squared", form)
        rng = np.random.default_rng(seed)
        gradient = program.F.gradient(rng.normal(size=program.n))
        point = dual_point(program, 10.0 ** rng.uniform(-2, 0) * gradient)
        unsure = 10.0 ** rng.uniform(-12, 0, size=program.m) * np.abs(point.scores)
        point = replace(point, radius=unsure)
        node = Node(*np.split(rng.permutation(np.flatnonzero(program.free))[:2], 2))
        features, inside, outside = forced_claims(program, widened(program, point), node)
        for turn in range(4):
            # Both scores are within the radius of the exact one.
            moves = -np.sign(point.scores) if turn == 0 else rng.uniform(-1, 1, size=program.m)
            scores = point.scores + 2.0 * unsure * moves
            reach = np.where(program.positive, -scores, np.abs(scores)) + unsure
            other = replace(point, scores=scores, reach=np.maximum(reach, 0.0))
            found = forced_bounds(program, other, node)
            assert np.array_equal(found.features, features)
            assert np.all(np.minimum(found.inside, point.ceiling) >= inside)
            assert np.all(np.minimum(found.outside, point.ceiling) >= outside)
        told += int(np.sum(inside > np.min(inside)))
    assert told > 20
