"""Program: objective, null model, words, equality, and what programs of the same rows share."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sparsebounds._support.errors import InputError
from sparsebounds._support.rounding import in_ball
from sparsebounds.losses import REGISTRY, Huber
from sparsebounds.matrices import DenseMatrix
from sparsebounds.program import Form, Program

FORMS = get_args(Form)
LOSSES = sorted(REGISTRY)
N, M = 12, 5

# The losses once more, as the textbook writes them.
DIRECT: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "squared": lambda y, z: (z - y) ** 2 / 2,
    "logistic": lambda y, z: np.log1p(np.exp(-y * z)),
    "poisson": lambda y, z: np.exp(z) - y * z,
    "huber": lambda y, z: np.where(
        abs(z - y) <= 1.35, (z - y) ** 2 / 2, 1.35 * abs(z - y) - 1.35**2 / 2
    ),
    "squared_hinge": lambda y, z: np.maximum(0, 1 - y * z) ** 2 / 2,
}


def sample(loss: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) * [1.0, 3.0, 0.2, 1.0, 10.0] + [0.0, 2.0, 0.0, -1.0, 0.0]
    if loss in ("logistic", "squared_hinge"):
        return X, np.where(np.arange(N) % 3 == 0, -1.0, 1.0)
    if loss == "poisson":
        return X, rng.poisson(2.0, size=N).astype(float)
    return X, 3.0 * rng.normal(size=N)


def terms(form: Form, k: int = 3) -> dict[str, Any]:
    sparsity, size = form.split("+")
    return {
        **({"k": k} if sparsity == "k" else {"l0": 0.07}),
        **({"ridge": 0.3} if size == "ridge" else {"ball": 50.0}),
    }


def gradient(loss: str, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Central differences: enough to aim a dual vector."""
    h = 1e-6
    return (DIRECT[loss](y, z + h) - DIRECT[loss](y, z - h)) / (2 * h)


# The objective.


