"""Bounds hold in floating point: against 60-digit arithmetic, never on the wrong side."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds._support.rounding import (
    FOLD,
    U,
    down,
    exact_products,
    exact_sum,
    gamma,
    in_parts,
    norm_up,
    sum_up,
    up,
)
from sparsebounds.bounds import (
    WIDER,
    claim_at,
    dual_point,
    dual_value,
    lower_bound,
    null_up,
    objective_up,
    widened,
)
from sparsebounds.losses import REGISTRY
from sparsebounds.program import Form, Program
from sparsebounds.testing import random_program

FORMS = get_args(Form)
mp.mp.dps = 60


def exact_conjugate(name: str, y: float, t: float, delta: float) -> mp.mpf:
    y, t = mp.mpf(y), mp.mpf(t)

    def entropy(x: mp.mpf) -> mp.mpf:
        return x * mp.log(x) if x > 0 else mp.mpf(0)

    if name == "logistic":
        return entropy(-t * y) + entropy(1 + t * y)
    if name == "poisson":
        return entropy(t + y) - (t + y)
    return t * t / 2 + t * y


def exact_loss(name: str, y: float, z: mp.mpf, delta: float) -> mp.mpf:
    y = mp.mpf(y)
    if name == "logistic":
        return mp.log1p(mp.exp(-y * z))
    if name == "poisson":
        return mp.exp(z) - y * z
    if name == "squared_hinge":
        return max(mp.mpf(0), 1 - y * z) ** 2 / 2
    r = abs(z - y)
    if name == "huber" and r > delta:
        return delta * r - mp.mpf(delta) ** 2 / 2
    return r * r / 2


def exact_columns(program: Program) -> list[list[mp.mpf]]:
    """The real matrix the program is about, in high precision."""
    base = getattr(program.matrix, "base", program.matrix)
    block = base.columns(np.arange(program.m))
    columns = []
    for j in range(program.m):
        center, scale = mp.mpf(0), mp.mpf(1)
        if program.standardize:
            center, scale = mp.mpf(program.matrix.center[j]), mp.mpf(program.matrix.scale[j])
        columns.append([(mp.mpf(x) - center) / scale for x in block[:, j].tolist()])
    return columns


def exact_dual(program: Program, t: np.ndarray) -> mp.mpf:
    """-F*(a) - G(a) at a_i = s_i t_i / sum(s), exactly (the intercept's equation aside)."""
    name, delta = program.loss.name, getattr(program.loss, "delta", 1.0)
    mass = mp.fsum(map(mp.mpf, program.weights.tolist()))
    a = [mp.mpf(s) * mp.mpf(x) / mass for s, x in zip(program.weights, t, strict=True)]
    value = mp.mpf(0)
    for i in range(program.n):
        share = mp.mpf(program.weights[i]) / mass
        value -= share * exact_conjugate(name, program.y[i], t[i], delta)
        if program.offset is not None:
            value += a[i] * mp.mpf(program.offset[i])
    q = []
    for j, column in enumerate(exact_columns(program)):
        score = mp.fdot(column, a)
        q.append(max(mp.mpf(0), -score) ** 2 if program.positive[j] else score**2)
    prices = [mp.mpf(x) for x in program.prices.tolist()]
    free, always = np.flatnonzero(program.free), np.flatnonzero(program.always)
    if program.ball is None:
        gains = [q[j] / (2 * mp.mpf(program.ridges[j])) - prices[j] for j in range(program.m)]
        ranked = sorted((gains[j] for j in free), reverse=True)
        best = [x for x in ranked if x > 0] if program.k is None else ranked[: program.k]
        return value - mp.fsum(gains[j] for j in always) - mp.fsum(best)
    base, ball = mp.fsum(q[j] for j in always), mp.mpf(program.ball)
    ranked = sorted((q[j] for j in free), reverse=True)
    if program.k is not None:
        return value - mp.sqrt(ball * (base + mp.fsum(ranked[: program.k])))
    # One price: the best j; several: the Lagrangian, minimised over its breakpoints' pieces.
    if len({prices[j] for j in free}) <= 1:
        price = prices[free[0]] if len(free) else mp.mpf(0)
        return value - max(
            mp.sqrt(ball * (base + mp.fsum(ranked[:j]))) - price * j for j in range(len(ranked) + 1)
        )

    def lagrangian(eta: mp.mpf) -> mp.mpf:
        extra = mp.fsum(max(mp.mpf(0), q[j] / (2 * eta) - prices[j]) for j in free)
        return eta * ball / 2 + base / (2 * eta) + extra

    order = sorted(free, key=lambda j: q[j] / prices[j] if prices[j] else mp.inf, reverse=True)
    etas = [mp.sqrt((base + mp.fsum(q[j] for j in order[:c])) / ball) for c in range(len(free) + 1)]
    etas += [q[j] / (2 * prices[j]) for j in free if prices[j]]
    return value - min((lagrangian(eta) for eta in etas if eta > 0), default=mp.mpf(0))


def exact_objective(program: Program, w: np.ndarray, b: float) -> mp.mpf:
    name, delta = program.loss.name, getattr(program.loss, "delta", 1.0)
    columns = exact_columns(program)
    mass = mp.fsum(map(mp.mpf, program.weights.tolist()))
    total = mp.mpf(0)
    for i in range(program.n):
        z = mp.fsum(columns[j][i] * mp.mpf(w[j]) for j in range(program.m)) + mp.mpf(b)
        if program.offset is not None:
            z += mp.mpf(program.offset[i])
        total += mp.mpf(program.weights[i]) / mass * exact_loss(name, program.y[i], z, delta)
    for j in np.flatnonzero(w):
        total += mp.mpf(program.prices[j])
        if program.ball is None:
            total += mp.mpf(program.ridges[j]) * mp.mpf(w[j]) ** 2 / 2
    return total


def exact_best(program: Program, t: np.ndarray) -> mp.mpf:
    """The better of t and of the dual vector 0, which proves the least loss."""
    return max(exact_dual(program, t), exact_dual(program, 0.0 * t))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", sorted(REGISTRY))
@given(seed=st.integers(0, 2**32 - 1), intercept=st.booleans())
def test_lower_is_below_the_exact_dual_value(
    loss: str, form: Form, seed: int, intercept: bool
) -> None:
    program = random_program(seed, loss=loss, form=form, fit_intercept=intercept)
    rng = np.random.default_rng(seed)
    point = dual_point(program, program.F.gradient(rng.normal(size=program.n)))
    a = point.t * program.F.p
    lower, exact = lower_bound(program, a), exact_best(program, point.t)
    again = dual_point(program, a)
    assert mp.mpf(dual_value(program, a)) <= exact_dual(program, again.t)
    assert mp.mpf(lower) <= exact_best(program, again.t)
    assert mp.mpf(lower) == pytest.approx(float(exact), rel=1e-6, abs=1e-6 * max(1, abs(lower)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", sorted(REGISTRY))
@pytest.mark.parametrize("intercept", [False, True])
def test_little_is_given_away(loss: str, form: Form, intercept: bool) -> None:
    """Within 1e-12 of the exact dual value on well-scaled data; the upper side likewise.

    So are claims, which leave more room for rounding.
    """
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 12))
        y = rng.poisson(2.0, 60) + 0.0
        if REGISTRY[loss].two_class:
            y = np.where(rng.normal(size=60) > 0, 1.0, -1.0)
        sparsity = {"k": 4} if form.startswith("k") else {"l0": 0.01}
        size = {"ridge": 0.5} if form.endswith("ridge") else {"ball": 1.0}
        program = Program(X, y, loss=loss, fit_intercept=intercept, **sparsity, **size)
        point = dual_point(program, program.F.gradient(0.3 * rng.normal(size=60)))
        lower, exact = lower_bound(program, point.t / 60), exact_best(program, point.t)
        scale = max(abs(float(exact)), program.null)
        assert 0 <= exact - mp.mpf(lower) <= 1e-12 * scale
        claim = claim_at(program, widened(program, point))
        assert lower - 1e-12 * scale <= claim <= lower
        w = np.where(np.arange(12) < 3, rng.normal(size=12) / 4, 0.0)
        b = 0.25 if intercept else 0.0
        upper, value = objective_up(program, w, b), exact_objective(program, w, b)
        assert 0 <= mp.mpf(upper) - value <= 1e-12 * scale
        assert upper == pytest.approx(program.objective(w, b), rel=1e-12)
        assert upper <= objective_up(program, w, b, wider=WIDER) <= upper + 1e-12 * scale


@pytest.mark.parametrize("loss", sorted(REGISTRY))
@given(seed=st.integers(0, 2**32 - 1))
def test_upper_is_above_the_exact_objective(loss: str, seed: int) -> None:
    form: Form = FORMS[seed % 4]
    program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
    rng = np.random.default_rng(seed)
    size = 1.0 / np.maximum(program.matrix.norms, 1e-9)
    w = rng.normal(size=program.m) * size * (rng.random(program.m) < 0.5)
    b = float(rng.normal()) if program.fit_intercept else 0.0
    upper = objective_up(program, w, b)
    assert mp.mpf(upper) >= exact_objective(program, w, b) or upper == np.inf
    assert mp.mpf(null_up(program)) >= exact_objective(program, 0 * w, program.null_intercept)


def test_cancellation_in_large_columns_is_paid_for() -> None:
    """A column of 1e8 + noise: its score is mostly rounding, and the bound must know."""
    rng = np.random.default_rng(0)
    X = 1e8 + rng.normal(size=(500, 1))
    program = Program(X, rng.normal(size=500), k=1, ridge=1e-6, fit_intercept=True)
    point = dual_point(program, rng.normal(size=500) / 500)
    assert mp.mpf(dual_value(program, point.t / 500)) <= exact_dual(program, point.t)
    exact = mp.fdot(map(mp.mpf, X[:, 0].tolist()), map(mp.mpf, point.t.tolist())) / 500
    assert abs(mp.mpf(point.scores[0]) - exact) <= point.radius[0]
    assert point.reach[0] >= abs(exact)


def test_inner_products_are_paid_for_in_any_order() -> None:
    """From left to right, 2^53 + 1 + 1 + ... loses every 1: another machine may sum like that."""
    X = np.ones((20_000, 1))
    X[0] = 2.0**53
    program = Program(X, np.zeros(len(X)), k=1, ridge=1.0)
    point = dual_point(program, np.full(len(X), 1.0 / len(X)))
    terms = X[:, 0] * point.t
    exact = sum(map(Fraction, terms.tolist()), Fraction(0)) / len(X)
    from_the_left = float(np.cumsum(terms)[-1]) / len(X)
    assert abs(Fraction(from_the_left) - exact) <= Fraction(float(point.radius[0]))
    assert Fraction(float(point.reach[0])) >= exact


def test_cancelling_predictions_are_paid_for() -> None:
    """Columns of 1e8 whose difference is the prediction: its rounding is far above the loss's."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y, w = 1e8 + rng.normal(size=(1, 2)), rng.normal(size=1), np.array([1.1, -1.1])
        program = Program(X, y, k=2, ridge=1.0)
        z = sum(Fraction(float(x)) * Fraction(float(c)) for x, c in zip(X[0], w, strict=True))
        exact = ((Fraction(float(y[0])) - z) ** 2 + 2 * Fraction(1.1) ** 2) / 2
        assert Fraction(objective_up(program, w)) >= exact


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), max_size=30))
def test_directed_sums_and_norms(numbers: list[float]) -> None:
    x = np.array(numbers, dtype=np.float64)
    exact = sum(map(Fraction, numbers), Fraction(0))
    total = sum_up(x)
    assert total == np.inf or Fraction(total) >= exact
    norm = norm_up(x)
    assert norm == np.inf or Fraction(norm) ** 2 >= sum(Fraction(v) ** 2 for v in numbers)


@pytest.mark.parametrize("size", [5000, 4097, 70_001])
@pytest.mark.parametrize("spread", [0, 30])
def test_long_sums_are_exact_to_their_radius(size: int, spread: int) -> None:
    rng = np.random.default_rng(size + spread)
    x = rng.normal(size=size) * 10.0 ** rng.uniform(-spread, spread, size=size)
    exact = sum(map(Fraction, x.tolist()), Fraction(0))
    total, radius = exact_sum(x)
    assert abs(Fraction(total) - exact) <= Fraction(radius)
    assert radius <= 1e-15 * abs(total) + 1e-28 * np.abs(x).sum()
    assert Fraction(sum_up(x)) >= exact
    # Opposite terms cancel exactly, and are known to where they meet before others do.
    total, radius = exact_sum(np.concatenate((x, -x)))
    assert abs(total) <= radius <= (0.0 if 2 * size < 4 * FOLD else 1e-27 * np.abs(x).sum())


def test_rounding_of_long_arrays() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000) * 10.0 ** rng.uniform(-320, 300, size=5000)
    x[:5] = (0.0, -0.0, 5e-324, -5e-324, 1.0)
    above, below = up(x), down(x)
    assert np.all(above > x)
    assert np.all(below < x)
    assert np.all(above <= np.nextafter(np.nextafter(np.nextafter(x, np.inf), np.inf), np.inf))
    x[5:8] = (np.inf, -np.inf, np.nan)
    assert up(x)[5] == np.inf
    assert up(x)[6] == -np.inf
    assert np.isnan(up(x)[7])
    assert down(x)[6] == -np.inf


def test_exact_products() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=50), rng.normal(size=50)
    exact = sum((Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True)), Fraction(0))
    assert sum(map(Fraction, exact_products(x, y).tolist()), Fraction(0)) == exact


def test_rounding_helpers() -> None:
    assert up(1.0) > 1.0 > down(1.0)
    for short in (np.array(1.0), np.array([1.0, -2.0, 0.0, 1e300]), -np.ones((2, 3))):
        assert np.all(up(short) > short)
        assert np.all(down(short) < short)
    assert gamma(10) >= 10 * U
    assert gamma(10) <= 10 * U * (1 + 1e-10)
    assert sum_up(np.array([1e308, 1e308])) == np.inf
    assert sum_up(np.array([np.inf, 1.0])) == np.inf
    assert sum_up(np.array([0.1] * 10)) >= 10 * Fraction(0.1)
    assert norm_up(np.zeros(3)) == 0.0
    assert norm_up(np.array([3e-200, 4e-200])) == pytest.approx(5e-200, rel=1e-14)


def test_overflow_gives_minus_infinity_not_nonsense() -> None:
    X = np.array([[1e140, -1e140], [1e140, 1e140]])
    program = Program(X, np.array([1e140, -1e140]), k=1, ridge=1e-300)
    with np.errstate(all="ignore"):
        assert dual_value(program, np.array([1e150, 1e150])) == -np.inf
        assert lower_bound(program, np.array([1e150, 1e150])) == 0.0


def test_a_ridge_whose_double_overflows() -> None:
    """min (1e149 w - 1e4)^2/2 + ridge/2 w^2, whose optimum is 5e7 ridge/(ridge + 1e298)."""
    ridge, x = 1.5e308, 1e149
    program = Program(np.array([[x]]), [1e4], k=1, ridge=ridge)
    exact = Fraction(1e4) ** 2 / 2 * Fraction(ridge) / (Fraction(ridge) + Fraction(x) ** 2)
    assert Fraction(lower_bound(program, program.F.gradient(np.zeros(1)))) <= exact


def test_a_ridge_whose_half_underflows() -> None:
    program = Program(np.array([[1.0]]), [0.0], k=1, ridge=5e-324)
    exact = Fraction(1e140) ** 2 / 2 * (1 + Fraction(5e-324))
    assert Fraction(objective_up(program, np.array([1e140]))) >= exact
    tiny = Program(np.array([[1e-150]]), [0.0], k=1, ridge=5e-324)
    exact = Fraction(1e150) ** 2 / 2 * (Fraction(1e-150) ** 2 + Fraction(5e-324))
    assert Fraction(objective_up(tiny, np.array([1e150]))) >= exact


def test_balancing_the_largest_dual_vectors_stays_in_range() -> None:
    program = Program(np.eye(4), np.arange(4.0), k=1, ridge=1.0, fit_intercept=True)
    assert lower_bound(program, [1e150, 1e150, 1e150, -1e150]) <= null_up(program)


def test_parts_make_the_whole() -> None:
    rng = np.random.default_rng(3)
    for size in (0, 1, FOLD, 3 * FOLD + 5):
        x, y = rng.normal(size=(2, size))
        assert np.array_equal(in_parts(lambda x, y: 2.0 * x + y, x, y), 2.0 * x + y)
