"""relax against the conic referee, against brute force and against itself."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import get_args

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.cases import seeds

import sparsebounds as sb
from sparsebounds.bounds import best_cover, bound_at, dual_point
from sparsebounds.datasets import make_correlated, make_low_rank
from sparsebounds.losses import REGISTRY
from sparsebounds.penalties import KRidge, L0Ridge
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import Progress, RelaxationWarning, dual_points, relax
from sparsebounds.testing import brute_force, conic_relaxation, random_program

FORMS = get_args(Form)
EVERY = list(itertools.product(sorted(REGISTRY), FORMS))
SEEDS = st.integers(0, 2**32 - 1)


def data(kind: str, loss: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, m = 20, 12
    X = rng.normal(size=(n, m))
    if kind == "duplicated":
        X = X[:, rng.integers(0, 5, size=m)] * rng.choice([-1.0, 1.0], size=m)
    elif kind == "rank-deficient":
        X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, m))
    elif kind == "badly scaled":
        X = X * 10.0 ** rng.uniform(-4, 4, size=m)
    signal = X @ (rng.normal(size=m) * (rng.random(m) < 0.4) / np.abs(X).max(axis=0))
    if REGISTRY[loss].two_class:
        y = np.where(signal + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
        y[:2] = (-1.0, 1.0)
        return X, y
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.5 * signal)) + (np.arange(n) == 0) * 1.0
    return X, signal + 0.5 * rng.normal(size=n)


def settings(form: Form, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    sparsity = {"k": int(rng.integers(1, 5))} if form.startswith("k") else {"l0": 0.03}
    size = {"ridge": 0.1} if form.endswith("ridge") else {"ball": 1.0}
    return sparsity | size


def relaxed_objective(program: Program, w: np.ndarray, b: float, u: np.ndarray) -> float:
    """F + the penalty at (w, u), written out; inf where u is not allowed."""
    z = program.matrix.columns(np.arange(program.m)) @ w + b
    value = program.F.value(z) + float(program.prices @ u)
    support = w != 0
    quotient = w[support] ** 2 / u[support]
    assert np.all((u >= 0) & (u <= 1 + 1e-12))
    assert np.all(u[program.always] == 1.0)
    if program.k is not None:
        assert u[program.free].sum() <= program.k * (1 + 1e-10)
    if program.ball is None:
        return value + 0.5 * float(program.ridges[support] @ quotient)
    assert quotient.sum() <= program.ball * (1 + 1e-9)
    return value


@pytest.mark.parametrize(("loss", "form"), EVERY)
@pytest.mark.parametrize("kind", ["random", "duplicated", "rank-deficient", "badly scaled"])
def test_agrees_with_the_conic_solver(loss: str, form: Form, kind: str) -> None:
    for seed, intercept in ((0, False), (1, True)):
        X, y = data(kind, loss, seed)
        program = Program(X, y, loss=loss, fit_intercept=intercept, **settings(form, seed))
        found, referee = relax(program), conic_relaxation(program)
        scale = max(abs(found.value), program.null)
        assert found.status == "optimal"
        assert found.value >= found.dual_value
        assert found.gap <= 1e-8 * scale
        assert abs(found.value - referee.value) <= 1e-6 * scale
        assert relaxed_objective(program, found.w, found.b, found.u) == pytest.approx(
            found.value, rel=1e-9, abs=1e-9 * scale
        )


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_no_feature_at_all() -> None:
    """k = 0 leaves the intercept; the conic program has no interior, and its solver says so."""
    unsure = 0
    for seed in range(3):
        X, y = data("random", "logistic", seed)
        program = Program(X, y, loss="logistic", k=0, ball=70.0, fit_intercept=True, positive=True)
        found, referee = relax(program), conic_relaxation(program)
        share = float(np.mean(y > 0))
        entropy = -share * np.log(share) - (1.0 - share) * np.log1p(-share)
        assert found.dual_value <= found.value == pytest.approx(entropy, rel=1e-14)
        assert found.gap <= 1e-12
        assert not referee.accurate or referee.value == pytest.approx(entropy, rel=1e-7)
        unsure += not referee.accurate
    assert unsure > 0


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_bounds_hold_whatever_happens(loss: str, form: Form) -> None:
    for seed in seeds(6, loss, form):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RelaxationWarning)
            found = relax(program)
        optimum = brute_force(program).value
        assert found.lower <= optimum
        assert found.dual_value <= optimum
        assert found.value >= found.dual_value
        # Where the null model fits exactly, all that is left is the rounding of F.
        rounding = 1e-12 * abs(program.F.value(np.zeros(program.n)))
        scale = max(abs(found.value), abs(program.null), rounding)
        # Only columns of hopeless scale keep the gap from closing, and then it is small.
        assert found.gap <= 1e-3 * scale + program.rounding
        assert found.value <= optimum + 1e-7 * scale + found.gap


def test_nearly_every_awkward_program_is_solved() -> None:
    """Of 400 with columns from 1e-8 to 1e8, ties and the rest, at most 1% stop short of 1e-8."""
    short = 0
    for seed, (loss, form) in itertools.product(range(20), EVERY):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RelaxationWarning)
            short += relax(program).status != "optimal"
    assert short <= 4


@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_identities(loss: str) -> None:
    """p**_k(k) = max_l0 p**_l0(l0) - l0 k; p** convex in k; p**_ball = max_eta ... - eta ball/2."""
    X, y = data("random", loss, 3)

    def value(**form: float) -> sb.Relaxation:
        return relax(Program(X, y, loss=loss, **form), tol=1e-11)

    along = [value(k=k, ridge=0.1) for k in range(13)]
    values = np.array([r.value for r in along])
    assert np.all(np.diff(values) <= 1e-9)
    assert np.all(np.diff(values, 2) >= -1e-8)
    for k in (1, 3, 6):
        l0 = along[k].l0_multiplier
        assert value(l0=l0, ridge=0.1).value - l0 * k == pytest.approx(values[k], rel=1e-8)
        for other in (0.5 * l0, 2.0 * l0):
            assert value(l0=other, ridge=0.1).value - other * k <= values[k] + 1e-9
    for ball in (0.5, 2.0):
        found = value(k=3, ball=ball)
        assert math.isfinite(found.eta)
        at_eta = value(k=3, ridge=found.eta).value - 0.5 * found.eta * ball
        assert at_eta == pytest.approx(found.value, rel=1e-7)


def test_ties_are_exact() -> None:
    """k form: over the fractional features u sums to an integer, k less the number of ones."""
    for seed in range(30):
        X, y = data(("random", "duplicated", "rank-deficient")[seed % 3], "squared", seed)
        k = 1 + seed % 5
        u = relax(Program(X, y, k=k, ridge=0.05)).u
        tied = u[(u > 1e-9) & (u < 1 - 1e-9)]
        assert abs(tied.sum() - round(tied.sum())) <= 1e-8
    X, y = make_low_rank(200, 60, 5).X, make_low_rank(200, 60, 5).y
    found = relax(Program(X, y, k=6, ridge=0.01), tol=1e-10)
    tied = found.u[(found.u > 1e-9) & (found.u < 1 - 1e-9)]
    assert abs(tied.sum() - round(tied.sum())) <= 1e-8
    # At the optimum every fractional feature has |v_i| = sqrt(2 l0 / ridge).
    fractional = (found.u > 1e-9) & (found.u < 1 - 1e-9)
    v = found.w[fractional] / found.u[fractional]
    np.testing.assert_allclose(np.abs(v), math.sqrt(2 * found.l0_multiplier / 0.01), rtol=1e-7)


@pytest.mark.parametrize("form", ["k", "l0"])
def test_value_is_the_penalty_of_the_penalty_layer(form: str) -> None:
    X, y = data("random", "squared", 5)
    program = Program(X, y, ridge=0.1, **({"k": 3} if form == "k" else {"l0": 0.03}))
    found = relax(program)
    penalty = KRidge(3, 0.1) if form == "k" else L0Ridge(0.03, 0.1)
    assert program.F.value(X @ found.w) + penalty.value(found.w) == pytest.approx(found.value)


def test_user_units_with_standardized_columns() -> None:
    rng = np.random.default_rng(0)
    X = 100.0 + 5.0 * rng.normal(size=(50, 6))
    y = X[:, 0] + rng.normal(size=50)
    program = Program(X, y, k=2, ridge=0.1, fit_intercept=True, standardize=True)
    found = relax(program)
    Z = (X - X.mean(0)) / X.std(0)
    explicit = relax(Program(Z, y, k=2, ridge=0.1, fit_intercept=True))
    assert found.value == pytest.approx(explicit.value, rel=1e-9)
    np.testing.assert_allclose(
        X @ found.coef + found.intercept, Z @ explicit.coef + explicit.intercept, rtol=1e-6
    )


def test_warm_starts_reach_the_same_in_fewer_steps() -> None:
    sample = make_correlated(200, 400, random_state=1)

    def at(k: int, **more: object) -> Program:
        return Program(sample.X, sample.y, k=k, ridge=0.05, **more)

    cold = relax(at(9))
    warm = relax(at(9), start=relax(at(8)))
    assert warm.value == pytest.approx(cold.value, rel=1e-8)
    assert warm.stats.newton_steps <= cold.stats.newton_steps
    again = relax(at(9), start=cold)
    assert again.stats.newton_steps <= 3
    # Other fixings and other forms from the same start.
    for other in (
        at(9, never=[int(np.argmax(np.abs(cold.w)))], positive=True),
        Program(sample.X, sample.y, l0=cold.l0_multiplier, ridge=0.05),
        Program(sample.X, sample.y, k=9, ball=5.0),
    ):
        from_start, fresh = relax(other, start=cold), relax(other)
        assert from_start.value == pytest.approx(fresh.value, rel=1e-7)


@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_a_start_of_another_kind_changes_nothing_but_the_way(loss: str) -> None:
    """An intercept, a multiplier or coefficients that this program cannot have."""
    X, y = data("random", loss, 11)
    program = Program(X, y, loss=loss, k=2, ridge=0.1)
    cold = relax(program)
    shifted = Program(X + 3.0, y, loss=loss, k=2, ball=1.0, fit_intercept=True)
    far = Program(1e-6 * X, 1e6 * X[:, 0], k=12, ridge=1e-12, fit_intercept=True)
    for other in (shifted, far):
        warm = relax(program, start=relax(other))
        assert warm.status == "optimal"
        assert warm.value == pytest.approx(cold.value, rel=1e-7)
        assert warm.value >= warm.dual_value
        assert warm.b == 0.0
        assert math.isnan(warm.eta)


def test_optimal_means_the_documented_tolerance() -> None:
    """A large mean, or offset, must not stand in for max(|value|, |null|)."""
    X, y = data("random", "squared", 12)
    counts = np.random.default_rng(0).poisson(2.0, size=20)
    offset = np.full(20, 300.0)
    for program in (
        Program(X, 1e7 + y, k=2, ridge=0.1, fit_intercept=True),
        Program(X, counts, k=2, ridge=0.1, loss="poisson", fit_intercept=True, offset=offset),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RelaxationWarning)
            found = relax(program)
        scale = max(abs(found.value), abs(program.null))
        assert found.gap <= 1e-6 * scale
        assert (found.status == "optimal") == (found.gap <= 1e-8 * scale)


@pytest.mark.parametrize("form", FORMS)
def test_a_response_of_zeros_is_solved(form: Form) -> None:
    X, _ = data("random", "squared", 13)
    found = relax(Program(X, np.zeros(20), **settings(form, 13)))
    assert found.status == "optimal"
    assert found.value == 0.0


def test_a_ball_that_does_not_bind_takes_few_steps() -> None:
    X, y = data("random", "squared", 14)
    for ball in (1e6, 1e10):
        found = relax(Program(X, y, k=3, ball=ball))
        assert found.status == "optimal"
        assert found.stats.newton_steps <= 100


def test_no_numpy_warning_leaks() -> None:
    X, _ = data("random", "squared", 15)
    counts = np.ones(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", RelaxationWarning)
        relax(Program(X, counts, k=2, ball=1e-320))
        relax(Program(X, counts, k=2, ridge=1.0, loss="poisson", offset=np.full(20, 800.0)))


def test_stops_on_time_and_on_interruption_with_valid_bounds() -> None:
    sample = make_correlated(200, 2000, 0.9, random_state=2)
    program = Program(sample.X, sample.y, k=10, ridge=1e-4)
    full = relax(program)
    with pytest.warns(RelaxationWarning, match="The time limit was reached"):
        hurried = relax(program, time_limit=1e-9)
    assert hurried.status == "bounded"
    assert hurried.dual_value <= full.value
    assert hurried.value >= full.dual_value

    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.warns(RelaxationWarning, match="Interrupted"):
        stopped = relax(program, callback=interrupt)
    assert len(seen) == 2
    assert stopped.interrupted
    assert not hurried.interrupted
    assert not full.interrupted
    assert stopped.value == seen[-1].value
    assert stopped.dual_value <= full.value <= stopped.value * (1 + 1e-8)
    # More time only helps, and what is reported never goes back.
    lowers = []
    relax(program, callback=lambda progress: lowers.append(progress.lower))
    assert lowers == sorted(lowers)


def test_statistics_count_every_read() -> None:
    sample = make_correlated(100, 300)
    program = Program(sample.X, sample.y, l0=0.05, ridge=0.05)
    before = program.matrix.passes
    stats = relax(program).stats
    assert stats.full_passes == program.matrix.passes - before
    # One pass at the start and one a round, and the working columns.
    assert stats.full_passes == pytest.approx(1 + stats.rounds + stats.working_set / 300)
    assert stats.newton_steps > 0


def test_dual_is_the_scored_point() -> None:
    sample = make_correlated(80, 120)
    program = Program(sample.X, sample.y, l0=0.02, ball=3.0, fit_intercept=True)
    found = relax(program)
    point = dual_point(program, found.dual)
    assert bound_at(program, point, lagrangian=True) == pytest.approx(found.dual_value, rel=1e-12)
    assert found.lower == bound_at(program, found.point)
    # Counting features one by one proves at least the dual function's value.
    assert found.lower >= found.dual_value


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_arguments(wrong: float) -> None:
    program = random_program(0)
    with pytest.raises(ValueError, match=r"tol=.* must be a number greater than 0"):
        relax(program, tol=wrong)
    if wrong <= 0:
        with pytest.raises(ValueError, match=r"time_limit=.* greater than 0"):
            relax(program, time_limit=wrong)
    with pytest.raises(ValueError, match=r"tol='x' must be a number"):
        relax(program, tol="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"time_limit=True must be a number"):
        relax(program, time_limit=True)
    with pytest.raises(TypeError, match=r"callback=3 cannot be called"):
        relax(program, callback=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"program is a ndarray; pass a sparsebounds.Program"):
        relax(np.eye(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"start is a ndarray; pass what relax returned"):
        relax(program, start=np.zeros(2))  # type: ignore[arg-type]
    other = relax(random_program(1, most_columns=1))
    wide = Program(np.eye(4), np.ones(4), k=1, ridge=1.0)
    with pytest.raises(ValueError, match=r"start has .* coefficients, but the program 4"):
        relax(wide, start=other)


@pytest.mark.parametrize("k", [0, 1, 12, 50])
def test_extreme_budgets(k: int) -> None:
    X, y = data("random", "squared", 7)
    found = relax(Program(X, y, k=k, ridge=0.1))
    assert found.status == "optimal"
    if k == 0:
        assert np.all(found.w == 0)
        assert found.value == pytest.approx(0.5 * np.mean(y**2))
    if k >= 12:
        ridge = np.linalg.solve(X.T @ X / 20 + 0.1 * np.eye(12), X.T @ y / 20)
        np.testing.assert_allclose(found.w, ridge, rtol=1e-6, atol=1e-9)


def test_a_second_size_is_relaxed_where_the_first_gains() -> None:
    """At the multiplier of k the features are k; at other prices they lie between two sizes."""
    data = make_correlated(60, 20, nonzeros=3)
    counted = relax(Program(data.X, data.y, k=3, ridge=0.1))
    for price, count in ((counted.l0_multiplier, 2), (0.08, 3)):
        program = Program(data.X, data.y, l0=price, ridge=0.1)
        found = dual_points(program, relax(program))
        assert len(found) == count
        lower = best_cover(program, [one.point for one in found]).lower
        sizes = [relax(Program(data.X, data.y, k=k, ridge=0.1)).value for k in range(1, 21)]
        best = min(value + price * k for k, value in enumerate(sizes, 1))
        assert lower == pytest.approx(best, rel=1e-7)