@pytest.mark.parametrize("standardize", [False, True], ids=["plain", "standardized"])
@pytest.mark.parametrize("intercept", [0.0, 0.4], ids=["0", "b"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_objective_is_the_formula(
    loss: str, form: Form, intercept: float, standardize: bool, rng: np.random.Generator
) -> None:
    X, y = sample(loss)
    coef = np.array([0.3, 0.0, -0.5, 0.0, 0.05])
    for weights, offset in itertools.product(
        (None, rng.uniform(0.1, 3, N)), (None, rng.normal(size=N))
    ):
        program = Program(
            X, y, loss=loss, **terms(form), fit_intercept=intercept != 0, standardize=standardize,
            sample_weight=weights, offset=offset,
        )  # fmt: skip
        s = np.ones(N) if weights is None else weights
        z = X @ coef + intercept + (0.0 if offset is None else offset)
        expected = np.average(DIRECT[loss](y, z), weights=s)
        w = coef
        if standardize:
            mean = np.average(X, axis=0, weights=s) if intercept else 0.0
            w = coef * np.sqrt(np.average((X - mean) ** 2, axis=0, weights=s))
        expected += 0.0 if program.l0 is None else 3 * 0.07
        expected += 0.0 if program.ridge is None else 0.15 * np.sum(w**2)
        assert program.objective(coef, intercept) == pytest.approx(expected, rel=1e-13)
        assert program.form == form


def test_vectors_of_prices_and_ridges_and_fixed_features(rng: np.random.Generator) -> None:
    X, y = sample("squared")
    l0, ridge = rng.uniform(0.0, 1.0, M), rng.uniform(0.1, 1.0, M)
    coef = np.array([1.0, 0.0, -2.0, 0.5, 0.0])
    program = Program(X, y, l0=l0, ridge=ridge, always=[2, 4], never=[1])
    fit = np.mean((X @ coef - y) ** 2) / 2
    # Feature 2 is always in: not charged. Its ridge is.
    expected = fit + l0[0] + l0[3] + np.sum(ridge * coef**2) / 2
    assert program.objective(coef) == pytest.approx(expected, rel=1e-14)
    assert program.free.tolist() == [True, False, False, True, False]
    assert np.array_equal(program.prices, np.where([True, True, False, True, False], l0, 0.0))
    assert np.array_equal(program.ridges, ridge)


def test_huber_takes_its_delta() -> None:
    X, y = sample("huber")
    program = Program(X, y, k=0, ridge=1.0, loss=Huber(delta=0.5))
    r = np.abs(y)
    assert program.null == pytest.approx(np.mean(np.where(r <= 0.5, r**2 / 2, 0.5 * r - 0.125)))


@pytest.mark.parametrize(
    ("options", "coef", "allowed"),
    [
        ({"k": 2}, [1.0, 1.0, 0.0], True),
        ({"k": 2}, [1.0, 1.0, 1e-300], False),
        ({"k": 0}, [0.0, -0.0, 0.0], True),
        ({"k": 0}, [0.0, 1e-320, 0.0], False),
        ({"k": 1, "always": [0]}, [1.0, 0.0, 1.0], True),
        ({"k": 1, "always": [0]}, [1.0, 1.0, 1.0], False),
        ({"k": 3, "never": [1]}, [1.0, 0.0, 1.0], True),
        ({"k": 3, "never": [1]}, [1.0, 1e-9, 1.0], False),
        ({"l0": 0.1, "never": [1]}, [1.0, -1e-9, 1.0], False),
        ({"k": 3, "positive": True}, [1.0, 0.0, 2.0], True),
        ({"k": 3, "positive": True}, [1.0, -1e-300, 2.0], False),
        ({"l0": 0.1, "positive": [True, False, True]}, [1.0, -1.0, 2.0], True),
        ({"l0": 0.1, "positive": [True, False, True]}, [-1.0, 1.0, 2.0], False),
        ({"k": 3, "positive": True, "always": [0]}, [-1.0, 0.0, 2.0], False),
    ],
)
@pytest.mark.parametrize("standardize", [False, True])
def test_a_broken_constraint_costs_infinity(
    options: dict[str, Any], coef: list[float], allowed: bool, standardize: bool
) -> None:
    X, y = sample("squared")
    for size in ({"ridge": 0.5}, {"ball": 1e6}):
        program = Program(X[:, :3], y, standardize=standardize, **options, **size)
        assert math.isfinite(program.objective(coef)) == allowed


def test_the_ball_is_closed_and_exact() -> None:
    X, y = sample("squared")
    on_it = np.array([0.75, 0.0, -1.0, 0.0, 0.0])  # |w|^2 = 25/16 exactly
    program = Program(X, y, k=2, ball=1.5625)
    assert math.isfinite(program.objective(on_it))
    for nudge in ([0, np.inf], [2, -np.inf]):
        outside = on_it.copy()
        outside[nudge[0]] = np.nextafter(outside[nudge[0]], nudge[1])
        assert float(np.sum(outside**2)) <= 1.5625 + 1e-15
        assert program.objective(outside) == math.inf
    smaller = Program(X, y, k=2, ball=np.nextafter(1.5625, 0))
    assert smaller.objective(on_it) == math.inf


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4))
def test_ball_membership_agrees_with_fractions(values: list[float]) -> None:
    w = np.array(values)
    exact = sum((Fraction(x) ** 2 for x in values), Fraction(0))
    ball = float(exact)
    above = ball if Fraction(ball) >= exact else float(np.nextafter(ball, np.inf))
    assert in_ball(w, above)
    if exact > 0:
        below = float(np.nextafter(above, -np.inf))
        assert in_ball(w, below) == (Fraction(below) >= exact)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_overflow_is_infinity_not_a_warning(loss: str) -> None:
    X, y = sample(loss)
    program = Program(1e100 * X, y, loss=loss, k=2, ridge=1e20)
    assert program.objective([1e140, 0.0, 0.0, 0.0, -1e149]) == math.inf


