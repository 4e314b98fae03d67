"""gap_bounds: every number against brute force, every sentence says what it rests on."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import warnings
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds.bounds import objective_up
from sparsebounds.bounds.shapley_folkman import refined_excess, rounded_share, stated_excess
from sparsebounds.losses import REGISTRY
from sparsebounds.primalization import primalized_supports
from sparsebounds.primalization.rounding import round_in_pairs
from sparsebounds.primalization.ties import tied_point
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import Relaxation, RelaxationWarning
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)
K_FORMS: tuple[Form, ...] = ("k+ridge", "k+ball")
L0_FORMS: tuple[Form, ...] = ("l0+ridge", "l0+ball")
LOSSES = sorted(REGISTRY)
Maker = Callable[..., Program]


@pytest.mark.parametrize(("loss", "form"), list(itertools.product(LOSSES, K_FORMS)))
def test_k_forms_against_brute_force(low_rank: Maker, loss: str, form: Form) -> None:
    # Two of three ranks for each: all three for every loss, and for every form.
    ranks = ((2, 2), (3, 3), (0, 4))
    for seed, rank in ranks if LONG else {*ranks} - {ranks[(LOSSES.index(loss) + len(form)) % 3]}:
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
    """l0 + ridge: l0 phi for each tied feature, in place of l0, and brute force agrees."""
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
            assert "l0 phi(L |x_i|^2/ridge)" in str(found.refined)
    assert smaller >= 3


def test_numbers_of_the_paper_and_ours() -> None:
    X = np.eye(3)
    program = Program(X, np.ones(3), l0=np.array([0.1, 0.2, 0.4]), ridge=1.0)
    assert stated_excess(program, 1) == pytest.approx(0.6)
    assert stated_excess(program, 7) == pytest.approx(0.7)
    flat = np.full(3, np.inf)
    assert refined_excess(program, program.prices, flat, 2) == pytest.approx(0.6)
    # c = |v x|^2/(2 l0) is 4, 2 and 1: l0 phi(c) is 0.1 (4/5)^2, 0.2 (2/3)^2 and 0.4/4.
    assert refined_excess(program, program.prices, np.full(3, 0.8), 2) == pytest.approx(
        0.1 + 4 / 45
    )
    priced = Program(X, np.ones(3), l0=0.1, ball=1.0)
    assert refined_excess(priced, priced.prices, np.full(3, 0.01), 2) == pytest.approx(0.2)


def test_phi_is_the_largest_that_rounding_one_by_one_can_cost() -> None:
    u = np.linspace(0.0, 1.0, 200_001)
    for c in (1e-3, 0.5, 1.0, 1.5, 4.0, 100.0):
        worst = np.max(np.minimum((1 - u) ** 2, c * u * (1 - u)))
        assert rounded_share(np.array([c]))[0] == pytest.approx(worst, rel=1e-5)
        assert worst < min(1.0, c / 4) * (1 + 1e-12)
    assert rounded_share(np.array([np.inf]))[0] == 1.0


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
    inexact = sb.gap_bounds(program, hurried)
    assert "the relaxed value" in str(inexact.stated)
    assert "p**" not in str(inexact)


@pytest.mark.parametrize("form", FORMS)
def test_sentences_of_an_inexact_relaxation_are_true(low_rank: Maker, form: Form) -> None:
    """No p** in them, and every number is on its side of the referee's optimum."""
    for seed in range(4):
        program = low_rank(seed, "squared", form, 3)
        with pytest.warns(RelaxationWarning):
            hurried = sb.relax(program, time_limit=1e-9)
        found = sb.gap_bounds(program, hurried)
        assert "p**" not in str(found)
        if program.k is None:
            assert brute_force(program).value <= found.refined.value
            continue
        said = re.match(r"Same k: the dual value (\S+) <= p\(\d\) <= (\S+), ", str(found.same_k))
        assert said
        optimum = brute_force(program).value
        assert float(said[1]) <= optimum <= float(said[2]) * (1 + 1e-5)
    primal = sb.primalize(program, hurried)
    assert primal.argument == "sparse"
    assert "exact" not in str(primal)


