"""Losses: every one keeps its promises, on every array library, and a broken one is caught."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass

import array_api_strict
import numpy as np
import pytest

from sparsebounds import losses
from sparsebounds.losses import (
    NONCONVEX,
    REGISTRY,
    Envelope,
    Huber,
    Logistic,
    Loss,
    MeanLoss,
    NonConvexLoss,
    Squared,
)
from sparsebounds.testing import check_loss

RESPONSES = {
    "squared": [-3.0, 0.0, 0.7, 50.0],
    "huber": [-3.0, 0.0, 0.7, 50.0],
    "poisson": [0.0, 1.0, 0.5, 30.0],
    "logistic": [-1.0, 1.0],
    "squared_hinge": [-1.0, 1.0],
}
TAILS = np.array([-1e3, -40.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 40.0, 1e3])


def test_every_loss_is_registered() -> None:
    defined = {
        cls
        for cls in vars(losses).values()
        if inspect.isclass(cls) and issubclass(cls, Loss) and cls is not Loss
    }
    bases = {NonConvexLoss, losses.ResidualLoss, Envelope}
    assert defined == {*REGISTRY.values(), *NONCONVEX.values(), *bases}
    assert set(RESPONSES) == set(REGISTRY)


@pytest.mark.parametrize("name", sorted(REGISTRY))
@pytest.mark.parametrize("seed", range(5))
def test_promises(name: str, seed: int) -> None:
    check_loss(REGISTRY[name](), np.array(RESPONSES[name]), random_state=seed)


def test_huber_promises_at_other_deltas() -> None:
    for delta in (1e-3, 0.5, 100.0):
        check_loss(Huber(delta), np.array(RESPONSES["huber"]))


@dataclass(frozen=True)
class _WrongConjugate(Squared):
    def conjugate(self, y, b):  # type: ignore[no-untyped-def]
        return 0.5 * b * b - b * y


@dataclass(frozen=True)
class _WrongCurvature(Squared):
    def curvature(self, y, z):  # type: ignore[no-untyped-def]
        return 2.0 + 0.0 * z


@dataclass(frozen=True)
class _WrongTerms(Logistic):
    def conjugate_terms(self, y, b):  # type: ignore[no-untyped-def]
        return 0.0 * b


@dataclass(frozen=True)
class _Kinked(Huber):
    self_concordant = True


@dataclass(frozen=True)
class _Waving(Squared):
    """Its curvature is 1 + sin(z)/2, which changes slowly, but rises again and again."""

    smoothness = 1.5
    self_concordant = True

    def value(self, y, z):  # type: ignore[no-untyped-def]
        return 0.5 * z * z - 0.5 * np.sin(z)

    def gradient(self, y, z):  # type: ignore[no-untyped-def]
        return z - 0.5 * np.cos(z)

    def curvature(self, y, z):  # type: ignore[no-untyped-def]
        return 1.0 + 0.5 * np.sin(z)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (_WrongConjugate(), "Fenchel-Young"),
        (_WrongCurvature(), "derivative of gradient"),
        (_WrongTerms(), "conjugate_terms"),
        (_Kinked(), "change by exp"),
        (_Waving(), "not rise again"),
    ],
)
def test_a_broken_loss_is_caught(broken: Loss, sentence: str) -> None:
    y = np.array([-1.0, 1.0])
    with pytest.raises(AssertionError, match=sentence):
        check_loss(broken, y)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_array_api_strict_agrees_with_numpy(name: str) -> None:
    loss = REGISTRY[name]()
    rng = np.random.default_rng(0)
    y, z = rng.choice(RESPONSES[name], size=50), rng.normal(size=50)
    b = loss.gradient(y, z)
    strict = [array_api_strict.asarray(x) for x in (y, z, b)]
    for method, arguments in (
        ("value", (0, 1)),
        ("gradient", (0, 1)),
        ("curvature", (0, 1)),
        ("conjugate", (0, 2)),
        ("infimum", (0,)),
        ("clip", (0, 1)),
        ("value_terms", (0, 1)),
        ("conjugate_terms", (0, 2)),
    ):
        expected = getattr(loss, method)(*((y, z, b)[i] for i in arguments))
        got = getattr(loss, method)(*(strict[i] for i in arguments))
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-14, atol=1e-300)
    for pair in (loss.domain, lambda v: loss.sublevel(v, v * 0.0 + 1.0)):
        for got, expected in zip(pair(strict[0]), pair(y), strict=True):
            np.testing.assert_array_equal(np.asarray(got), expected)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_tails_stay_finite_where_the_mathematics_is(name: str) -> None:
    loss = REGISTRY[name]()
    for y in RESPONSES[name]:
        z = np.clip(TAILS, None, 700.0)
        ys = np.full(len(z), y)
        for value in (loss.value(ys, z), loss.gradient(ys, z), loss.curvature(ys, z)):
            assert np.all(np.isfinite(value))
        lo, hi = loss.domain(ys)
        inside = np.clip(loss.gradient(ys, z), lo, hi)
        assert np.all(np.isfinite(loss.conjugate(ys, inside)))


def test_logistic_gradient_keeps_its_relative_accuracy_in_the_tail() -> None:
    got = Logistic().gradient(np.array([1.0]), np.array([700.0]))[0]
    assert math.isclose(got, -math.exp(-700.0), rel_tol=1e-12)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_mean_is_a_weighted_mean_with_offset(name: str) -> None:
    loss, rng = REGISTRY[name](), np.random.default_rng(1)
    y, z, o = rng.choice(RESPONSES[name], size=9), rng.normal(size=9), rng.normal(size=9)
    p = rng.random(9)
    p /= p.sum()
    F = MeanLoss(loss, y, p, o)
    assert F.value(z) == pytest.approx(np.sum(p * loss.value(y, z + o)), rel=1e-14)
    a = F.gradient(z)
    # Fenchel-Young, tight at the gradient; the offset enters as -a.o
    assert F.value(z) + F.conjugate(a) == pytest.approx(a @ z, rel=1e-11, abs=1e-11)
    np.testing.assert_array_equal(F.clip(a), p * loss.clip(y, a / p))
    assert F.infimum == pytest.approx(-MeanLoss(loss, y, p).conjugate(0 * y), rel=1e-14, abs=1e-14)
    h = 1e-6
    for i in range(9):
        step = h * np.eye(9)[i]
        assert (F.value(z + step) - F.value(z - step)) / (2 * h) == pytest.approx(a[i], abs=1e-5)


def test_unknown_loss_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"loss='l2' is not a loss; pass one of 'huber', 'logist"):
        losses.get_loss("l2")


@pytest.mark.parametrize("offset", [-800.0, -300.0, 0.0, 300.0, 800.0])
def test_the_best_constant_is_found_from_afar(offset: float) -> None:
    """Newton's steps on an exponential are 1 each, so 800 of them would be needed."""
    y = np.array([1.0, 2.0, 3.0])
    mean = MeanLoss(REGISTRY["poisson"](), y, np.full(3, 1 / 3), np.full(3, offset))
    with np.errstate(over="ignore", invalid="ignore"):
        assert mean.best_constant() == pytest.approx(math.log(2.0) - offset, rel=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e-20, 1.0, 1e10, 1e149])
def test_the_best_constant_at_any_scale(size: float) -> None:
    mean = MeanLoss(Squared(), size * np.array([1.0, 2.0, 4.0]), np.full(3, 1 / 3))
    assert mean.best_constant() == pytest.approx(size * 7.0 / 3.0, rel=1e-15)
