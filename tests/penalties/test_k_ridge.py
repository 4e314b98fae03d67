"""The k-support penalty against its definition, a high-precision referee and a conic solver."""

from __future__ import annotations

import itertools
import math

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparsebounds.penalties import KRidge

KS = [0, 1, 3, 6, 9, 20]


def lengths(s: np.ndarray, fixing: dict[str, np.ndarray]) -> np.ndarray:
    """|s|, one-sided where positive and 0 outside."""
    t = np.abs(s)
    if "positive" in fixing:
        t = np.where(fixing["positive"], np.maximum(s, 0.0), t)
    return np.where(fixing["outside"], 0.0, t) if "outside" in fixing else t


def free(fixing: dict[str, np.ndarray]) -> np.ndarray:
    return ~fixing["inside"] if "inside" in fixing else np.ones(9, dtype=bool)


@pytest.mark.parametrize("k", KS)
def test_the_conjugate_is_the_largest_over_supports(ridge, fixing, k, rng) -> None:
    s = rng.standard_normal(9)
    gains = lengths(s, fixing) ** 2 / (2.0 * ridge)
    inside = np.sum(gains[~free(fixing)])
    choices = itertools.combinations(gains[free(fixing)], min(k, np.sum(free(fixing))))
    expected = inside + max(map(sum, choices))
    assert KRidge(k, ridge, **fixing).conjugate(s) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("k", KS)
def test_the_value_is_the_largest_over_slopes(ridge, fixing, k, rng) -> None:
    """h is its own biconjugate: no slope s exceeds it, and s = ridge w/u attains it."""
    penalty = KRidge(k, ridge, **fixing)
    w = lengths(rng.standard_normal(9), fixing)
    w[free(fixing)] *= k > 0
    slopes = [np.exp(rng.standard_normal(9)) for _ in range(50)]
    h = penalty.value(w)
    assert h >= max(s @ w - penalty.conjugate(s) for s in slopes)
    u = penalty.weights(w)
    s = ridge * w / np.where(u > 0.0, u, 1.0)
    assert h == pytest.approx(s @ w - penalty.conjugate(s), rel=1e-13)


@pytest.mark.parametrize("k", KS)
def test_the_weights_attain_the_value(ridge, fixing, k, rng) -> None:
    penalty = KRidge(k, ridge, **fixing)
    w = lengths(rng.standard_normal(9) * (rng.random(9) < 0.8), fixing)
    w[free(fixing)] *= k > 0
    u = penalty.weights(w)
    assert np.all((u >= 0.0) & (u <= 1.0))
    assert np.all(u[~free(fixing)] == 1.0)
    np.testing.assert_array_equal(u[free(fixing)] > 0.0, w[free(fixing)] != 0.0)
    assert np.sum(u[free(fixing)]) <= k * (1.0 + 1e-14)
    assert penalty.cost(u) == 0.0
    attained = np.sum(ridge / 2.0 * w**2 / np.where(u > 0.0, u, 1.0))
    assert penalty.value(w) == pytest.approx(attained, rel=1e-13)


def test_the_value_agrees_with_a_conic_solver(ridge, rng) -> None:
    w = rng.standard_normal(9)
    u = cp.Variable(9)
    terms = np.broadcast_to(ridge, 9) / 2.0
    objective = sum(r * x**2 * cp.inv_pos(v) for r, x, v in zip(terms, w, u, strict=True))
    least = cp.Problem(cp.Minimize(objective), [u <= 1.0, cp.sum(u) <= 3.0]).solve(
        solver=cp.CLARABEL
    )
    assert KRidge(3, ridge).value(w) == pytest.approx(least, rel=1e-6)


def test_the_prox_agrees_with_a_conic_solver(rng) -> None:
    q, sigma = rng.standard_normal(6), 0.7
    ridge = np.exp(rng.standard_normal(6))
    inside = np.arange(6) == 2
    w, u = cp.Variable(6), cp.Variable(6)
    costs = sum(ridge[i] / 2.0 * cp.quad_over_lin(w[i], u[i]) for i in range(6))
    budget = [u <= 1.0, u[2] == 1.0, cp.sum(u) - u[2] <= 2.0, w[0] >= 0.0]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w - q) / 2.0 + sigma * costs), budget)
    problem.solve(solver=cp.CLARABEL)
    point = KRidge(2, ridge, inside=inside, positive=np.arange(6) == 0).prox(q, sigma)
    np.testing.assert_allclose(point.w, w.value, atol=1e-5)
    np.testing.assert_allclose(point.u, u.value, atol=1e-4)
    assert point.l0 == pytest.approx(budget[2].dual_value / sigma, rel=1e-4)


