"""The reverse Huber penalty against its definition: minima over u and w taken by force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds.penalties import L0Ridge

PRICES = {
    "l0=0": 0.0,
    "l0=0.3": 0.3,
    "l0 vector": np.array([0.0, 0.5, 0.0, 2.0, 0.1, 0.3, 1e-3, 0.7, 0.2]),
}


@pytest.fixture(params=PRICES)
def l0(request: pytest.FixtureRequest) -> float | np.ndarray:
    return PRICES[request.param]


@pytest.fixture
def penalty(l0, ridge, fixing) -> L0Ridge:
    return L0Ridge(l0, ridge, **fixing)


def parts(penalty: L0Ridge, m: int = 9) -> list[L0Ridge]:
    """The penalty of each feature by itself: h is separable."""

    def one(value, i):
        return value if value is None else np.broadcast_to(value, m)[i : i + 1]

    names = ("l0", "ridge", "inside", "outside", "positive")
    return [L0Ridge(*(one(getattr(penalty, name), i) for name in names)) for i in range(m)]


def allowed(penalty: L0Ridge, w: np.ndarray) -> np.ndarray:
    if penalty.positive is not None:
        w = np.where(penalty.positive, np.maximum(w, 0.0), w)
    return w if penalty.outside is None else np.where(penalty.outside, 0.0, w)


def test_the_value_is_the_least_over_u(penalty, ridge, l0, rng) -> None:
    w = allowed(penalty, rng.standard_normal(9) * np.array([0.0, 0.1, 1, 3, 0.1, 1, 3, 0.1, 1]))
    u = np.geomspace(1e-6, 1.0, 10_001)[:, None]
    costs = ridge / 2.0 * w**2 / u + l0 * u
    least = np.where(w == 0.0, 0.0, np.min(costs, axis=0))
    if penalty.inside is not None:
        least = np.where(penalty.inside, costs[-1], least)
    assert penalty.value(w) == pytest.approx(np.sum(least), rel=1e-6)
    assert penalty.value(w) <= np.sum(least) + 1e-13


def test_the_weights_attain_the_value(penalty, ridge, l0, rng) -> None:
    w = allowed(penalty, rng.standard_normal(9) * np.array([0.0, 0.1, 1, 3, 0.1, 1, 3, 0.1, 1]))
    u = penalty.weights(w)
    assert np.all((u >= 0.0) & (u <= 1.0))
    free = np.ones(9, dtype=bool) if penalty.inside is None else ~penalty.inside
    assert np.all(u[~free] == 1.0)
    np.testing.assert_array_equal(u[free] > 0.0, w[free] != 0.0)
    attained = np.sum(ridge / 2.0 * w**2 / np.where(u > 0.0, u, 1.0)) + penalty.cost(u)
    assert penalty.value(w) == pytest.approx(attained, rel=1e-13)


def test_the_conjugate_is_the_supremum(penalty, rng) -> None:
    s = rng.standard_normal(9) * 2.0
    for part, slope in zip(parts(penalty), s, strict=True):
        grid, step = np.linspace(-2.0, 2.0, 201) * slope / part.ridge, 0.02 * slope / part.ridge
        supremum = max(slope * w - part.value(np.array([w])) for w in grid)
        # A maximum is at most half a step away from the grid, and is quadratic or on the grid.
        lost = part.ridge / 2.0 * (step / 2.0) ** 2
        assert -1e-12 <= part.conjugate(np.array([slope])) - supremum <= lost + 1e-12


def test_the_conjugate_by_its_formula(fixing) -> None:
    s = np.array([1.0, -2.0, 3.0, -0.1, 0.5, -4.0, 0.0, 1.5, -1.0])
    q = s**2 / (2.0 * 0.7)
    if "positive" in fixing:
        q = np.where(fixing["positive"] & (s < 0.0), 0.0, q)
    gain = np.maximum(q - 0.4, 0.0)
    if "inside" in fixing:
        gain = np.where(fixing["inside"], q - 0.4, gain)
    if "outside" in fixing:
        gain = np.where(fixing["outside"], 0.0, gain)
    assert L0Ridge(0.4, 0.7, **fixing).conjugate(s) == pytest.approx(np.sum(gain), rel=1e-14)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 20.0])
def test_the_prox_is_the_minimiser(penalty, rng, sigma) -> None:
    q = 4.0 * rng.standard_normal(9)
    point = penalty.prox(q, sigma)
    for part, start, w in zip(parts(penalty), q, point.w, strict=True):
        steps = np.concatenate([[0.0], np.geomspace(1e-7, 10.0, 60)])
        others = w + np.concatenate([-steps, steps, [-w]])
        values = [(x - start) ** 2 / 2.0 + sigma * part.value(np.array([x])) for x in others]
        assert values[0] <= np.min(values) + 1e-14 * (1.0 + start**2)
    np.testing.assert_allclose(point.u, penalty.weights(point.w), rtol=1e-13)


def test_the_prox_returns_the_price(penalty, l0, rng) -> None:
    np.testing.assert_array_equal(penalty.prox(rng.standard_normal(9), 1.0).l0, l0)


def test_the_three_pieces_of_the_prox() -> None:
    # tau = 2, kappa = 1 and, with sigma = 3, the pieces end at |q| = 3 and |q| = 5.
    penalty = L0Ridge(1.0, 0.5)
    q = np.array([0.0, 2.9, -3.5, 4.5, -5.5, 100.0])
    point = penalty.prox(q, 3.0)
    np.testing.assert_allclose(point.w, [0.0, 0.0, -0.5, 1.5, -2.2, 40.0], rtol=1e-15)
    np.testing.assert_allclose(point.u, [0.0, 0.0, 0.25, 0.75, 1.0, 1.0], rtol=1e-15)
    jacobian = penalty.jacobian(q, 3.0)
    np.testing.assert_allclose(jacobian.diagonal, [0.0, 0.0, 1.0, 1.0, 0.4, 0.4], rtol=1e-15)
    assert jacobian.direction is None
    assert jacobian.beta == 0.0


def test_the_jacobian_is_the_derivative(penalty, rng) -> None:
    q, step = 4.0 * rng.standard_normal(9), 1e-7
    difference = (penalty.prox(q + step, 1.5).w - penalty.prox(q - step, 1.5).w) / (2.0 * step)
    np.testing.assert_allclose(penalty.jacobian(q, 1.5).diagonal, difference, atol=1e-7)


def test_no_price_is_pure_ridge(ridge) -> None:
    penalty, q = L0Ridge(0.0, ridge), np.array([0.0, 1.0, -2.0, 3.0, 0.0, -1e-9, 5.0, 1e9, 0.5])
    np.testing.assert_allclose(penalty.prox(q, 2.0).w, q / (1.0 + 2.0 * ridge), rtol=1e-15)
    np.testing.assert_array_equal(penalty.prox(q, 2.0).u, q != 0.0)
    expected = np.broadcast_to(1.0 / (1.0 + 2.0 * ridge), 9)
    np.testing.assert_allclose(penalty.jacobian(q, 2.0).diagonal, expected, rtol=1e-15)
    assert penalty.value(q) == pytest.approx(np.sum(ridge * q**2) / 2.0, rel=1e-14)
    assert penalty.conjugate(q) == pytest.approx(np.sum(q**2 / ridge) / 2.0, rel=1e-14)


def berhu(x: float) -> float:
    """The reverse Huber function B: |x| up to 1, then (x^2 + 1)/2."""
    return abs(x) if abs(x) <= 1.0 else (x * x + 1.0) / 2.0


@given(st.floats(-100.0, 100.0), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_reverse_huber(w, l0, ridge) -> None:
    expected = 2.0 * l0 * berhu(w * math.sqrt(ridge / (2.0 * l0)))
    assert L0Ridge(l0, ridge).value(np.array([w])) == pytest.approx(expected, rel=1e-13)


exponent = st.floats(-8.0, 8.0)


@given(exponent, exponent, exponent, exponent, st.booleans())
def test_the_prox_satisfies_its_optimality_condition_at_any_scale(e, f, g, h, negative) -> None:
    q, sigma, l0, ridge = 10.0**e, 10.0**f, 10.0**g, 10.0**h
    q = -q if negative else q
    penalty = L0Ridge(l0, ridge)
    point = penalty.prox(np.array([q]), sigma)
    w, u = float(point.w[0]), float(point.u[0])
    assert w == 0.0 or (w > 0.0) == (q > 0.0)
    # q - w lies in sigma times the subdifferential of h at w.
    kappa, tolerance = math.sqrt(2.0 * l0 * ridge), 1e-14 * abs(q)
    if w == 0.0:
        assert u == 0.0
        assert abs(q) <= sigma * kappa + tolerance
    elif u < 1.0:
        assert abs(q - w) == pytest.approx(sigma * kappa, rel=1e-14, abs=tolerance)
        assert u == pytest.approx(abs(w) / math.sqrt(2.0 * l0 / ridge), rel=1e-13)
    else:
        assert q - w == pytest.approx(sigma * ridge * w, rel=1e-14, abs=tolerance)
        assert abs(w) >= math.sqrt(2.0 * l0 / ridge) * (1.0 - 1e-13)


def test_what_is_not_allowed_costs_infinity() -> None:
    yes, no = np.array([True]), np.array([1.0])
    assert L0Ridge(1.0, 1.0, outside=yes).value(no) == math.inf
    assert L0Ridge(1.0, 1.0, positive=yes).value(-no) == math.inf
    assert L0Ridge(1.0, 1.0, positive=yes).value(no) == pytest.approx(math.sqrt(2.0))


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf, np.array([1.0, -1e-9])])
def test_a_wrong_price_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="l0 must be nonnegative and finite"):
        L0Ridge(wrong, 1.0)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf, np.array([1.0, 0.0])])
def test_a_wrong_ridge_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="ridge must be positive and finite"):
        L0Ridge(1.0, wrong)


def test_contradictory_masks_are_refused() -> None:
    with pytest.raises(ValueError, match="inside and outside must not share a feature"):
        L0Ridge(1.0, 1.0, inside=np.array([True, False]), outside=np.array([True, True]))
