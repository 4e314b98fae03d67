"""The paper's section 3.2: reverse Huber, k-support norm and perspective, with the factor 2."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds.penalties import (
    Groups,
    KRidge,
    L0Ridge,
    k_support_dual_norm,
    k_support_norm,
    perspective,
    reverse_huber,
)

SEEDS = st.integers(0, 2**32 - 1)


def draw(seed: int, m: int = 7) -> np.ndarray:
    """Entries of all sizes, some of them zero."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(m) * 10.0 ** rng.uniform(-1, 1, m) * (rng.random(m) < 0.8)


@given(SEEDS)
def test_the_reverse_huber_function_is_a_least_over_u(seed) -> None:
    x = draw(seed)
    u = np.linspace(0.0, 1.0, 4001)[:, None]
    x = np.round(x, 3)  # then u = |x| is on the grid
    forced = np.min(0.5 * (perspective(x + 0.0 * u, u + 0.0 * x) + u), axis=0)
    np.testing.assert_allclose(reverse_huber(x), forced, rtol=1e-6)
    assert np.all(reverse_huber(x) <= forced * (1.0 + 1e-15))
    expected = [abs(v) if abs(v) <= 1.0 else (v * v + 1.0) / 2.0 for v in x]
    np.testing.assert_allclose(reverse_huber(x), expected, rtol=1e-15)


