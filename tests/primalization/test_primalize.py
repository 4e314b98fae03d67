"""primalize: few fractional weights, the same predictions, the objective that the formulas say."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds._support.rounding import in_ball
from sparsebounds.bounds import bidual_value, objective_up
from sparsebounds.losses import REGISTRY
from sparsebounds.primalization import Primalization
from sparsebounds.primalization.ties import cheapest_weights, tied_point
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import Relaxation, RelaxationWarning
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)
EVERY = list(itertools.product(sorted(REGISTRY), FORMS))
MAIN = list(itertools.product(("squared", "logistic"), FORMS))
Maker = Callable[..., Program]
Spoil = Callable[..., Relaxation]


def written_out(program: Program, relaxed: Relaxation, primal: Primalization) -> float:
    """What the primalized point is said to attain, from p**, the multiplier and the weights."""
    u = primal.u[(primal.u > 0) & (primal.u < 1)]
    price = relaxed.l0_multiplier
    return {
        "k+ridge": relaxed.value - price * np.sum(u * (1 - u)),
        "l0+ridge": relaxed.value + price * np.sum((1 - u) ** 2),
        "k+ball": relaxed.value,
        "l0+ball": relaxed.value + price * np.sum(1 - u),
    }[program.form]


def most_nonzeros(program: Program, primal: Primalization, rank: int) -> int:
    assert program.k is not None
    return program.k + rank - 1 if primal.n_fractional else program.k


@pytest.mark.parametrize(
    ("loss", "form", "rank"),
    [
        (*case, rank)
        for i, case in enumerate(EVERY)
        for j, rank in enumerate([1, 2, 3, 5])
        if LONG or (i + i // 4 + j) % 2
    ],
)
def test_counts_values_and_formulas(low_rank: Maker, loss: str, form: Form, rank: int) -> None:
    seeds = range(4) if loss in ("squared", "logistic") else range(2, 4)
    for seed in seeds:
        program = low_rank(seed, loss, form, rank)
        relaxed = sb.relax(program, tol=1e-10)
        primal = sb.primalize(program, relaxed, draws=0)
        scale = max(abs(relaxed.value), program.null)
        assert primal.n_fractional <= primal.rank_tied <= rank
        assert primal.value == pytest.approx(written_out(program, relaxed, primal), rel=1e-7)
        support = np.flatnonzero(primal.w)
        assert primal.n_nonzero == len(support)
        if program.k is not None:
            assert primal.n_nonzero <= most_nonzeros(program, primal, rank)
            assert primal.value <= relaxed.value + 1e-12 * scale
            allowed = program.with_budget(max(program.k, primal.n_nonzero))
        else:
            assert primal.value <= relaxed.value + program.l0 * rank + 1e-12 * scale
            allowed = program
        assert primal.value == objective_up(allowed, primal.w, primal.b)
        assert primal.refit_value <= primal.value
        assert set(np.flatnonzero(primal.model.w)) <= set(support)
        assert primal.model.value == objective_up(allowed, primal.model.w, primal.model.b)


@pytest.mark.parametrize(("loss", "form"), EVERY)
@given(seed=st.integers(0, 2**32 - 1), far=st.booleans())
@example(seed=13, far=True)
def test_holds_from_any_relaxed_point(
    spoilt: Spoil, loss: str, form: Form, seed: int, far: bool
) -> None:
    """Weights, signs, offsets, always, never, vectors of ridge and l0; solved, or far from it."""
    program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelaxationWarning)
        relaxed = sb.relax(program)
    if far and program.k != 0:
        rng = np.random.default_rng(seed)
        size = 0.1 * np.max(np.abs(relaxed.w))
        w = relaxed.w * rng.uniform(0.7, 1.3, size=program.m) + size * rng.normal(size=program.m)
        w = np.where(program.positive, np.abs(w), w)
        with np.errstate(over="ignore"):
            relaxed = spoilt(program, relaxed, np.where(program.never, 0.0, w))
    if not math.isfinite(relaxed.value):
        return  # spoilt beyond what the exponential function can hold
    start = tied_point(program, relaxed.w, relaxed.b)
    primal = sb.primalize(program, relaxed, draws=0)
    # Where the null model fits exactly, all that is left is the rounding of F.
    rounding = 1e-12 * abs(program.F.value(np.zeros(program.n)))
    scale = max(abs(start.value), abs(program.null), rounding, 1e-300)
    assert start.value == pytest.approx(
        bidual_value(program, start.w, start.u, start.b), rel=1e-9, abs=1e-12 * scale
    )
    assert primal.relaxed_value <= start.value + 1e-9 * scale
    assert primal.value - primal.relaxed_value == pytest.approx(primal.excess, abs=1e-9 * scale)
    assert primal.n_fractional <= primal.rank_tied <= len(primal.tied)
    free = np.flatnonzero(program.free & (primal.w != 0))
    assert primal.n_nonzero == len(free)
    if program.k is not None:
        assert primal.n_nonzero <= most_nonzeros(program, primal, primal.rank_tied)
        assert primal.excess <= 0.0
    else:
        dearest = np.sort(program.prices[primal.tied])[::-1][: primal.rank_tied]
        assert primal.excess <= np.sum(dearest) * (1 + 1e-12)
    assert not np.any(primal.w[program.never])
    assert np.all(primal.w[program.positive] >= 0)
    if program.ball is not None:
        assert in_ball(primal.w, program.ball)


@pytest.mark.parametrize(("loss", "form"), MAIN)
@pytest.mark.parametrize("rank", [2, 4])
def test_optima_lie_where_they_should(low_rank: Maker, loss: str, form: Form, rank: int) -> None:
    """p(k + r - 1) <= OPT <= p**(k) <= p(k), and p** <= p <= OPT <= p** + l0 r, by brute force."""
    for seed in (2, 3):
        program = low_rank(seed, loss, form, rank)
        relaxed = sb.relax(program, tol=1e-10)
        primal = sb.primalize(program, relaxed, draws=0)
        optimum, rounding = brute_force(program).value, 1e-12 * program.null
        assert relaxed.dual_value <= optimum
        if program.k is not None:
            wider = brute_force(program.with_budget(program.k + rank - 1)).value
            assert wider <= primal.value + rounding
            assert primal.value <= relaxed.value + rounding
        else:
            assert optimum <= primal.value + rounding
            assert primal.value <= relaxed.value + program.l0 * rank + rounding


@pytest.mark.parametrize(("loss", "form"), MAIN)
def test_ties_need_no_optimality(low_rank: Maker, spoilt: Spoil, loss: str, form: Form) -> None:
    """From points spoilt by a tenth, a percent of p** too dear, k + r - 1 and l0 r all the same."""
    spoils, fractional = 0, 0
    for seed in range(12):
        program = low_rank(seed, loss, form, 2 + seed % 3)
        relaxed = sb.relax(program)
        rng = np.random.default_rng(seed)
        w = relaxed.w + 0.1 * np.max(np.abs(relaxed.w)) * rng.normal(size=program.m)
        start = tied_point(program, w, relaxed.b)
        spoils += start.value > 1.01 * relaxed.value
        primal = sb.primalize(program, spoilt(program, relaxed, w), draws=0)
        assert primal.n_fractional <= 2 + seed % 3
        if program.k is not None:
            assert primal.n_nonzero <= most_nonzeros(program, primal, 2 + seed % 3)
            assert primal.value <= start.value + 1e-12
        else:
            assert primal.value <= start.value + program.l0 * (2 + seed % 3)
        assert primal.relaxed_value >= relaxed.dual_value
        fractional += primal.n_fractional > 0
    assert spoils >= 4
    assert fractional >= 4


@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 2**32 - 1))
def test_cheapest_weights_are_cheapest(form: Form, seed: int) -> None:
    """No other weights of this w cost less: against a fine search along random directions."""
    program = random_program(seed, form=form)
    rng = np.random.default_rng(seed)
    w = np.where(program.positive, 1.0, -1.0) ** 2 * rng.uniform(0.0, 1.0, size=program.m)
    w[program.never] = 0.0
    if program.k == 0:
        w[program.free] = 0.0
    point = tied_point(program, w, 0.0)
    u = cheapest_weights(program, point.w)
    best = bidual_value(program, point.w, u)
    assert math.isfinite(best)
    for _ in range(50):
        other = np.clip(u * rng.uniform(0.5, 1.5, size=program.m), 0.0, 1.0)
        if program.k is not None and other[program.free].sum() > 0:
            other[program.free] *= min(1.0, program.k / other[program.free].sum())
        other = np.where(program.always, 1.0, other)
        assert bidual_value(program, point.w, other) >= best * (1 - 1e-9) - 1e-12


@pytest.mark.parametrize("loss", sorted(REGISTRY))
@pytest.mark.parametrize("size", ["ridge", "ball"])
def test_rank_one_is_exact(low_rank: Maker, loss: str, size: str) -> None:
    form: Form = "k+ridge" if size == "ridge" else "k+ball"
    for seed in range(2, 6):
        program = low_rank(seed, loss, form, 1, m=5)
        relaxed = sb.relax(program, tol=1e-10)
        primal = sb.primalize(program, relaxed, draws=0)
        optimum = brute_force(program).value
        assert primal.n_nonzero <= program.k
        assert optimum == pytest.approx(relaxed.value, rel=1e-8)
        assert primal.value == pytest.approx(optimum, rel=1e-8)


@pytest.mark.parametrize(("k", "r"), [(1, 2), (2, 3), (3, 4)])
def test_k_plus_r_minus_1_is_sharp(k: int, r: int) -> None:
    """k - 1 columns 3 e_1 beside e_1, ..., e_r: with k + r - 2 nonzeros p** is out of reach."""
    X = np.column_stack([3.0 * np.eye(r)[:, [0]].repeat(k - 1, axis=1), np.eye(r)])
    u = np.full(r, 0.4 / (r - 1))
    u[0] = 0.6
    target = 9.0 * (k - 1) * np.eye(r)[0] + u
    steep = 1e4
    # F = steep/2 |z - y|^2; y puts the gradient at z = target to minus (1, ..., 1).
    X, y = math.sqrt(steep * r) * X, math.sqrt(steep * r) * (target + 1.0 / steep)
    program = Program(X, y, k=k, ridge=1.0)
    relaxed = sb.relax(program, tol=1e-12)
    assert relaxed.value == pytest.approx(0.5 * (9.0 * (k - 1) + 1.0) + r / (2 * steep), rel=1e-9)
    primal = sb.primalize(program, relaxed, draws=0)
    assert primal.n_fractional == r
    assert primal.n_nonzero == k + r - 1
    assert brute_force(program.with_budget(k + r - 1)).value < relaxed.value
    assert brute_force(program.with_budget(k + r - 2)).value > relaxed.value * 1.001


@pytest.mark.parametrize("r", [1, 2, 4])
def test_l0_r_is_sharp(r: int) -> None:
    """X = c I, y = c a with c large and a small: p is nearly l0 r and p** nearly 0."""
    a, l0, ridge = 1e-4, 1.0, 1.0
    X = 1e8 * np.eye(r)
    program = Program(X, np.full(r, 1e8 * a), l0=l0, ridge=ridge)
    relaxed = sb.relax(program, tol=1e-12)
    optimum = brute_force(program).value
    assert optimum - relaxed.dual_value >= 0.999 * l0 * r
    primal = sb.primalize(program, relaxed, draws=0)
    assert primal.value - relaxed.value <= l0 * r
    assert primal.value == pytest.approx(optimum, rel=1e-7)


def repeated(loss: str, **more: object) -> Program:
    """10 columns of rank 5, each 6 times with random signs."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 10))
    X = np.tile(base, (1, 6)) * rng.choice([-1.0, 1.0], size=60)
    signal = base[:, :3] @ rng.normal(size=3) + rng.normal(size=80)
    return Program(X, np.sign(signal) if loss == "logistic" else signal, loss=loss, **more)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "form",
    [
        {"k": 4, "ridge": 0.1},
        {"l0": 0.02, "ridge": 0.1},
        {"k": 4, "ball": 0.5},
        {"l0": 0.02, "ball": 0.5},
    ],
    ids=lambda form: "+".join(form),
)
def test_dozens_of_fractional_weights_become_five(loss: str, form: dict[str, float]) -> None:
    program = repeated(loss, **form)
    relaxed = sb.relax(program)
    primal = sb.primalize(program, relaxed)
    assert np.count_nonzero((relaxed.u > 1e-6) & (relaxed.u < 1 - 1e-6)) >= 12
    assert primal.n_fractional <= 5
    assert primal.argument == "vertex"
    assert not primal.unique
    assert primal.value == pytest.approx(written_out(program, relaxed, primal), rel=1e-7)
    # z has not moved.
    np.testing.assert_allclose(
        program.matrix.columns(np.arange(60)) @ primal.w,
        program.matrix.columns(np.arange(60)) @ relaxed.w,
        atol=1e-4,
    )
    # The paper's program finds vertices of the same set.
    assert len(primal.values) == 20
    assert np.all(np.isfinite(primal.values))
    if program.k is not None:
        assert np.all(primal.values <= relaxed.value * (1 + 1e-9))
    else:
        assert np.all(primal.values <= relaxed.value + 0.02 * 6)


