"""Both penalties against their definitions: minima over u, supports by force, a conic solver."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from sparsebounds.penalties import KRidge, L0Ridge, Pattern, Penalty, Slopes
from sparsebounds.testing import check_penalty

M = 9
VECTOR = np.array([0.3, 2.0, 1.0, 1.0, 0.05, 7.0, 0.9, 3.0, 0.4])
PRICES = (0.0, 0.3, np.array([0.0, 0.5, 0.0, 2.0, 0.1, 0.3, 1e-3, 0.7, 0.2]))


def mask(*features: int) -> np.ndarray:
    return np.isin(np.arange(M), features)


MASKS: tuple[dict[str, Any], ...] = (
    {},
    {"inside": mask(0, 5), "outside": mask(2)},
    {"positive": mask(*range(M))},
    {"inside": mask(1, 4), "outside": mask(0, 8), "positive": mask(1, 2, 3, 8)},
)


def every() -> Iterator[Penalty]:
    for ridge, masks in itertools.product((1.0, 0.02, VECTOR), MASKS):
        yield from (KRidge(k, ridge, **masks) for k in (0, 1, 3, 6, 9, 20))
        yield from (L0Ridge(l0, ridge, **masks) for l0 in PRICES)


def test_every_identity_holds() -> None:
    for penalty in every():
        check_penalty(penalty, M)
    check_penalty(KRidge(1, 0.4), 1)
    check_penalty(L0Ridge(0.5, 0.4), 1)


def test_the_conjugate_is_the_best_support(rng) -> None:
    for penalty in every():
        s = 2.0 * rng.standard_normal(M)
        reach = np.where(penalty.positive, np.maximum(s, 0.0), np.abs(s))
        gains = np.where(penalty.outside, 0.0, reach) ** 2 / (2.0 * penalty.ridge)
        free = ~np.broadcast_to(penalty.inside, M)
        if isinstance(penalty, L0Ridge):
            gains = gains - penalty.l0
            best = np.sum(np.maximum(gains[free], 0.0))
        else:
            assert isinstance(penalty, KRidge)
            choices = itertools.combinations(gains[free], min(penalty.k, int(np.sum(free))))
            best = max(map(sum, choices))
        assert penalty.conjugate(s) == pytest.approx(best + np.sum(gains[~free]), rel=1e-13)


def test_the_price_is_the_least_over_u(rng) -> None:
    u = np.geomspace(1e-6, 1.0, 10_001)[:, None]
    for l0, ridge in itertools.product(PRICES, (1.0, VECTOR)):
        w = rng.standard_normal(M) * np.array([0.0, 0.1, 1, 3, 0.1, 1, 3, 0.1, 1])
        costs = ridge / 2.0 * w**2 / u + l0 * u
        least = np.sum(np.where(w == 0.0, 0.0, np.min(costs, axis=0)))
        assert L0Ridge(l0, ridge).value(w) == pytest.approx(least, rel=1e-6)
        assert L0Ridge(l0, ridge).value(w) <= least + 1e-13


def test_the_budget_agrees_with_a_conic_solver(rng) -> None:
    w, u = rng.standard_normal(M), cp.Variable(M)
    terms = sum(r / 2.0 * x**2 * cp.inv_pos(v) for r, x, v in zip(VECTOR, w, u, strict=True))
    least = cp.Problem(cp.Minimize(terms), [u <= 1.0, cp.sum(u) <= 3.0]).solve(solver=cp.CLARABEL)
    assert KRidge(3, VECTOR).value(w) == pytest.approx(least, rel=1e-6)


def test_a_budget_is_a_price(rng) -> None:
    """h_k(w) = max over l0 of h_l0(w) - l0 k, and h_k*(s) = min over l0 of h_l0*(s) + l0 k."""
    for k in (1, 3, 4):
        w = rng.standard_normal(M)
        budget = KRidge(k, VECTOR)
        l0 = 0.5 * budget.slopes(w).beta ** 2
        prices = [l0 * factor for factor in np.geomspace(1e-3, 1e3, 101)]
        below = [L0Ridge(one, VECTOR).value(w) - one * k for one in prices]
        assert budget.value(w) == pytest.approx(max(below), rel=1e-12)
        assert L0Ridge(l0, VECTOR).weights(w) == pytest.approx(budget.weights(w), rel=1e-12)
        gains = w**2 / (2.0 * VECTOR)
        above = [L0Ridge(one, VECTOR).conjugate(w) + one * k for one in (0.0, *gains)]
        assert budget.conjugate(w) == pytest.approx(min(above), rel=1e-12)


def test_sparse_vectors_cost_their_ridge_alone(rng) -> None:
    """h_k agrees with ridge/2 |w|^2 on k-sparse w, lies above it elsewhere, and falls with k."""
    w = rng.standard_normal(6)
    for k in (1, 2, 4):
        for support in itertools.combinations(range(6), k):
            sparse = np.where(np.isin(np.arange(6), support), w, 0.0)
            assert KRidge(k, 2.0).value(sparse) == pytest.approx(sparse @ sparse, rel=1e-13)
        assert KRidge(k, 2.0).value(w) > 1.0001 * (w @ w)
    values = np.array([KRidge(k, 2.0).value(w) for k in range(1, 9)])
    assert np.all(np.diff(values) <= 1e-14 * values[0])
    assert np.all(np.diff(values, 2) >= -1e-14 * values[0])


def test_scales_of_many_orders(rng) -> None:
    """w_i -> sqrt(ridge_i) w_i poses the problem with ridge 1; units of w and of h factor out."""
    w, ridge = rng.standard_normal(M), 10.0 ** rng.uniform(-8.0, 8.0, M)
    for vector, scalar in (
        (KRidge(3, ridge), KRidge(3, 1.0)),
        (L0Ridge(0.3, ridge), L0Ridge(0.3, 1.0)),
    ):
        assert vector.value(w / np.sqrt(ridge)) == pytest.approx(scalar.value(w), rel=1e-13)
        assert vector.conjugate(w * np.sqrt(ridge)) == pytest.approx(scalar.conjugate(w), rel=1e-13)
    for a, c in itertools.product((1e-8, 1.0, 1e8), repeat=2):
        for base, scaled in (
            (KRidge(3, 1.0), KRidge(3, c)),
            (L0Ridge(0.3, 1.0), L0Ridge(0.3 * a * a * c, c)),
        ):
            assert scaled.value(a * w) == pytest.approx(a * a * c * base.value(w), rel=1e-12)
            conjugate = a * a * c * base.conjugate(w)
            assert scaled.conjugate(a * c * w) == pytest.approx(conjugate, rel=1e-12)


def test_what_is_not_allowed_costs_infinity() -> None:
    yes, w = np.array([True]), np.array([2.0])
    for penalty in (KRidge(1, 1.0), L0Ridge(0.1, 1.0)):
        assert replace(penalty, outside=yes).value(w) == math.inf
        assert replace(penalty, positive=yes).value(-w) == math.inf
        assert replace(penalty, positive=yes).value(w) == penalty.value(w) < math.inf
    none = KRidge(0, 2.0, inside=np.array([True, False]))
    assert none.value(np.array([3.0, 0.0])) == pytest.approx(9.0)
    assert none.value(np.array([3.0, 1e-9])) == math.inf
    assert none.cost(np.array([1.0, 0.0])) == 0.0
    assert none.cost(np.array([1.0, 0.1])) == math.inf


def test_wrong_parameters_are_refused() -> None:
    for wrong in (-1, 2.5, "three"):
        with pytest.raises(ValueError, match="k must be"):
            KRidge(wrong, 1.0)  # type: ignore[arg-type]
    for number in (0.0, -2.0, math.nan, math.inf, np.array([1.0, -1.0]), np.array([1.0, math.nan])):
        for make in (lambda ridge: KRidge(1, ridge), lambda ridge: L0Ridge(1.0, ridge)):
            with pytest.raises(ValueError, match="ridge must be positive and finite"):
                make(number)
    for number in (-1.0, math.nan, math.inf, np.array([1.0, -1e-9])):
        with pytest.raises(ValueError, match="l0 must be nonnegative and finite"):
            L0Ridge(number, 1.0)


@dataclass(frozen=True, eq=False)
class OffPiece(KRidge):
    def pattern(self, q: np.ndarray, step: np.ndarray) -> Pattern:
        found = super().pattern(q, step)
        return replace(found, ridge=found.ridge * 1.01, share=found.share * 1.01)


@dataclass(frozen=True, eq=False)
class ForgetsMasks(L0Ridge):
    def pattern(self, q: np.ndarray, step: np.ndarray) -> Pattern:
        return L0Ridge(self.l0, self.ridge).pattern(q, step)


@dataclass(frozen=True, eq=False)
class OffSlopes(KRidge):
    def slopes(self, w: np.ndarray) -> Slopes:
        found = super().slopes(w)
        return replace(found, gradient=found.gradient * 1.001)


@dataclass(frozen=True, eq=False)
class WrongWeights(L0Ridge):
    def weights(self, w: np.ndarray) -> np.ndarray:
        return super().weights(w) ** 1.01


@dataclass(frozen=True, eq=False)
class LargeConjugate(KRidge):
    def conjugate(self, s: np.ndarray) -> float:
        return super().conjugate(s) * 1.001


@dataclass(frozen=True, eq=False)
class SmallConjugate(KRidge):
    def conjugate(self, s: np.ndarray) -> float:
        return super().conjugate(s) / 2.0


@pytest.mark.parametrize(
    ("penalty", "sentence"),
    [
        (OffPiece(3, 1.0), "minimiser"),
        (ForgetsMasks(0.1, 1.0, positive=np.ones(M, dtype=bool)), "nonnegative where positive"),
        (ForgetsMasks(0.1, 1.0, outside=mask(2)), "0 outside"),
        (OffSlopes(3, 1.0), "slopes of h"),
        (WrongWeights(1.0, 1.0), "weights"),
        (SmallConjugate(3, 1.0), "should equal w.s|at least w.s"),
        (LargeConjugate(3, 1.0), "should equal w.s"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
def test_a_broken_penalty_is_named(penalty: Penalty, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_penalty(penalty, M)
