"""What ties the two penalties together, and the identities with the k-support norm."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds.penalties import KRidge, L0Ridge


@pytest.fixture(params=[1, 3, 4])
def k(request: pytest.FixtureRequest) -> int:
    return request.param


def count_inside(fixing: dict[str, np.ndarray]) -> int:
    return int(np.sum(fixing.get("inside", False)))


def test_a_budget_is_a_price_found_inside_the_prox(ridge, fixing, k, rng) -> None:
    for sigma in (0.1, 1.0, 10.0):
        q = rng.standard_normal(9)
        point = KRidge(k, ridge, **fixing).prox(q, sigma)
        priced = L0Ridge(point.l0, ridge, **fixing).prox(q, sigma)
        np.testing.assert_allclose(priced.w, point.w, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(priced.u, point.u, rtol=1e-10, atol=1e-13)


def test_the_k_value_is_the_largest_over_prices(ridge, fixing, k, rng) -> None:
    """h_k(w) = max over l0 of h_l0(w) - l0 k, at l0 = b^2/2; the inside are not counted in k."""
    w = np.abs(rng.standard_normal(9))
    if "outside" in fixing:
        w[fixing["outside"]] = 0.0
    value = KRidge(k, ridge, **fixing).value(w)
    counted = k + count_inside(fixing)

    def below(l0: float) -> float:
        return L0Ridge(l0, ridge, **fixing).value(w) - l0 * counted

    # ridge/2 (w/u)^2 is b^2/2 on the features with 0 < u < 1.
    u = KRidge(k, ridge, **fixing).weights(w)
    partial = (u > 0.0) & (u < 1.0)
    best = (ridge / 2.0 * (w / np.where(partial, u, 1.0)) ** 2)[partial]
    assert partial.any()
    np.testing.assert_allclose(best, best[0], rtol=1e-13)
    assert value == pytest.approx(below(float(best[0])), rel=1e-13)
    assert all(below(l0) <= value * (1.0 + 1e-13) for l0 in np.geomspace(1e-3, 1e3, 200) * best[0])


def test_the_k_conjugate_is_the_least_over_prices(ridge, fixing, k, rng) -> None:
    """h_k*(s) = min over l0 of h_l0*(s) + l0 k, attained at the k-th largest s^2/(2 ridge)."""
    s = rng.standard_normal(9)
    value = KRidge(k, ridge, **fixing).conjugate(s)
    counted = k + count_inside(fixing)
    prices = [0.0, *(s**2 / (2.0 * np.broadcast_to(ridge, 9)))]
    above = [L0Ridge(l0, ridge, **fixing).conjugate(s) + l0 * counted for l0 in prices]
    assert value == pytest.approx(min(above), rel=1e-13)


def berhu(x: np.ndarray) -> np.ndarray:
    """The reverse Huber function B: |x| up to 1, then (x^2 + 1)/2."""
    return np.where(np.abs(x) <= 1.0, np.abs(x), (x**2 + 1.0) / 2.0)


def k_support_norm_squared(w: np.ndarray, k: int) -> float:
    """The closed form of Argyriou, Foygel and Srebro (2012): the j largest are kept as they are,
    the others are spread over the k - j places left, for the one j where that is consistent."""
    a = np.sort(np.abs(w))[::-1]
    for j in range(k):
        mean = np.sum(a[j:]) / (k - j)
        if (j == 0 or a[j - 1] > mean) and mean >= a[j]:
            return float(np.sum(a[:j] ** 2) + np.sum(a[j:]) ** 2 / (k - j))
    raise AssertionError("no split index")


def test_half_the_ridge_times_the_squared_k_support_norm(k, rng) -> None:
    for _ in range(20):
        w = np.exp(rng.standard_normal(9))
        assert KRidge(k, 0.6).value(w) == pytest.approx(
            0.3 * k_support_norm_squared(w, k), rel=1e-13
        )


def test_the_k_support_norm_is_twice_the_reverse_huber_supremum(k, rng) -> None:
    """||w||_k^2 = sup over t > 0 of 2 sum t B(|w_i|/sqrt t) - t k: with the factor 2."""
    w = rng.standard_normal(9)
    t = np.geomspace(1e-4, 1e4, 20_001)[:, None]
    supremum = np.max(np.sum(2.0 * t * berhu(w / np.sqrt(t)), axis=1) - t[:, 0] * k)
    norm = 2.0 * KRidge(k, 1.0).value(w)
    assert norm == pytest.approx(supremum, rel=1e-6)
    assert norm >= supremum * (1.0 - 1e-13)


def test_the_unit_ball_is_the_hull_of_sparse_vectors(rng) -> None:
    """h_k agrees with ridge/2 |w|^2 on k-sparse w, and lies above it elsewhere."""
    for k in (1, 2, 4):
        w = rng.standard_normal(6)
        for support in itertools.combinations(range(6), k):
            sparse = np.where(np.isin(np.arange(6), support), w, 0.0)
            assert KRidge(k, 2.0).value(sparse) == pytest.approx(sparse @ sparse, rel=1e-13)
        assert KRidge(k, 2.0).value(w) > 1.0001 * (w @ w)


def test_the_k_value_decreases_and_is_convex_in_k(ridge, rng) -> None:
    w = rng.standard_normal(9)
    values = np.array([KRidge(k, ridge).value(w) for k in range(1, 12)])
    assert np.all(np.diff(values) <= 1e-14 * values[0])
    assert np.all(np.diff(values, 2) >= -1e-14 * values[0])


def test_a_vector_ridge_is_one_ridge_with_scaled_columns(k, rng) -> None:
    """w_i -> sqrt(ridge_i) w_i turns the vector problem into the one with ridge 1."""
    ridge, w = np.exp(rng.standard_normal(9)), rng.standard_normal(9)
    for vector, scalar in (
        (KRidge(k, ridge), KRidge(k, 1.0)),
        (L0Ridge(0.3, ridge), L0Ridge(0.3, 1.0)),
    ):
        assert vector.value(w) == pytest.approx(scalar.value(np.sqrt(ridge) * w), rel=1e-13)
        assert vector.conjugate(w) == pytest.approx(scalar.conjugate(w / np.sqrt(ridge)), rel=1e-13)


def test_a_constant_vector_is_the_number(k, rng) -> None:
    q, ones = rng.standard_normal(9), np.ones(9)
    for vector, scalar in (
        (KRidge(k, 0.7 * ones), KRidge(k, 0.7)),
        (L0Ridge(0.2 * ones, 0.7 * ones), L0Ridge(0.2, 0.7)),
    ):
        np.testing.assert_allclose(vector.prox(q, 1.3).w, scalar.prox(q, 1.3).w, rtol=1e-13)
        np.testing.assert_allclose(vector.prox(q, 1.3).u, scalar.prox(q, 1.3).u, rtol=1e-13)
        a, b = vector.jacobian(q, 1.3), scalar.jacobian(q, 1.3)
        np.testing.assert_allclose(a.diagonal, b.diagonal, rtol=1e-15)
        assert a.beta == pytest.approx(b.beta, rel=1e-13)


@given(st.integers(-8, 8), st.integers(-8, 8), st.integers(0, 2**16))
def test_scaling(power, other, seed) -> None:
    """h with (ridge, l0) -> (c ridge, c l0) is c h; w -> a w with l0 -> a^2 l0 gives a^2 h."""
    rng = np.random.default_rng(seed)
    q, c, a = rng.standard_normal(9), 10.0**power, 10.0**other
    for base, scaled in (
        (KRidge(3, 1.0), KRidge(3, c)),
        (L0Ridge(0.3, 1.0), L0Ridge(0.3 * a * a * c, c)),
    ):
        point, other_point = base.prox(q, 0.8), scaled.prox(a * q, 0.8 / c)
        np.testing.assert_allclose(other_point.w, a * point.w, rtol=1e-12)
        np.testing.assert_allclose(other_point.u, point.u, rtol=1e-12)
        assert other_point.l0 == pytest.approx(a * a * c * point.l0, rel=1e-12)
        assert scaled.value(a * q) == pytest.approx(a * a * c * base.value(q), rel=1e-12)
        assert scaled.conjugate(a * c * q) == pytest.approx(
            a * a * c * base.conjugate(q), rel=1e-12
        )