def four_ties(**more: object) -> Program:
    """e_1, e_2, (2, -1) and (-1, 2) have the same product with (1, 1): tied, of rank 2."""
    X = np.array([[1.0, 0.0, 2.0, -1.0], [0.0, 1.0, -1.0, 2.0]])
    return Program(X, np.array([2.0, 2.0]), k=1, ridge=1.0, **more)


def test_draws_show_the_spread_and_uniqueness_is_tested() -> None:
    program = four_ties()
    relaxed = sb.relax(program, tol=1e-12)
    assert np.count_nonzero(relaxed.u > 1e-6) == 4
    primal = sb.primalize(program, relaxed, draws=20)
    assert primal.argument == "vertex"
    assert primal.rank_tied == 2
    assert primal.n_fractional <= 2
    # (1/2, 1/2) on a symmetric pair gives tau/2, (1/4, 3/4) on the others 3 tau/8.
    tau = relaxed.l0_multiplier
    below = np.round((relaxed.value - primal.values) / tau, 6)
    assert set(below) == {0.375, 0.5}
    again = sb.primalize(program, relaxed, draws=20)
    np.testing.assert_array_equal(again.values, primal.values)
    other = sb.primalize(program, relaxed, draws=20, random_state=1)
    assert np.any(other.values != primal.values)
    # Without two of the columns the weights are unique, and no linear program is needed.
    unique = four_ties(never=[2, 3])
    primal = sb.primalize(unique, sb.relax(unique, tol=1e-12), draws=20)
    assert primal.argument == "unique"
    assert primal.unique
    assert np.all(primal.values == primal.value)