DATA = np.random.default_rng(0).normal(size=(12, 6))
RESPONSE = DATA @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0]) + 0.1 * DATA[:, ::-1].sum(axis=1)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"y": 1e-3 * RESPONSE}, "has the value .* but its point has"),
        ({"X": 2.0 * DATA}, "has the value .* but its point has"),
        ({"ridge": 0.3}, "has the value .* but its point has"),
        ({"k": 3}, "weights sum to 3, above k=2"),
        ({"fit_intercept": True}, "breaks a constraint of the program: it has an intercept"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_the_relaxation_of_another_program_is_refused(more: dict, why: str) -> None:
    asked = {"X": DATA, "y": RESPONSE, "k": 2, "ridge": 0.1}
    program, other = Program(**asked), Program(**(asked | more))
    relaxed = sb.relax(other)
    for function in (sb.gap_bounds, sb.primalize):
        with pytest.raises(ValueError, match=rf"relaxed .*{why}.*pass what relax returned for"):
            function(program, relaxed)
        function(other, relaxed)


def test_signs_exclusions_and_the_ball_of_another_program() -> None:
    free = Program(DATA, RESPONSE, k=2, ridge=0.1)
    relaxed = sb.relax(free)
    for more, why in (
        ({"positive": True}, "feature 1 has to be positive"),
        ({"never": [0]}, "feature 0 is never in"),
        ({"always": [5]}, "its weights u are not those of w"),
    ):
        with pytest.raises(ValueError, match=rf"relaxed breaks a constraint.*{why}; pass what"):
            sb.gap_bounds(Program(DATA, RESPONSE, k=2, ridge=0.1, **more), relaxed)
    wide = sb.relax(Program(DATA, RESPONSE, k=2, ball=0.5))
    with pytest.raises(ValueError, match=r"its size is 0\.5, above ball=0\.1"):
        sb.gap_bounds(Program(DATA, RESPONSE, k=2, ball=0.1), wide)


def test_a_smaller_budget_is_a_relaxed_point_and_no_more() -> None:
    """k = 1 obeys k = 2: its bounds hold there, under a name of their own."""
    program = Program(DATA, RESPONSE, k=2, ridge=0.1)
    found = sb.gap_bounds(program, sb.relax(program.with_budget(1)))
    assert "p**" not in str(found)
    for bound in (found.stated, found.refined, found.exact, found.same_k, found.rounded):
        assert brute_force(program.with_budget(bound.cardinality)).value <= bound.value


@pytest.mark.parametrize("offset", [10**9.5, 10**10.5, 1e11])
@pytest.mark.parametrize("form", FORMS)
def test_large_means_hide_no_rank(offset: float, form: Form) -> None:
    """An intercept makes a mean irrelevant: ranks are those of the centred columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5)) + offset
    centred = X - X.mean(axis=0)
    y = centred.sum(axis=1) + 3.0 * rng.normal(size=20)
    sparsity = {"k": 2} if form.startswith("k") else {"l0": 0.5}
    size = {"ridge": 1.0} if form.endswith("ridge") else {"ball": 1.0}
    program, plain = (Program(A, y, fit_intercept=True, **sparsity, **size) for A in (X, centred))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelaxationWarning)
        relaxed = sb.relax(program)
    found = sb.gap_bounds(program, relaxed)
    assert found.rank == 5
    reference = sb.gap_bounds(plain, sb.relax(plain))
    assert found.rank_tied == reference.rank_tied
    allowed = plain if program.k is None else plain.with_budget(found.refined.cardinality)
    assert brute_force(allowed).value <= found.refined.value
    assert found.refined.value == pytest.approx(reference.refined.value, rel=1e-3)


def test_rank_zero_promises_k() -> None:
    program = Program(np.ones((6, 3)), np.arange(6.0), k=2, ridge=0.1, fit_intercept=True)
    found = sb.gap_bounds(program, sb.relax(program))
    assert found.rank == 0
    assert "at k' = 2, " in str(found.same_k)
    assert "k' >= k = 2 is promised, r = 0" in str(found.same_k)


def test_an_interrupt_ends_the_search_for_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(DATA, RESPONSE, k=2, ridge=0.1)
    relaxed = sb.relax(program)
    asked = []

    def interrupted(smaller: Program, **_: object) -> Relaxation:
        asked.append(smaller.k)
        return dataclasses.replace(relaxed, interrupted=True)

    monkeypatch.setattr("sparsebounds.primalization.gap.relaxation_of", interrupted)
    found = sb.gap_bounds(program, relaxed)
    assert asked == [1]
    assert math.isnan(found.same_k.value)
    assert str(found.same_k) == "Same k: interrupted; call gap_bounds again to go on."
