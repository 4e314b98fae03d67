"""The search for the ball's multiplier: conditions of optimality, and other ways to the value."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sparsebounds import Program
from sparsebounds.losses import REGISTRY
from sparsebounds.penalties import KRidge, L0Ridge, Penalty
from sparsebounds.relaxation.ball import BallResult, solve_ball
from sparsebounds.relaxation.newton import newton
from sparsebounds.relaxation.smooth import Smooth
from sparsebounds.relaxation.sparse_part import smooth_part
from sparsebounds.testing._referee import minimize_ball

M = 6
LOSSES = sorted(REGISTRY)
Posed = tuple[Smooth, Callable[[float], Penalty]]
Pose = Callable[[str, str, int], Posed]


@pytest.fixture
def problem(response: Callable[..., np.ndarray]) -> Pose:
    """(loss, form, seed) -> f, and h for every ridge; "inside": all features are."""

    def pose(loss: str, form: str, seed: int) -> Posed:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, M)) + 0.3
        y = response(rng, X, loss)
        program = Program(X, y, loss=loss, k=2, ball=1.0, fit_intercept=seed % 2 == 0)
        part = smooth_part(program)
        part.add(X)
        inside, positive = rng.random(M) < 0.2, rng.random(M) < 0.2
        if form == "inside":
            inside, positive = np.ones(M, dtype=np.bool_), np.zeros(M, dtype=np.bool_)
        masks = {"inside": inside, "positive": positive}
        if form == "l0":
            return part, L0Ridge(0.02 * abs(program.null), 1.0, **masks).with_ridge
        return part, KRidge(0 if form == "inside" else 1 + seed % 3, 1.0, **masks).with_ridge

    return pose


def solved(part: Smooth, with_ridge: Callable[[float], Penalty], ball: float) -> BallResult:
    scale = abs(part.program.null)
    start = part.at(np.zeros(M), part.program.null_intercept)
    eta = with_ridge(1.0).multiplier(-start.gradient, ball)
    return solve_ball(part, with_ridge(1.0), start, eta, ball, 1e-11 * scale, scale)


def ridge_value(part: Smooth, penalty: Penalty) -> float:
    """The relaxed optimum with a ridge, by Newton's method: tested on its own."""
    scale = abs(part.program.null)
    start = part.at(np.zeros(M), part.program.null_intercept)
    found = newton(part, penalty, start, 1e-13 * scale, scale)
    return found.point.value + found.slopes.value


@pytest.mark.parametrize("form", ["k", "l0", "inside"])
@pytest.mark.parametrize("loss", LOSSES)
def test_conditions_of_optimality(problem: Pose, loss: str, form: str) -> None:
    tight = idle = 0
    for seed in range(4):
        part, with_ridge = problem(loss, form, seed)
        for ball in (0.01, 100.0):
            found = solved(part, with_ridge, ball)
            point, u, scale = found.primal.point, found.primal.u, abs(part.program.null)
            penalty, used = with_ridge(found.eta), point.w != 0.0
            size = float(np.sum(point.w[used] ** 2 / u[used]))
            assert found.primal.size == pytest.approx(size, rel=1e-12)
            assert size <= ball * (1.0 + 1e-12)
            assert np.all((u >= 0.0) & (u <= 1.0))
            assert np.all(u[penalty.inside] == 1.0)
            if isinstance(penalty, KRidge):
                assert np.sum(u[~penalty.inside]) <= penalty.k * (1.0 + 1e-9)
            value = part.at(point.w, point.b).value + penalty.price(u)
            assert found.primal.value == pytest.approx(value)
            # No relaxed point of the ball has a smaller value than the dual vector proves.
            best, gradient = found.dual.point, found.dual.point.gradient
            eta = with_ridge(1.0).multiplier(-gradient, ball)
            proved = best.dual - with_ridge(eta).conjugate(-gradient) - 0.5 * eta * ball
            assert found.primal.value - proved <= 1e-9 * scale
            assert found.primal.value - proved >= -1e-10 * scale
            # Complementary slackness: what the ball leaves unused costs nothing.
            assert found.eta * (ball - size) <= 1e-7 * scale
            tight += size > 0.999 * ball and found.eta > 0.0
            idle += size < 0.999 * ball
    assert tight > 0
    assert idle > 0 or form != "inside"


@pytest.mark.parametrize("form", ["k", "l0"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_value_is_the_best_over_ridges(problem: Pose, loss: str, form: str) -> None:
    """p_ball = max over eta of p_ridge(eta) - eta ball/2, maximised here by Brent's method."""
    for seed in range(3):
        part, with_ridge = problem(loss, form, seed)
        ball = 0.1
        found = solved(part, with_ridge, ball)

        def loss_at(log_eta: float, part=part, with_ridge=with_ridge, ball=ball) -> float:
            eta = math.exp(log_eta)
            return 0.5 * eta * ball - ridge_value(part, with_ridge(eta))

        around = math.log(found.eta)
        best = minimize_scalar(loss_at, bounds=(around - 3.0, around + 3.0), method="bounded")
        assert -best.fun == pytest.approx(found.primal.value, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_all_features_inside_is_the_plain_ball(problem: Pose, loss: str) -> None:
    """No weights are left: the secular equation of the referee has the same solution."""
    for seed in range(3):
        part, with_ridge = problem(loss, "inside", seed)
        program, ball = part.program, 0.1
        found = solved(part, with_ridge, ball)
        columns = program.matrix.columns(np.arange(M))
        w, b = minimize_ball(program, columns, ball)
        assert found.primal.value == pytest.approx(program.F.value(columns @ w + b), rel=1e-8)
        assert found.primal.point.w == pytest.approx(w, abs=1e-4)


def test_the_multiplier_is_the_best_for_a_gradient(problem: Pose) -> None:
    """eta -> h*_eta(-g) + eta ball/2 is smallest there."""
    for form in ("k", "l0"):
        for seed in range(6):
            part, with_ridge = problem("squared", form, seed)
            gradient, ball = part.at(np.zeros(M), 0.0).gradient, 0.2

            def bound(eta: float, with_ridge=with_ridge, g=gradient, ball=ball) -> float:
                return with_ridge(eta).conjugate(-g) + 0.5 * eta * ball

            eta = with_ridge(1.0).multiplier(-gradient, ball)
            for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
                assert bound(eta) <= bound(factor * eta) * (1.0 + 1e-14)


def test_a_length_that_overflows_leads_back_into_the_ball() -> None:
    """Columns of 1e-157 and next to no ridge: w is near 1e157, and N = sum w_i^2/u_i infinite."""
    X = 1e-157 * np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
    program = Program(X, np.ones(3), k=1, ball=1.0)
    part = smooth_part(program)
    part.add(X)
    with np.errstate(over="ignore"):
        start = part.at(np.zeros(2), 0.0)
        found = solve_ball(part, KRidge(1, 1.0), start, 1e-323, 1.0, 1e-9, 1.0)
    assert found.primal.size <= 1.0 + 1e-12
    assert found.primal.value == pytest.approx(program.null, rel=1e-12)