@pytest.mark.parametrize("form", FORMS)
def test_draws_of_the_paper_obey_the_paper(low_rank: Maker, form: Form) -> None:
    """Its LP with all its rows, from spoilt points: k + r + 2 nonzeros and l0 (r + 2) at most."""
    from sparsebounds.primalization.paper import paper_points

    for seed in range(2, 12, 4):
        program = low_rank(seed, "squared", form, 2, m=12)
        relaxed = sb.relax(program)
        rng = np.random.default_rng(seed)
        point = tied_point(program, relaxed.w * rng.uniform(0.9, 1.1, size=12), relaxed.b)
        for found in paper_points(point, 5, rng):
            assert found is not None
            w, b = found
            wide = program if program.k is None else program.with_budget(program.k + 4)
            if program.ball is not None:
                w = w * (1 - 1e-9)
            value = objective_up(wide, w, b)
            if program.k is not None:
                assert value <= point.value * (1 + 1e-6)
            else:
                assert value <= point.value + 4 * program.l0 + 1e-6


def test_user_units_and_predictions() -> None:
    rng = np.random.default_rng(0)
    X = 50.0 + 4.0 * (rng.normal(size=(40, 3)) @ rng.normal(size=(3, 8)))
    y = X[:, 0] - X[:, 1] + rng.normal(size=40)
    program = Program(X, y, k=2, ridge=0.1, fit_intercept=True, standardize=True)
    relaxed = sb.relax(program)
    primal = sb.primalize(program, relaxed)
    np.testing.assert_allclose(
        X @ primal.coef + primal.intercept, X @ relaxed.coef + relaxed.intercept, rtol=1e-9
    )
    wide = Program(X, y, k=8, ridge=0.1, fit_intercept=True, standardize=True)
    assert wide.objective(primal.coef, primal.intercept) == pytest.approx(primal.value)
    assert str(primal).endswith(f"refitted {primal.refit_value:.6g}.")