@given(SEEDS, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_the_l0_penalty_is_the_reverse_huber_function(seed, l0, ridge) -> None:
    w = draw(seed)
    scaled = 2.0 * l0 * np.sum(reverse_huber(w * np.sqrt(ridge / (2.0 * l0))))
    assert L0Ridge(l0, ridge).value(w) == pytest.approx(scaled, rel=1e-13)


@given(SEEDS, st.integers(1, 9))
def test_the_squared_k_support_norm_is_a_supremum_of_reverse_hubers(seed, k) -> None:
    """|w|_k^2 = sup over t of 2 t sum B(w_i/sqrt t) - t k: twice what section 3.2 prints."""
    w = draw(seed)
    square = k_support_norm(w, k) ** 2

    def printed(t: float) -> float:
        return t * float(np.sum(reverse_huber(w / math.sqrt(t)))) - t * k / 2.0

    grid = np.geomspace(1e-9, 1e3, 400) * max(np.max(w**2), 1e-3)
    assert all(2.0 * printed(t) <= square * (1.0 + 1e-13) for t in grid)
    u = KRidge(k, 1.0).weights(w)
    partial = (u > 0.0) & (u < 1.0)
    if partial.any():
        # Attained at t = (w_i/u_i)^2, the same number for all features with 0 < u_i < 1.
        best = float(np.mean((w[partial] / u[partial]) ** 2))
        assert 2.0 * printed(best) == pytest.approx(square, rel=1e-13)
    elif np.count_nonzero(w) < k:
        # Only approached, as t falls to 0.
        assert all(2.0 * printed(t) < square for t in grid if t * k > 1e-9 * square)
        assert 2.0 * printed(1e-12) == pytest.approx(square, abs=1e-11)
    if np.any(w):
        assert max(printed(t) for t in grid) <= 0.5 * square * (1.0 + 1e-13)


@given(SEEDS, st.integers(1, 9))
def test_the_norms_are_dual(seed, k) -> None:
    """|s.w| <= |w|_k |s|_k*, equal at s = w/u and, the other way, at the k largest entries of s."""
    w, s = draw(seed), draw(seed + 1)
    assert abs(s @ w) <= k_support_norm(w, k) * k_support_dual_norm(s, k) * (1.0 + 1e-14)
    u = KRidge(k, 1.0).weights(w)
    best = w / np.where(u > 0.0, u, 1.0)
    assert best @ w == pytest.approx(k_support_norm(w, k) * k_support_dual_norm(best, k), rel=1e-13)
    top = np.where(np.isin(np.arange(7), np.argsort(-np.abs(s))[:k]), s, 0.0)
    assert k_support_dual_norm(s, k) == pytest.approx(np.linalg.norm(top), rel=1e-14)
    assert s @ top == pytest.approx(
        k_support_norm(top, k) * k_support_dual_norm(s, k), rel=1e-13, abs=1e-300
    )


@given(SEEDS, st.integers(1, 8))
def test_the_k_support_norm_is_a_norm(seed, k) -> None:
    v, w = draw(seed), draw(seed + 1)
    a, b = k_support_norm(v, k), k_support_norm(w, k)
    assert k_support_norm(v + w, k) <= (a + b) * (1.0 + 1e-14)
    assert k_support_norm(-3.0 * v, k) == pytest.approx(3.0 * a, rel=1e-14)
    assert np.linalg.norm(v) * (1.0 - 1e-14) <= a <= np.sum(np.abs(v)) * (1.0 + 1e-14)
    assert k_support_norm(v, 1) == pytest.approx(np.sum(np.abs(v)), rel=1e-14)
    assert k_support_norm(v, 7) == pytest.approx(np.linalg.norm(v), rel=1e-14)


def test_the_unit_ball_is_the_hull_of_sparse_unit_vectors(rng) -> None:
    for k in (1, 2, 3):
        for _ in range(50):
            points = np.zeros((20, 5))
            for row, support in zip(
                points, itertools.cycle(itertools.combinations(range(5), k)), strict=False
            ):
                row[list(support)] = rng.standard_normal(k)
            points /= np.linalg.norm(points, axis=1, keepdims=True)
            mixture = rng.dirichlet(np.full(20, 0.3)) @ points
            assert k_support_norm(mixture, k) <= 1.0 + 1e-14
        # And no smaller: some slope s has |s|_k* = 1 and s.w = |w|_k > 1 just outside.
        w = rng.standard_normal(5)
        w *= 1.001 / k_support_norm(w, k)
        u = KRidge(k, 1.0).weights(w)
        s = w / u / k_support_dual_norm(w / u, k)
        assert s @ w > 1.0


@given(SEEDS, st.integers(1, 8))
def test_the_penalties_and_the_norms(seed, k) -> None:
    w = draw(seed)
    assert KRidge(k, 0.3).value(w) == pytest.approx(0.15 * k_support_norm(w, k) ** 2, rel=1e-13)
    assert KRidge(k, 0.3).conjugate(w) == pytest.approx(
        k_support_dual_norm(w, k) ** 2 / 0.6, rel=1e-13
    )
    u = KRidge(k, 1.0).weights(w)
    assert np.sum(perspective(w, u)) == pytest.approx(k_support_norm(w, k) ** 2, rel=1e-13)


def test_the_perspective_is_closed_and_convex(rng) -> None:
    w = np.array([0.0, 1.0, -2.0, 0.0, 3.0, 0.0])
    u = np.array([0.0, 0.0, 0.5, 0.7, -1.0, -1.0])
    np.testing.assert_array_equal(perspective(w, u), [0.0, math.inf, 8.0, 0.0, math.inf, math.inf])
    a, b = rng.standard_normal((2, 500)), rng.random((2, 500))
    for share in (0.1, 0.5, 0.8):
        middle = perspective(share * a[0] + (1 - share) * a[1], share * b[0] + (1 - share) * b[1])
        ends = share * perspective(a[0], b[0]) + (1 - share) * perspective(a[1], b[1])
        assert np.all(middle <= ends * (1.0 + 1e-13))


def test_the_cone_of_the_perspective(rng) -> None:
    """z^2/eta <= t is ||(2z, t - eta)|| <= t + eta; the printed cone is strictly smaller."""
    z, t, eta = rng.standard_normal(2000), *rng.exponential(size=(2, 2000))
    inside = perspective(z, eta) <= t
    cone = np.hypot(2.0 * z, t - eta) <= t + eta
    printed = np.hypot(z, t - eta) <= 0.5 * (t + eta)
    np.testing.assert_array_equal(cone, inside)
    assert np.all(inside[printed])
    assert 0 < np.count_nonzero(printed) < np.count_nonzero(inside)
    # (z, t, eta) = (0, 1, 0) obeys 0 <= 1.
    assert np.hypot(0.0, 1.0) <= 1.0
    assert not np.hypot(0.0, 1.0) <= 0.5


def test_extremes() -> None:
    w = np.array([3.0, -4.0, 1.0])
    for scale in (1e-200, 1e-3, 1e200):
        assert k_support_norm(scale * w, 2) == pytest.approx(
            scale * k_support_norm(w, 2), rel=1e-14
        )
        assert k_support_dual_norm(scale * w, 2) == pytest.approx(scale * 5.0, rel=1e-14)
        assert perspective(scale * w, scale * np.ones(3)) == pytest.approx(scale * w**2, rel=1e-14)
    for norm in (k_support_norm, k_support_dual_norm):
        assert norm(np.zeros(3), 2) == norm(np.zeros(0), 2) == 0.0
    assert k_support_norm(w, 0) == math.inf
    assert k_support_dual_norm(w, 0) == 0.0
    with pytest.raises(ValueError, match="k must be 0 or more"):
        k_support_norm(w, -1)


def test_lengths_of_groups_do_not_depend_on_where_their_columns_lie(rng) -> None:
    """Groups of one size side by side, mixed, and of several sizes."""
    values = np.abs(rng.normal(size=(3, 12)))
    beside = Groups(np.repeat(np.arange(0, 12, 4), 4))
    mixed = Groups(np.tile(np.arange(3), 4))
    uneven = Groups(np.repeat([0, 1, 5], [1, 4, 7]))
    for row in (values, values[0], values[:0]):
        blocks = row.reshape((*row.shape[:-1], 3, 4))
        assert beside.norms(row) == pytest.approx(np.linalg.norm(blocks, axis=-1), rel=1e-15)
        turned = np.swapaxes(blocks, -1, -2).reshape(row.shape)
        assert mixed.norms(turned) == pytest.approx(np.linalg.norm(blocks, axis=-1), rel=1e-15)
        parts = [row[..., :1], row[..., 1:5], row[..., 5:]]
        lengths = np.stack([np.linalg.norm(part, axis=-1) for part in parts], axis=-1)
        assert uneven.norms(row) == pytest.approx(lengths, rel=1e-15)
