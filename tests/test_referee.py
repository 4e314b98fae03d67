"""The referee itself: against plain numpy on centred data, and against what the solver attains."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import sparsebounds as sb
from sparsebounds.program import Program
from sparsebounds.testing import brute_force

N, M, K, BALL = 30, 4, 2, 0.5


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, M))
    return X, X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=N), rng.uniform(0.5, 2.0, size=N)


def in_numpy(X: np.ndarray, y: np.ndarray, p: np.ndarray, size: dict[str, float]) -> float:
    """The least sum_i p_i (z_i - y_i)^2 / 2 (and ridge) over supports of K, by normal equations."""
    X, y = X - p @ X, y - p @ y
    values = []
    for support in combinations(range(M), K):
        A = X[:, support]
        gram, right = A.T @ (p[:, None] * A), A.T @ (p * y)

        def w(eta: float, gram: np.ndarray = gram, right: np.ndarray = right) -> np.ndarray:
            return np.asarray(np.linalg.solve(gram + eta * np.eye(K), right))

        def excess(eta: float, w: Any = w) -> float:
            return float(np.sum(w(eta) ** 2)) - BALL

        ridge = size.get("ridge", 0.0)
        eta = brentq(excess, 0.0, 1e3, xtol=1e-15) if "ball" in size and excess(0.0) > 0 else ridge
        found = w(eta)
        rest = A @ found - y
        values.append(0.5 * float(p @ rest**2) + 0.5 * ridge * float(found @ found))
    return min(values)


@pytest.mark.parametrize("size", [{"ball": BALL}, {"ridge": 0.1}])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_columns_far_from_zero(size: dict[str, float], offset: float) -> None:
    X, y, weights = data()
    X = X + offset
    program = Program(X, y, k=K, fit_intercept=True, sample_weight=weights, **size)
    found = brute_force(program)
    # Floats of this size hold X w + b to `noise`, and the optimum that far from the true one.
    noise = 4.0 * np.finfo(float).eps * N * max(offset, 1.0)
    true = in_numpy(X, y, weights / weights.sum(), size)
    assert found.value == pytest.approx(true, abs=noise + 1e-12)
    solution = sb.solve(X, y, k=K, fit_intercept=True, sample_weight=weights, **size)
    assert solution.lower <= found.value
    assert found.value <= solution.upper + noise + 1e-12


@pytest.mark.parametrize("form", [{"k": 2}, {"l0": 0.01}])
def test_logistic_columns_far_from_zero(form: dict[str, Any]) -> None:
    X, y, _ = data()
    classes = np.where(y > 0, 1.0, -1.0)
    options: dict[str, Any] = {"ball": BALL, "loss": "logistic", "fit_intercept": True, **form}
    near = brute_force(Program(X, classes, **options))
    far = brute_force(Program(X + 1e6, classes, **options))
    assert far.value == pytest.approx(near.value, abs=1e-8)
    np.testing.assert_array_equal(far.w != 0, near.w != 0)
    assert far.value <= sb.solve(X + 1e6, classes, **options).upper + 1e-8


@pytest.mark.parametrize("form", [{"ridge": 1e-8}, {"ball": 0.1}, {"ridge": 1e-3}])
@pytest.mark.parametrize("loss", ["huber", "squared_hinge"])
def test_losses_without_curvature_end_at_their_minimum(form: dict[str, float], loss: str) -> None:
    """Far from the core of Huber's loss there is none: full steps lead nowhere."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(8, 4)), 1)
        y, options = 10.0 ** rng.uniform(0, 4) * rng.normal(size=8), {"fit_intercept": True}
        if loss == "squared_hinge":
            y = np.where(np.arange(8) % 2, 1.0, -1.0)
        scale = sb.losses.Huber(delta=10.0 ** rng.uniform(-2, 0)) if loss == "huber" else loss
        program = Program(X, y, k=4, loss=scale, always=[0, 1, 2, 3], **options, **form)
        found, best = sb.solve(program, exact=False), brute_force(program).value
        assert found.lower <= best <= found.upper + 1e-13 * abs(program.null)


def test_what_was_no_minimum() -> None:
    X = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    y = np.array([-14363.47105724, 13508.62703596, -131.00544192, -241.8942095])
    given: dict[str, Any] = {"ridge": 2.85e-9, "loss": "huber", "fit_intercept": True}
    program = Program(X, y, k=3, always=[0, 1, 2], **given)
    assert brute_force(program).value == pytest.approx(1.6562950485, rel=1e-9)
