"""Numbers at the edge of float64: no input that is accepted ends in a numerical exception."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.losses import NONCONVEX, REGISTRY, get_loss
from sparsebounds.program import Program
from sparsebounds.testing import brute_force


def hostile(seed: int, losses: Sequence[str]) -> tuple[Any, Any, dict[str, Any]]:
    """X, y and the options of a small program whose numbers have extreme sizes."""
    rng = np.random.default_rng(seed)

    def size(least: float, most: float) -> float:
        return float(10.0 ** rng.uniform(least, most))

    loss = get_loss(losses[seed % len(losses)])
    n, m = int(rng.choice([1, 2, 3, 6, 9] if loss.convex else [1, 2, 3])), int(rng.integers(1, 5))
    X: Any = rng.normal(size=(n, m))
    X = (
        lambda: X,
        lambda: rng.integers(-3, 4, size=(n, m)),
        lambda: X[:, rng.integers(0, m, m)] * rng.choice([-1.0, 1.0], m),
        lambda: np.where(rng.random(m) < 0.5, rng.choice([0.0, 3.0], m), X),
        lambda: X * 10.0 ** rng.uniform(-8, 8, m),
        lambda: X * 10.0 ** rng.uniform(-160, -100, m),
        lambda: X * 5e-324,
        lambda: X * size(-150, 149),
        lambda: X + size(0, 12),
        lambda: X.astype(np.float32),
    )[rng.integers(10)]()
    y = rng.normal(size=n)
    if loss.two_class:
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = (-1.0, 1.0)[: len(y[:2])]
    elif loss.name in ("poisson", "quartic", "amplitude"):
        y = np.abs(np.round(3 * y))
        y[0] = 1.0
    else:
        far = (0.0, size(0, 15), -size(0, 15))[rng.integers(3)]
        y = y * (1.0, 0.0, size(-100, 100))[rng.integers(3)] + far
    options: dict[str, Any] = {"loss": loss, "fit_intercept": bool(rng.random() < 0.5)}
    extreme = rng.random() < 0.5
    if rng.random() < 0.5:
        options["k"] = int(rng.integers(0, m + 2))
    else:
        options["l0"] = size(-300, 300) if extreme and rng.random() < 0.5 else size(-4, 1)
    name = "ridge" if rng.random() < 0.5 else "ball"
    options[name] = size(-300, 300) if extreme else size(-2, 2)
    if rng.random() < 0.3:
        options["sample_weight"] = 10.0 ** rng.uniform(-140, 140, n)
    if rng.random() < 0.3:
        options["offset"] = rng.normal(size=n) * size(-3, 30)
    if rng.random() < 0.3:
        options["positive"] = rng.random(m) < 0.5
    if rng.random() < 0.2:
        kind = rng.integers(0, 3, m)
        options["always"], options["never"] = np.flatnonzero(kind == 1), np.flatnonzero(kind == 2)
    options["standardize"] = bool(rng.random() < 0.2)
    return X, y, options


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", [REGISTRY, NONCONVEX], ids=["convex", "not convex"])
def test_accepted_numbers_end_in_bounds(kind: Mapping[str, Any]) -> None:
    convex = kind is REGISTRY
    done = 0
    drawn = (150 if convex else 20) if LONG else (75 if convex else 12)
    for seed in range(drawn):
        X, y, options = hostile(seed, tuple(kind))
        try:
            program = Program(X, y, **options)
            found = _found(program, X, y, options, seed % 3 if convex else 0)
        except InputError:
            continue
        assert found.lower <= found.upper, seed
        moderate = abs(np.log10(options.get("ridge", options.get("ball")))) < 3
        if program.loss.name in ("squared", "huber") and moderate:
            with np.errstate(all="ignore"):
                assert found.lower <= brute_force(program).value, seed
        done += 1
    assert done >= (0.66 if convex else 0.75) * drawn


def _found(program: Program, X: Any, y: Any, options: dict[str, Any], how: int) -> Any:
    """Something with both bounds."""
    if how == 1:
        return sb.certify(program, np.zeros(program.m))
    if how == 2:
        return sb.near_optimal(program, 0.01, max_supports=20, node_limit=40)
    limits = {"exact": True, "node_limit": 40} if program.loss.convex else {}
    return sb.solve(X, y, **options, tol=1e-6, **limits)


def test_a_budget_that_is_used_up_has_no_share_left() -> None:
    """Two full features of k = 2 leave nothing to a third, whatever rounding says."""
    X = [[0, 0, 3, 1], [1, 1, 3, 2], [1, -1, 3, 0], [0, 0, 3, -2]]
    program = Program(X, [4, 8, 3, 1], k=2, ball=2.0, loss="poisson", fit_intercept=True)
    found = sb.solve(
        X, [4, 8, 3, 1], k=2, ball=2.0, loss="poisson", fit_intercept=True, exact=True, tol=1e-6
    )
    assert found.status == "optimal"
    assert found.lower <= brute_force(program).value <= found.upper + 1e-9


def test_columns_that_one_row_cannot_tell_apart() -> None:
    """With an intercept one row leaves no curvature: there is no table of exchanges."""
    found = sb.solve(
        [[4.1, -4.3, -5.3]],
        [-1.0],
        loss="sigmoid",
        fit_intercept=True,
        l0=0.00020919616926834764,
        ball=0.20351627113260895,
    )
    assert found.upper <= 1e-12


def test_no_feature_to_search() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 3)), rng.normal(size=7)
    found = sb.solve(X, y, k=1, ridge=1.0, never=[0, 1, 2], exact=True, tol=1e-300)
    assert found.upper == pytest.approx(0.5 * np.mean(y**2))


@pytest.mark.parametrize("ridge", [1e-100, 1e-300])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_separable_classes_with_hardly_a_ridge(ridge: float, fit_intercept: bool) -> None:
    """The best margins are in the hundreds: Newton's steps of 1 each would not get there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=50))
    options = {"ridge": ridge, "loss": "logistic", "fit_intercept": fit_intercept}
    found = sb.solve(X, y, k=3, **options)
    assert found.status == "optimal"
    assert found.upper <= 1e-40
    assert found.stats.newton_steps < 100
    priced = sb.solve(X, y, l0=0.01, **options, exact=False)
    assert 0.009 <= priced.lower <= priced.upper <= 0.05
    assert priced.stats.newton_steps < 500


