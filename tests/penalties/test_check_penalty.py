"""`check_penalty` passes our penalties and names what is wrong with a broken one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sparsebounds.penalties import Jacobian, KRidge, L0Ridge, ProxPoint
from sparsebounds.testing._penalty import check_penalty


@pytest.mark.parametrize("k", [0, 1, 4, 8, 9, 30])
def test_the_k_penalty_passes(ridge, fixing, k) -> None:
    check_penalty(KRidge(k, ridge, **fixing), 9)


@pytest.mark.parametrize("l0", [0.0, 0.3, np.linspace(0.0, 2.0, 9)])
def test_the_l0_penalty_passes(ridge, fixing, l0) -> None:
    check_penalty(L0Ridge(l0, ridge, **fixing), 9)


def test_one_feature_passes() -> None:
    check_penalty(KRidge(1, 0.4), 1)
    check_penalty(L0Ridge(0.5, 0.4), 1)


@dataclass(frozen=True, eq=False)
class OffProx(KRidge):
    def prox(self, q, sigma) -> ProxPoint:
        point = super().prox(q, sigma)
        return replace(point, w=point.w * 1.001)


@dataclass(frozen=True, eq=False)
class ForgetsPositive(L0Ridge):
    def prox(self, q, sigma) -> ProxPoint:
        return L0Ridge(self.l0, self.ridge).prox(q, sigma)


@dataclass(frozen=True, eq=False)
class WideWeights(L0Ridge):
    def prox(self, q, sigma) -> ProxPoint:
        point = super().prox(q, sigma)
        return replace(point, u=point.u * 1.01)


@dataclass(frozen=True, eq=False)
class WrongWeights(L0Ridge):
    def weights(self, w):
        return super().weights(w) ** 1.01


@dataclass(frozen=True, eq=False)
class DiagonalOnly(KRidge):
    def jacobian(self, q, sigma, point=None) -> Jacobian:
        return replace(super().jacobian(q, sigma, point), direction=None)


@dataclass(frozen=True, eq=False)
class Expansive(L0Ridge):
    def jacobian(self, q, sigma, point=None) -> Jacobian:
        jacobian = super().jacobian(q, sigma, point)
        return replace(jacobian, diagonal=-jacobian.diagonal)


@dataclass(frozen=True, eq=False)
class HalfConjugate(KRidge):
    def conjugate(self, s) -> float:
        return super().conjugate(s) / 2.0


@dataclass(frozen=True, eq=False)
class LargeConjugate(KRidge):
    def conjugate(self, s) -> float:
        return super().conjugate(s) * 1.001


@dataclass(frozen=True, eq=False)
class NotConvex(L0Ridge):
    """The penalty before it is made convex, with a prox and a conjugate that are its own."""

    def value(self, w) -> float:
        return float(np.sum(self.ridge / 2.0 * w**2) + self.l0 * np.count_nonzero(w))

    def weights(self, w):
        return (w != 0.0).astype(float)

    def prox(self, q, sigma) -> ProxPoint:
        kept = np.abs(q) > np.sqrt(2.0 * sigma * self.l0 * (1.0 + sigma * self.ridge))
        w = np.where(kept, q / (1.0 + sigma * self.ridge), 0.0)
        return ProxPoint(w, kept.astype(float), self.l0)


@pytest.mark.parametrize(
    ("penalty", "sentence"),
    [
        (OffProx(3, 1.0), "minimise|should equal w.zeta"),
        (ForgetsPositive(0.1, 1.0, positive=np.ones(9, dtype=bool)), "nonnegative where positive"),
        (ForgetsPositive(0.1, 1.0, outside=np.arange(9) == 2), "0 outside"),
        (ForgetsPositive(0.1, 1.0, inside=np.arange(9) == 2), "be 1 inside"),
        (WideWeights(0.1, 1.0), "between 0 and 1"),
        (WrongWeights(1.0, 1.0), "weights"),
        (DiagonalOnly(3, 1.0), "finite differences"),
        (Expansive(0.1, 1.0), "eigenvalues between 0 and 1"),
        (HalfConjugate(3, 1.0), "should equal w.zeta"),
        (LargeConjugate(3, 1.0), "should equal w.zeta"),
        (NotConvex(0.5, 1.0), "should equal w.zeta|convex"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
def test_a_broken_penalty_is_named(penalty, sentence) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_penalty(penalty, 9)
