"""One code for every array library: array_api_strict and torch agree with NumPy."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from sparsebounds.penalties import KRidge, L0Ridge
from sparsebounds.penalties.selection import largest, slope, split

MASKS = {
    "inside": np.arange(600) % 50 == 3,
    "outside": np.arange(600) % 70 == 5,
    "positive": np.arange(600) % 3 == 0,
}


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request: pytest.FixtureRequest):
    if request.param == "array_api_strict":
        return array_api_strict
    return pytest.importorskip("torch")


def numbers(x) -> np.ndarray:
    return np.array([float(v) for v in x])


@pytest.mark.parametrize(
    "make", [lambda r, **o: KRidge(4, r, **o), lambda r, **o: L0Ridge(1.2, r, **o)]
)
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("vector", [False, True])
def test_the_same_as_numpy(xp, rng, make, fixed, vector) -> None:
    q = rng.standard_normal(600)
    ridge = np.exp(rng.standard_normal(600)) if vector else 0.8
    masks = MASKS if fixed else {}
    ours = make(ridge, **masks)
    theirs = make(
        xp.asarray(ridge) if vector else ridge, **{name: xp.asarray(x) for name, x in masks.items()}
    )
    x = xp.asarray(q)
    for sigma in (0.05, 1.0):
        a, b = ours.prox(q, sigma), theirs.prox(x, sigma)
        assert type(b.w) is type(b.u) is type(x)
        np.testing.assert_allclose(numbers(b.w), a.w, rtol=1e-13)
        np.testing.assert_allclose(numbers(b.u), a.u, rtol=1e-11, atol=1e-15)
        assert b.l0 == pytest.approx(a.l0, rel=1e-13)
        c, d = ours.jacobian(q, sigma), theirs.jacobian(x, sigma)
        np.testing.assert_allclose(numbers(d.diagonal), c.diagonal, rtol=1e-14)
        assert (c.direction is None) == (d.direction is None)
        if c.direction is not None:
            np.testing.assert_allclose(numbers(d.direction), c.direction, rtol=1e-14)
            assert d.beta == pytest.approx(c.beta, rel=1e-12)
    w = np.array(a.w)
    assert theirs.value(xp.asarray(w)) == pytest.approx(ours.value(w), rel=1e-13)
    np.testing.assert_allclose(numbers(theirs.weights(xp.asarray(w))), ours.weights(w), rtol=1e-13)
    assert theirs.conjugate(x) == pytest.approx(ours.conjugate(q), rel=1e-13)
    for function in ("value", "conjugate"):
        assert type(getattr(theirs, function)(x)) is float
    assert type(theirs.cost(b.u)) is float


@pytest.mark.parametrize("n", [5, 5000])
def test_selection_is_the_same_as_numpy(xp, rng, n) -> None:
    t, d = rng.random(n), np.exp(rng.standard_normal(n))
    x = xp.asarray(t)
    for k in (1, 4, 50):
        assert largest(x, k) == pytest.approx(largest(t, k), rel=1e-13)
        assert slope(x, k) == pytest.approx(slope(t, k), rel=1e-13)
        for ours, theirs in (
            (split(t, d, k), split(x, xp.asarray(d), k)),
            (split(t, 1.0, k), split(x, 1.0, k)),
        ):
            assert theirs.slope == pytest.approx(ours.slope, rel=1e-13)
            np.testing.assert_array_equal(numbers(theirs.index), ours.index)
            np.testing.assert_allclose(numbers(theirs.u), ours.u, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("penalty", [KRidge(5, 0.7), L0Ridge(0.9, 0.7)])
def test_single_precision_stays_single(penalty, rng) -> None:
    q = rng.standard_normal(500).astype(np.float32)
    point, exact = penalty.prox(q, 0.4), penalty.prox(q.astype(float), 0.4)
    assert point.w.dtype == point.u.dtype == penalty.jacobian(q, 0.4).diagonal.dtype == np.float32
    np.testing.assert_allclose(point.w, exact.w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(point.u, exact.u, rtol=1e-5, atol=1e-6)
    assert penalty.weights(q).dtype == np.float32


@pytest.mark.parametrize("penalty", [KRidge(5, 0.7), L0Ridge(0.9, 0.7)])
def test_the_input_is_left_as_it_was(penalty, rng) -> None:
    q = rng.standard_normal(50)
    before = q.copy()
    penalty.jacobian(q, 0.4, penalty.prox(q, 0.4))
    penalty.value(q)
    penalty.conjugate(q)
    np.testing.assert_array_equal(q, before)