exponent = st.floats(-8.0, 8.0)
entry = st.one_of(st.just(-math.inf), exponent)


# 10^-inf = 0: zeros among the q. Repeats make ties, scales lie 16 orders of magnitude apart.
@given(
    pairs=st.lists(st.tuples(entry, exponent, st.booleans()), min_size=1, max_size=10),
    sigma=exponent,
    k=st.integers(0, 6),
    repeats=st.integers(1, 2),
    vector=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_prox_agrees_with_the_referee(referee, pairs, sigma, k, repeats, vector) -> None:
    pairs = pairs * repeats
    sigma = 10.0**sigma
    q = np.array([(-1.0) ** sign * 10.0**e for e, _, sign in pairs])
    ridge = np.array([10.0**e for _, e, _ in pairs]) if vector else 10.0 ** pairs[0][1]
    point = KRidge(k, ridge).prox(q, sigma)
    with mpmath.workdps(60):
        r = [mpmath.mpf(float(x)) for x in np.broadcast_to(ridge, q.shape)]
        a = [mpmath.mpf(float(x)) for x in q]
        d = [mpmath.mpf(sigma) * x for x in r]
        if k == 0:
            u, b = (
                [0] * len(a),
                max(abs(x) * mpmath.sqrt(y) / z for x, y, z in zip(a, r, d, strict=True)),
            )
        else:
            u, b = referee([abs(x) * mpmath.sqrt(y) for x, y in zip(a, r, strict=True)], d, k)
        w = [float(x * v / (v + z)) for x, v, z in zip(a, u, d, strict=True)]
        assert point.l0 == pytest.approx(float(b * b / 2), rel=1e-13)
    # t and d are rounded, which moves t/b - d by a few units in the last place of d.
    assert np.all(np.abs(point.w - w) <= 1e-14 * np.abs(q))
    error = np.abs(point.u - np.array([float(x) for x in u]))
    assert np.all(error <= 1e-14 * (1.0 + np.array([float(x) for x in d])))
    if 0 < k < np.count_nonzero(q):
        assert np.sum(point.u) == pytest.approx(k, rel=1e-14)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("sigma", [0.1, 1.0, 20.0])
def test_the_prox_minimises(ridge, fixing, k, sigma, rng) -> None:
    """Optimality is w in the subdifferential of h* at zeta: h(w) + h*(zeta) = w.zeta."""
    penalty = KRidge(k, ridge, **fixing)
    q = 2.0 * rng.standard_normal(9)
    point = penalty.prox(q, sigma)
    zeta = (q - point.w) / sigma
    residual = penalty.value(point.w) + penalty.conjugate(zeta) - point.w @ zeta
    assert abs(residual) <= 1e-13 * (q @ q) / sigma
    np.testing.assert_allclose(point.u, penalty.weights(point.w), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(
        point.w[~free(fixing)],
        (lengths(q, fixing) * np.sign(q) / (1.0 + sigma * ridge))[~free(fixing)],
        rtol=1e-15,
    )


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("sigma", [0.1, 1.0, 5.0])
def test_the_jacobian_is_the_derivative(ridge, fixing, k, sigma, rng) -> None:
    penalty = KRidge(k, ridge, **fixing)
    q, step = rng.standard_normal(9), 1e-7
    jacobian = penalty.jacobian(q, sigma)
    matrix = np.diag(jacobian.diagonal)
    if jacobian.direction is not None:
        matrix -= jacobian.beta * np.outer(jacobian.direction, jacobian.direction)
    columns = [
        (penalty.prox(q + e, sigma).w - penalty.prox(q - e, sigma).w) / (2.0 * step)
        for e in step * np.eye(9)
    ]
    np.testing.assert_allclose(matrix, np.array(columns).T, atol=1e-7)
    again = penalty.jacobian(q, sigma, penalty.prox(q, sigma))
    np.testing.assert_array_equal(again.diagonal, jacobian.diagonal)
    assert again.beta == jacobian.beta


def test_the_rank_one_term_of_the_jacobian(rng) -> None:
    jacobian = KRidge(3, 0.5).jacobian(rng.standard_normal(9), 1.0)
    assert jacobian.direction is not None
    partial = jacobian.direction != 0.0
    assert np.sum(partial) >= 2
    np.testing.assert_array_equal(jacobian.diagonal[partial], 1.0)
    assert 0.0 < jacobian.beta * np.sum(jacobian.direction**2) < 1.0


def test_the_jacobian_where_the_budget_is_slack() -> None:
    """Two of the three zeros may follow q: the mean of the three choices of two."""
    penalty = KRidge(3, 2.0, outside=np.array([False] * 4 + [True]))
    q = np.array([5.0, 0.0, 0.0, 0.0, 0.0])
    step = 1e-3
    total = np.zeros(5)
    for i, j in itertools.combinations([1, 2, 3], 2):
        move = step * np.isin(np.arange(5), [i, j])
        total[1:4] += ((penalty.prox(q + move, 1.5).w - penalty.prox(q, 1.5).w) / step)[1:4] / 3.0
    total[0] = 0.25
    np.testing.assert_allclose(penalty.jacobian(q, 1.5).diagonal, total, atol=1e-12)


def test_a_budget_for_everybody_is_pure_ridge(ridge, rng) -> None:
    q = rng.standard_normal(9)
    q[3] = 0.0
    for k in (9, 100):
        penalty, point = KRidge(k, ridge), KRidge(k, ridge).prox(q, 2.0)
        np.testing.assert_allclose(point.w, q / (1.0 + 2.0 * ridge), rtol=1e-15)
        np.testing.assert_array_equal(point.u, q != 0.0)
        assert point.l0 == 0.0
        expected = np.broadcast_to(1.0 / (1.0 + 2.0 * ridge), 9)
        np.testing.assert_allclose(penalty.jacobian(q, 2.0).diagonal, expected, rtol=1e-15)
        assert penalty.value(q) == pytest.approx(np.sum(ridge * q**2) / 2.0, rel=1e-14)


def test_no_budget_leaves_only_the_inside() -> None:
    penalty = KRidge(0, 2.0, inside=np.array([True, False, False]))
    point = penalty.prox(np.array([3.0, -4.0, 1.0]), 0.5)
    np.testing.assert_allclose(point.w, [1.5, 0.0, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(point.u, [1.0, 0.0, 0.0])
    assert point.l0 == pytest.approx((4.0 / 0.5) ** 2 / (2.0 * 2.0))  # the largest zeta^2/(2 ridge)
    np.testing.assert_array_equal(penalty.jacobian(np.ones(3), 0.5).diagonal, [0.5, 0.0, 0.0])
    assert penalty.value(np.array([3.0, 0.0, 0.0])) == pytest.approx(9.0)
    assert penalty.value(np.array([3.0, 1e-9, 0.0])) == math.inf
    assert penalty.cost(np.array([1.0, 0.0, 0.0])) == 0.0
    assert penalty.cost(np.array([1.0, 0.1, 0.0])) == math.inf


def test_one_feature() -> None:
    penalty = KRidge(1, 4.0)
    point = penalty.prox(np.array([-5.0]), 1.0)
    assert (point.w[0], point.u[0], point.l0) == (-1.0, 1.0, 0.0)
    assert penalty.value(np.array([-2.0])) == penalty.conjugate(np.array([8.0])) == 8.0


def test_duplicates_share_alike(rng) -> None:
    q = np.repeat(rng.standard_normal(5), 4) * np.tile([1.0, -1.0], 10)
    point = KRidge(7, 0.3).prox(q, 2.0)
    shares = point.u.reshape(5, 4)
    assert np.any((shares > 0.0) & (shares < 1.0))
    np.testing.assert_array_equal(shares, shares[:, :1] * np.ones(4))
    np.testing.assert_array_equal(point.w * np.sign(q), np.abs(point.w))


def test_the_multiplier_is_that_of_the_budget(rng) -> None:
    """The envelope of sigma h at q falls by sigma l0 for each unit of k: its slopes bracket l0."""
    q, sigma = rng.standard_normal(40), 0.5

    def envelope(k: int) -> float:
        w = KRidge(k, 1.0).prox(q, sigma).w
        return np.sum((w - q) ** 2) / 2.0 + sigma * KRidge(k, 1.0).value(w)

    for k in range(1, 39):
        l0 = KRidge(k, 1.0).prox(q, sigma).l0
        left, right = envelope(k - 1) - envelope(k), envelope(k) - envelope(k + 1)
        assert right <= sigma * l0 * (1.0 + 1e-12)
        assert sigma * l0 <= left * (1.0 + 1e-12)


def test_what_is_not_allowed_costs_infinity() -> None:
    yes, w = np.array([True]), np.array([2.0])
    assert KRidge(1, 1.0, outside=yes).value(w) == math.inf
    assert KRidge(1, 1.0, positive=yes).value(-w) == math.inf
    assert KRidge(1, 1.0, positive=yes).value(w) == 2.0


@pytest.mark.parametrize("wrong", [-1, 2.5, "three"])
def test_a_wrong_budget_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="k must be"):
        KRidge(wrong, 1.0)


@pytest.mark.parametrize("wrong", [0.0, -2.0, math.nan, np.array([1.0, -1.0])])
def test_a_wrong_ridge_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="ridge must be positive and finite"):
        KRidge(1, wrong)
