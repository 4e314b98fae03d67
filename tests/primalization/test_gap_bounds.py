"""gap_bounds: every number against brute force, every sentence says what it rests on."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.bounds import objective_up
from sparsebounds.bounds.shapley_folkman import refined_excess, stated_excess
from sparsebounds.losses import REGISTRY
from sparsebounds.primalization import primalized_supports
from sparsebounds.primalization.rounding import round_in_pairs
from sparsebounds.primalization.ties import tied_point
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)
K_FORMS: tuple[Form, ...] = ("k+ridge", "k+ball")
L0_FORMS: tuple[Form, ...] = ("l0+ridge", "l0+ball")
LOSSES = sorted(REGISTRY)
Maker = Callable[..., Program]


@pytest.mark.parametrize(("loss", "form"), list(itertools.product(LOSSES, K_FORMS)))
def test_k_forms_against_brute_force(low_rank: Maker, loss: str, form: Form) -> None:
    for seed, rank in ((2, 2), (3, 3), (0, 4)):
        program = low_rank(seed, loss, form, rank)
        relaxed = sb.relax(program, tol=1e-10)
        found = sb.gap_bounds(program, relaxed)
        rounding, k = 1e-12 * program.null, int(program.k or 0)
        assert found.rank == rank
        assert found.rank_tied <= rank
        assert found.stated.cardinality == min(k + rank + 2, 6)
        assert found.refined.cardinality == min(k + max(found.rank_tied - 1, 0), 6)
        assert found.exact.cardinality <= found.refined.cardinality
        assert found.same_k.cardinality == k
        for bound in (found.stated, found.refined, found.exact, found.same_k, found.rounded):
            if math.isnan(bound.value):
                assert loss == "poisson"
                assert "no largest curvature" in str(bound)
                continue
            allowed = program.with_budget(bound.cardinality)
            assert brute_force(allowed).value <= bound.value + rounding
            if bound.model is not None:
                attained = objective_up(allowed, bound.model.w, bound.model.b)
                assert attained == bound.model.value <= bound.value
        # p**(k) <= p(k) <= p**(k - r + 1).
        assert relaxed.dual_value <= brute_force(program).value <= found.same_k.value + rounding
        if k - rank + 1 >= 0:
            narrow = sb.relax(program.with_budget(k - rank + 1))
            assert found.same_k.value <= narrow.value + 1e-8 * program.null


@pytest.mark.parametrize(("loss", "form"), list(itertools.product(LOSSES, L0_FORMS)))
def test_l0_forms_against_brute_force(low_rank: Maker, loss: str, form: Form) -> None:
    for seed, rank in ((2, 2), (3, 3)):
        prices = 0.05 * np.random.default_rng(seed).uniform(0.5, 1.5, size=6)
        for more in ({}, {"l0": prices}):
            program = low_rank(seed, loss, form, rank, **more)
            relaxed = sb.relax(program, tol=1e-10)
            found = sb.gap_bounds(program, relaxed)
            optimum, rounding = brute_force(program).value, 1e-12 * program.null
            assert optimum <= found.exact.value
            assert optimum <= found.refined.value + rounding
            assert found.refined.value <= found.stated.value + rounding
            dearest = np.sort(program.prices)[::-1]
            assert found.stated.value == pytest.approx(
                relaxed.value + np.sum(dearest[: rank + 1]), rel=1e-12
            )
            for bound in (found.same_k, found.rounded):
                assert math.isnan(bound.value)
                assert str(bound).endswith("the program sets a price l0 and no k.")


def test_rounding_in_pairs_on_many_features(rng: np.random.Generator) -> None:
    """The rounded model obeys its bound and k, the bound is no weaker than the a priori one."""
    fractional = 0
    for seed in range(12):
        X = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 40))
        y = X[:, :4].sum(axis=1) + rng.normal(size=60)
        loss = ("squared", "logistic", "huber", "squared_hinge")[seed % 4]
        y = np.sign(y) if REGISTRY[loss].two_class else y
        size = {"ridge": 0.5} if seed % 3 else {"ball": 0.1}
        intercept = bool(seed % 2)
        program = Program(X, y, k=4, loss=loss, fit_intercept=intercept, **size)
        relaxed = sb.relax(program, tol=1e-10)
        primal = sb.primalize(program, relaxed, draws=0)
        found = sb.gap_bounds(program, relaxed)
        fractional += primal.n_fractional > 0
        model = found.rounded.model
        assert np.count_nonzero(model.w) <= 4
        assert objective_up(program, model.w, model.b) <= found.rounded.value
        # L tau R^2 r_T / (2 ridge) of the theory, with tau/ridge = v^2/2.
        if primal.n_fractional:
            columns = X - X.mean(axis=0) if intercept else X
            tied = primal.tied
            v = relaxed.w[tied] / relaxed.u[tied]
            largest = np.max(v**2 * np.mean(columns[:, tied] ** 2, axis=0))
            a_priori = REGISTRY[loss].smoothness * largest * primal.rank_tied / 4
            assert found.rounded.value <= relaxed.value + a_priori * (1 + 1e-6)
        support = primalized_supports(program, relaxed)[0]
        assert len(support) <= 4
    assert fractional >= 6


@pytest.mark.parametrize("size", [{"ridge": 1.0}, {"ball": 0.5}])
def test_rounding_in_pairs_is_sharp(size: dict[str, float]) -> None:
    """Two orthogonal columns that share k = 1 by halves: either end costs the bound exactly."""
    program = Program(np.eye(2), np.array([2.0, 2.0]), k=1, **size)
    relaxed = sb.relax(program, tol=1e-10)
    primal = sb.primalize(program, relaxed, draws=0)
    point = tied_point(program, relaxed.w, relaxed.b)
    ends, excess = round_in_pairs(point, primal.u[point.tied])
    assert sorted(ends) == [0.0, 1.0]
    w, _ = point.moved(ends)
    rise = program.F.value(w) - program.F.value(relaxed.w)
    assert rise == pytest.approx(excess, rel=1e-6)
    assert excess > 0.01 * relaxed.value
    found = sb.gap_bounds(program, relaxed)
    assert found.rounded.value == pytest.approx(relaxed.value + excess, rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_supports_for_a_search_obey_the_program(form: Form) -> None:
    for seed in range(40):
        program = random_program(seed, form=form, fit_intercept=bool(seed % 2))
        for support in primalized_supports(program, sb.relax(program)):
            assert np.all(program.free[support])
            assert program.k is None or len(support) <= program.k


def test_a_large_ridge_makes_the_refined_bound_small() -> None:
    """l0 + ridge: L |x v|^2/8 for each tied feature, in place of l0, and brute force agrees."""
    smaller = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 6))
        y = 3.0 * rng.normal(size=8)
        program = Program(X, y, l0=0.05, ridge=2.0)
        relaxed = sb.relax(program, tol=1e-12)
        primal = sb.primalize(program, relaxed, draws=0)
        found = sb.gap_bounds(program, relaxed)
        assert brute_force(program).value <= found.refined.value + 1e-12
        plain = relaxed.value + 0.05 * primal.rank_tied
        assert found.refined.value <= plain + 1e-12
        if primal.rank_tied:
            smaller += found.refined.value < plain - 1e-3
            assert "L |x_i v_i|^2/8" in str(found.refined)
    assert smaller >= 3


def test_numbers_of_the_paper_and_ours() -> None:
    X = np.eye(3)
    program = Program(X, np.ones(3), l0=np.array([0.1, 0.2, 0.4]), ridge=1.0)
    assert stated_excess(program, 1) == pytest.approx(0.6)
    assert stated_excess(program, 7) == pytest.approx(0.7)
    flat = np.full(3, np.inf)
    assert refined_excess(program, program.prices, flat, 2) == pytest.approx(0.6)
    assert refined_excess(program, program.prices, np.full(3, 0.8), 2) == pytest.approx(0.2)


def test_sentences() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 12))
    y = X @ rng.normal(size=12) + rng.normal(size=50)
    program = Program(X, y, k=3, ridge=1.0)
    relaxed = sb.relax(program)
    found = sb.gap_bounds(program, relaxed)
    assert re.match(
        r"As stated \(Theorem 2\.1 of the paper\): p\(k \+ r \+ 2\) = p\(8\) <= p\*\*\(3\) = "
        r"[\d.]+, r = 3 \(the rank of X: distances below 1e-10 of a column are 0\)\.$",
        str(found.stated),
    )
    assert "tied columns (distances below 1e-10 of a column are 0)." in str(found.refined)
    assert "attained by the primalized point" in str(found.exact)
    assert f"p**(3) = {relaxed.value:.6g} <= p(3) <= {found.same_k.value:.6g}" in str(found.same_k)
    assert "k' >= k - r + 1 = 1 is promised" in str(found.same_k)
    assert str(found).count("\n") == 4
    sparse = Program(np.eye(4), np.array([4.0, 3.0, 0.1, 0.1]), k=2, ridge=0.1)
    exact = sb.gap_bounds(sparse, sb.relax(sparse))
    assert exact.rank_tied == 0
    assert "no feature is tied" in str(exact.refined)
    assert exact.exact.value == pytest.approx(exact.refined.value)
    with pytest.warns(sb.relaxation.RelaxationWarning):
        hurried = sb.relax(program, time_limit=1e-9)
    assert "the relaxed value" in str(sb.gap_bounds(program, hurried).stated)