# The null model.


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_null_is_the_minimum_over_constants(loss: str, seed: int) -> None:
    X, y = sample(loss, seed)
    rng = np.random.default_rng(seed)
    weights, offset = rng.uniform(0.1, 5.0, N), 2.0 * rng.normal(size=N)
    program = Program(
        X, y, k=1, ridge=1.0, loss=loss, fit_intercept=True, sample_weight=weights, offset=offset
    )

    def value(b: float) -> float:
        return float(np.average(DIRECT[loss](y, b + offset), weights=weights))

    best = minimize_scalar(value, bracket=(-2.0, 2.0), tol=1e-12)
    assert program.null == pytest.approx(best.fun, rel=1e-12)
    assert program.null == pytest.approx(value(program.null_intercept), rel=1e-14)
    assert program.null <= best.fun + 1e-14 * (1 + abs(best.fun))
    assert program.objective(np.zeros(M), program.null_intercept) == pytest.approx(
        program.null, rel=1e-15
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_null_without_intercept_is_the_value_at_zero(loss: str, rng: np.random.Generator) -> None:
    X, y = sample(loss)
    offset = rng.normal(size=N)
    program = Program(X, y, l0=1.0, ball=1.0, loss=loss, offset=offset)
    assert program.null_intercept == 0.0
    assert program.null == pytest.approx(np.mean(DIRECT[loss](y, offset)), rel=1e-14)


def test_null_with_a_response_far_from_zero() -> None:
    X, y = sample("squared")
    program = Program(X, y + 1e6, k=1, ridge=1.0, fit_intercept=True)
    assert program.null_intercept + program.level == pytest.approx(np.mean(y) + 1e6, rel=1e-15)
    assert program.null == pytest.approx(np.var(y) / 2, rel=1e-9)


# Words.


def test_describe_says_what_is_solved() -> None:
    X, y = sample("logistic")
    program = Program(X, y, k=2, ridge=0.25, loss="logistic", fit_intercept=True, standardize=True)
    assert repr(program) == (
        "<Program: logistic loss on 12 x 5 data with at most 2 nonzero coefficients, ridge=0.25, "
        "an intercept, standardized columns>"
    )
    other = Program(X, y, l0=np.ones(M), ball=4.0, loss="squared_hinge", positive=True)
    assert other.describe() == (
        "squared_hinge loss on 12 x 5 data with a price l0=(one number per feature) per nonzero "
        "coefficient, |w|^2 <= 4, nonnegative coefficients"
    )


def test_equal_problems_are_equal() -> None:
    X, y = sample("squared")
    ridge = np.linspace(0.1, 0.5, M)
    one, two = (Program(X, y, k=2, ridge=ridge, loss=Huber(2.0), standardize=True) for _ in "ab")
    assert one.problem == two.problem
    assert hash(one.problem) == hash(two.problem)
    others = [one.with_budget(3), one.with_loss(Huber(3.0)), Program(X, y, k=2, ridge=0.1)]
    assert all(other.problem != one.problem for other in others)
    assert one.with_ridge(2.0 * ridge).with_ridge(ridge).problem == one.problem
    ball = Program(X, y, k=2, ball=0.5, loss=Huber(2.0), standardize=True)
    assert ball.with_ridge(ridge).problem == one.problem
    with pytest.raises(ValueError, match="ridge holds 0; every entry must be greater than 0"):
        one.with_ridge(np.zeros(M))
    assert one.problem != "problem"
    again = pickle.loads(pickle.dumps(one.problem))
    assert again == one.problem
    assert again.loss_parameters == {"delta": 2.0}


def test_a_program_does_not_change() -> None:
    X, y = sample("squared")
    given = {"sample_weight": np.ones(N), "offset": np.ones(N), "always": [0], "never": [1]}
    program = Program(X, y, l0=np.full(M, 0.1), ridge=np.ones(M), standardize=True, **given)
    with pytest.raises(AttributeError, match="A program does not change: k stays as it is"):
        program.k = 5
    with pytest.raises(TypeError):
        program.problem.loss_parameters["delta"] = 3.0  # type: ignore[index]
    data, problem = program.data, pickle.loads(pickle.dumps(program.problem))
    vectors = [data.y, data.weights, data.offset, program.y, program.always, program.never]
    for asked in (program.problem, problem):
        vectors += [asked.l0, asked.ridge, *asked.standardize, asked.always, asked.never]
    for vector in vectors:
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 0
    assert program.null > 0  # derived later, and kept
    assert "null" in vars(program)


def test_programs_of_the_same_rows_share_what_depends_on_these() -> None:
    X, y = sample("poisson")
    program = Program(X, y, k=2, ridge=0.3, loss="poisson", fit_intercept=True)
    null, rounding = program.null, program.rounding
    same = [program.with_budget(1), program.with_price(0.1), program.restricted(np.arange(2))]
    for other in [*same, program.up_to(2 * null)]:
        assert other.F is program.F
        assert vars(other)["null"] == null
        assert vars(other)["rounding"] == rounding
    shifted = Program(X, y + 1e6, k=2, ridge=0.3, fit_intercept=True)
    assert shifted.level != 0.0
    assert shifted.F is not shifted.at_level(0.0).F
    assert program.with_loss(Huber()).F is not program.F


def test_another_matrix_has_the_same_shape() -> None:
    X, y = sample("squared")
    program = Program(X, y, k=2, ridge=0.1)
    with pytest.raises(InputError, match="matrix is 12 x 4, but the program's data are 12 x 5"):
        program.with_matrix(DenseMatrix(X[:, :4]))