def test_an_integral_relaxation_is_left_alone() -> None:
    X = np.eye(4)
    program = Program(X, np.array([4.0, 3.0, 0.1, 0.1]), k=2, ridge=0.1)
    relaxed = sb.relax(program)
    primal = sb.primalize(program, relaxed)
    assert primal.argument == "sparse"
    assert primal.n_fractional == primal.rank_tied == 0
    np.testing.assert_array_equal(primal.w, relaxed.w)
    assert np.all(primal.values == primal.value)


def test_dust_is_no_feature(spoilt: Spoil) -> None:
    """k = 1 and w = (1, 1e-17): rounding gives the first all of the budget, the second the rest."""
    program = Program(np.eye(2), np.array([2.0, 0.0]), k=1, ridge=1.0)
    relaxed = spoilt(program, sb.relax(program), np.array([1.0, 1e-17]))
    primal = sb.primalize(program, relaxed)
    assert primal.n_nonzero == 1
    assert primal.n_fractional == 0


def test_errors_say_what_to_pass() -> None:
    program = four_ties()
    relaxed = sb.relax(program)
    with pytest.raises(TypeError, match=r"pass a sparsebounds\.Program"):
        sb.primalize(1, relaxed)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="relaxed is a float; pass what relax returned"):
        sb.primalize(program, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="draws=-1 must be a whole number"):
        sb.primalize(program, relaxed, draws=-1)
    other = Program(np.ones((2, 3)), np.ones(2), k=1, ridge=1.0)
    with pytest.raises(ValueError, match="relaxed has 4 coefficients, but the program 3"):
        sb.primalize(other, relaxed)
    longer = Program(np.ones((3, 4)), np.ones(3), k=1, ridge=1.0)
    with pytest.raises(ValueError, match="relaxed has 2 rows, but the program 3; pass what relax"):
        sb.primalize(longer, relaxed)


@pytest.mark.parametrize("wrong", ["a", -1, True, 1.5])
def test_a_bad_seed_is_refused_with_or_without_ties(wrong: object) -> None:
    program = Program(np.eye(4), np.ones(4), k=2, ridge=1.0)
    with pytest.raises(ValueError, match=r"random_state=.* must be a whole number, 0 or more"):
        sb.primalize(program, sb.relax(program), random_state=wrong)  # type: ignore[arg-type]


def test_the_support_is_that_of_the_coefficients() -> None:
    """Whitened groups mix their columns: fewer of their own coefficients may be nonzero."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 9)) @ rng.normal(size=(9, 9))
    y = X[:, 0] - X[:, 4] + rng.normal(size=40)
    groups = np.repeat([0, 1, 2], 3)
    program = Program(X, y, k=2, ridge=0.5, groups=groups, standardize=True)
    primal = sb.primalize(program, sb.relax(program))
    np.testing.assert_array_equal(primal.support, np.flatnonzero(primal.coef))
    assert len(primal.support)
