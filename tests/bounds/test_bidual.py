"""The paper's dual and bidual problems: the printed displays, weak and strong duality."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds.bounds import bidual_value, dual_value, floor, lower_bound
from sparsebounds.losses import REGISTRY
from sparsebounds.penalties import k_support_dual_norm
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import RelaxationWarning, relax
from sparsebounds.testing import conic_relaxation, random_program

FORMS = get_args(Form)
SEEDS = st.integers(0, 2**32 - 1)
EVERY = list(itertools.product(sorted(REGISTRY), FORMS))


def plain(loss: str, form: Form, seed: int, intercept: bool = False) -> Program:
    """Ten rows, six columns, the paper's problem with nothing added."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 6))
    y = rng.poisson(2.0, 10) + 0.0
    y[:2] = 0.0, 3.0
    if REGISTRY[loss].two_class:
        y = np.where(y > 1.5, 1.0, -1.0)
    sparsity = {"k": 2} if form.startswith("k") else {"l0": 0.05}
    size = {"ridge": 0.1} if form.endswith("ridge") else {"ball": 2.0}
    return Program(X, y, loss=loss, fit_intercept=intercept, **sparsity, **size)


def as_printed(program: Program, a: np.ndarray, eta: float | None = None) -> float:
    """The dual function of sections 2.1, 3.1, 4.1 and 4.2, with the paper's z, zeta, s_k, eta."""
    X = program.matrix.columns(np.arange(program.m))
    zeta, gamma = X.T @ a, program.ridge if eta is None else eta
    s_k = math.fsum(np.sort(zeta * zeta)[::-1][: program.k])
    value = -program.F.conjugate(a) - (0.0 if eta is None else eta * program.ball / 2.0)
    if program.k is not None:
        return value - s_k / (2.0 * gamma)
    return value + math.fsum(np.minimum(0.0, program.l0 - zeta**2 / (2.0 * gamma)))


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_the_dual_function_is_the_printed_one(loss: str, form: Form) -> None:
    """In the ball forms, the largest over eta, which is the paper's other dual variable."""
    for seed in range(5):
        program = plain(loss, form, seed)
        rng = np.random.default_rng(seed)
        a = program.F.gradient(rng.normal(size=10))
        value = dual_value(program, a)
        if form.endswith("ridge"):
            assert value == pytest.approx(as_printed(program, a), rel=1e-12)
            continue
        # Concave in eta, with kinks where a feature enters and stationary points in between.
        squares = np.sort(program.matrix.scores(a) ** 2)[::-1]
        etas = [np.sqrt(np.cumsum(squares) / program.ball), np.geomspace(1e-6, 1e2, 200)]
        if program.l0 is not None:
            etas.append(squares / (2.0 * program.l0))
        along = [as_printed(program, a, eta) for eta in np.concatenate(etas)]
        assert value == pytest.approx(max(along), rel=1e-12)
        if form == "k+ball":
            dual_norm = k_support_dual_norm(program.matrix.scores(a), program.k)
            closed = -program.F.conjugate(a) - math.sqrt(program.ball) * dual_norm
            assert value == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_both_problems_have_the_conic_solvers_value(loss: str, form: Form) -> None:
    for seed, intercept in ((0, False), (1, True)):
        program = plain(loss, form, seed, intercept)
        referee, found = conic_relaxation(program), relax(program, tol=1e-10)
        assert dual_value(program, referee.a) == pytest.approx(referee.value, rel=1e-6)
        assert dual_value(program, found.dual) == pytest.approx(found.dual_value, rel=1e-13)
        assert dual_value(program, found.dual) == pytest.approx(referee.value, rel=1e-7)
        best = bidual_value(program, found.w, found.u, found.b)
        assert best == pytest.approx(found.value, rel=1e-13)
        assert best == pytest.approx(referee.value, rel=1e-7)