# A response far from 0.


def far_data(seed: int = 0) -> tuple[Any, Any]:
    """X, and a response whose float64 values stay exact when 1e10 or more is added."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 8))
    return X, np.round(8.0 * (X[:, 0] - 2.0 * X[:, 3] + 0.1 * rng.normal(size=60))) / 8.0


@pytest.mark.parametrize(
    ("level", "loss", "size"),
    [
        (1e6, "squared", {"ridge": 0.01}),
        (1e10, "squared", {"ridge": 0.01}),
        (-1e12, "squared", {"ball": 4.0}),
        (1e15, "squared", {"ridge": 0.01}),
        (1e10, "huber", {"ball": 4.0}),
        (-1e14, "huber", {"ridge": 0.01}),
        (1e12, "tukey", {"ridge": 0.01}),
    ],
)
def test_a_constant_added_to_the_response_moves_the_intercept_alone(
    level: float, loss: str, size: dict[str, Any]
) -> None:
    X, y = far_data()
    options = {"k": 2, "loss": loss, "fit_intercept": True, "tol": 1e-3} | size
    near, far = sb.solve(X, y, **options), sb.solve(X, y + level, **options)
    assert far.support.tolist() == near.support.tolist() == [0, 3]
    # The intercept is a float near the level, and the objective as much above as that costs.
    cost = np.spacing(abs(level))
    assert far.intercept - level == pytest.approx(near.intercept, abs=1e-5 + 2.0 * cost)
    assert far.upper == pytest.approx(near.upper, rel=1e-6, abs=cost)
    assert far.lower == pytest.approx(near.lower, rel=1e-6, abs=cost)
    assert far.lower <= near.upper * (1.0 + 1e-12)
    verdict = far.certificate.verify(X, y + level)
    assert verdict.ok, verdict.message
    assert not far.certificate.verify(X, y).ok
    program = Program(X, y + level, **{name: options[name] for name in options if name != "tol"})
    assert program.objective(far.coef, far.intercept) <= far.upper
    assert np.array_equal(program.response, y + level)


def test_certificates_with_no_level_still_verify() -> None:
    X, y = far_data()
    options: dict[str, Any] = {"k": 2, "ridge": 0.01, "fit_intercept": True}
    program = Program(X, y + 1e6, **options)
    assert program.level != 0.0
    flat = program.at_level(0.0)
    certificate = sb.certify(flat, np.zeros(8), 1e6)
    assert certificate.problem.level == 0.0
    assert certificate.intercept == 1e6
    assert certificate.fingerprint == program.fingerprint
    assert certificate.verify(X, y + 1e6).ok


def test_a_level_must_leave_the_response_exact() -> None:
    X, y = far_data()
    program = Program(X, y + 0.1, k=2, ridge=0.01, fit_intercept=True)
    with pytest.raises(ValueError, match="without rounding"):
        program.at_level(1e12)
    with pytest.raises(ValueError, match="stays as it is"):
        Program(X, y, k=2, ridge=0.01).at_level(1.0)


def test_rounding_does_not_swallow_a_gap() -> None:
    X, _ = far_data()
    rng = np.random.default_rng(1)
    y = 4.5e15 + np.round(X[:, 0] - 2.0 * X[:, 3])
    found = sb.solve(X, y, k=2, ridge=0.01, fit_intercept=True)
    assert found.support.tolist() == [0, 3]
    gap = found.upper - found.lower
    assert 0.0 < found.rel_gap == pytest.approx(gap / found.upper)
    assert found.null_gap == pytest.approx(gap / max(found.upper, float(found.program.null)))
    for scale in (1e-120, 1e-80, 1e80):
        found = sb.solve(X, scale * rng.normal(size=60), k=2, ridge=1e-6)
        assert found.status == "bounded" or found.gap <= 1e-4 * found.upper, scale
    # An offset that rounding cannot take out of a bounded loss leaves a gap, and it is reported.
    found = sb.solve(
        X, 0.0 * y, k=2, ball=1.0, loss="welsch", fit_intercept=True, offset=1e20 * X[:, 1]
    )
    assert found.status == "bounded" or found.gap <= 1e-4 * found.upper


# All supports near the optimum, where coefficients are small beside the intercept.


@pytest.mark.parametrize("seed", range(12))
def test_near_optimal_misses_no_support_of_small_coefficients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 30)), int(rng.integers(2, 5))
    fit_intercept = bool(seed % 3)
    mean, ridge = float(rng.choice([5e2, 2e5])), float(rng.choice([2e3, 2e6]))
    X, eps = rng.normal(size=(n, m)), 1e-3
    y = mean + rng.normal(size=n)
    program = Program(X, y, k=m, ridge=ridge, fit_intercept=fit_intercept)
    found = sb.near_optimal(program, eps)
    assert found.complete
    A, t = X.astype(np.longdouble), y.astype(np.longdouble)
    if fit_intercept:
        A, t = A - A.mean(axis=0), t - t.mean()
    values, shares = {}, {}
    for chosen in itertools.chain(*(itertools.combinations(range(m), i) for i in range(m + 1))):
        B = A[:, list(chosen)]
        H, c = B.T @ B / n + ridge * np.eye(len(chosen)), B.T @ t / n
        w = np.linalg.solve(H.astype(float), c.astype(float)).astype(np.longdouble)
        w = w + np.linalg.solve(H.astype(float), (c - H @ w).astype(float))
        values[chosen] = float(np.sum((t - B @ w) ** 2) / (2 * n) + ridge * np.sum(w * w) / 2)
        parts = np.abs(w.astype(float)) * np.linalg.norm(X[:, list(chosen)], axis=0)
        shares[chosen] = parts / (np.sum(parts) + fit_intercept * mean * math.sqrt(n))
    best = min(values.values())
    within = best + eps * max(best, values[()]) * (1.0 - 1e-9)
    expected = {
        chosen
        for chosen, value in values.items()
        if value <= within and np.all(shares[chosen] > 2e-12)
    }
    assert expected <= set(found.supports)
    assert found.lower <= best * (1.0 + 1e-15)