@pytest.mark.parametrize(("loss", "form"), EVERY)
@given(seed=SEEDS)
def test_no_dual_value_exceeds_a_bidual_value(loss: str, form: Form, seed: int) -> None:
    """Any a, any (w, u, b), and at u in {0, 1} the bidual is the program itself."""
    rng = np.random.default_rng(seed)
    program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelaxationWarning)
        found = relax(program)
    X = program.matrix.columns(np.arange(program.m))
    z, noise = X @ found.w + found.b, rng.normal(size=program.n)
    duals = [dual_value(program, program.F.gradient(z + t * noise)) for t in (0.0, 0.1, 1.0)]
    values = [bidual_value(program, found.w, found.u, found.b)]
    assert math.isfinite(values[0])
    for size in (0.1, 1.0, 10.0):
        w = found.w * rng.uniform(0.5, 2.0, size=program.m) ** size
        values.append(bidual_value(program, w, found.u, found.b))
        spread = np.where(program.always, 1.0, rng.random(program.m))
        values.append(bidual_value(program, size * rng.normal(size=program.m), spread, found.b))
        w = np.where(rng.random(program.m) < 0.5, w, 0.0)
        support = np.where(program.always | (w != 0), 1.0, 0.0)
        values.append(bidual_value(program, w, support, found.b))
        with np.errstate(over="ignore"):
            itself = program.F.value(X @ w + found.b) + program.regularizer(w)
        assert values[-1] == pytest.approx(itself, rel=1e-12)
    scale = max(abs(program.null), abs(values[0]), 1e-9)
    assert max(duals) <= min(values) + 1e-11 * scale


@pytest.mark.parametrize("form", FORMS)
@given(seed=SEEDS)
def test_the_lower_bound_knows_at_least_as_much(form: Form, seed: int) -> None:
    program = random_program(seed, form=form, fit_intercept=bool(seed % 2))
    a = np.random.default_rng(seed).normal(size=program.n)
    dual, lower = dual_value(program, a), lower_bound(program, a)
    assert lower >= dual - 1e-13 * abs(dual)
    if form != "l0+ball":
        assert lower == max(dual, floor(program))


def test_a_vector_outside_the_domain_is_repaired() -> None:
    program = plain("logistic", "k+ridge", 0)
    a = program.F.gradient(np.zeros(10)) + 10.0
    assert dual_value(program, a) == dual_value(program, program.F.clip(a))


def test_the_constraints_of_the_bidual() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 4)), rng.normal(size=6)
    w, u = np.array([0.5, -0.2, 0.1, 0.0]), np.array([1.0, 0.5, 0.5, 0.0])

    def value(**options) -> float:
        point = {"w": w, "u": u, "b": 0.0} | {
            k: options.pop(k) for k in list(options) if k in "wub"
        }
        program = Program(X, y, **({"k": 2, "ridge": 0.3} | options))
        return bidual_value(program, **point)

    expected = np.mean((X @ w - y) ** 2) / 2 + 0.15 * (0.25 + 0.08 + 0.02)
    assert value() == pytest.approx(expected, rel=1e-14)
    assert value(u=np.array([1.0, 0.5, 0.6, 0.0])) == math.inf
    assert value(u=np.array([1.1, 0.3, 0.3, 0.0])) == math.inf
    assert value(u=np.array([1.0, 1.0, 0.0, 0.0])) == math.inf
    assert value(u=np.array([1.0, 0.5, 0.5, -0.1])) == math.inf
    assert value(b=0.1) == math.inf
    assert math.isfinite(value(b=0.1, fit_intercept=True))
    assert value(positive=True) == math.inf
    assert value(never=[2]) == math.inf
    assert value(always=[1]) == math.inf
    assert math.isfinite(value(always=[0], k=1))
    assert value(k=None, l0=0.2) == pytest.approx(expected + 0.4, rel=1e-14)
    size = {"ridge": None, "ball": 0.35}
    assert value(**size) == pytest.approx(np.mean((X @ w - y) ** 2) / 2, rel=1e-14)
    assert value(ridge=None, ball=0.349) == math.inf
    with pytest.raises(ValueError, match="u has 3 entries"):
        value(u=np.ones(3))
