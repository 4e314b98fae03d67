"""What the checker says of single losses, against a fine grid of the package's own."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from sparsebounds.losses import NONCONVEX, ResidualLoss

SMOOTH = ("tukey", "welsch", "geman_mcclure", "cauchy")


@pytest.mark.parametrize("name", sorted(NONCONVEX))
def test_suprema_over_a_box(name: str, checker: ModuleType) -> None:
    """Never below t z - loss on the box, and above it by no more than the grid misses."""
    rng, kind = np.random.default_rng(0), NONCONVEX[name]
    for _ in range(25):
        known = {"c": float(np.exp(rng.normal()))} if issubclass(kind, ResidualLoss) else {}
        loss, own = kind(**known), checker.Loss(name, known)
        y = float(rng.choice([-1.0, 1.0]) if own.two_class else rng.normal() * rng.choice([1, 9]))
        y, t = abs(y) if name == "amplitude" else y, float(rng.normal())
        low = float(y * rng.choice([-1, 0, 1]) + 3.0 * rng.normal())
        high = low + float(rng.exponential() * rng.choice([1e-3, 1.0, 10.0]))
        found = float(own.supremum(*map(Fraction, (y, t, low, high))))
        z = np.linspace(low, high, 4001)
        values = t * z - loss.value(y, z)
        size = np.abs(t * z).max() + np.abs(values).max()
        steep = np.abs(np.diff(values)).max()
        assert np.max(values) - 1e-14 * size <= found <= np.max(values) + steep + 1e-14 * size


@pytest.mark.parametrize("name", SMOOTH)
def test_parabolas_below_a_smooth_loss(name: str, checker: ModuleType) -> None:
    """Everywhere; and they touch it nearly where the curvature that is granted is of use."""
    from loss_functions import DIPS
    from row_losses import FINE, granted
    from smooth_rows import below_smooth

    loss = NONCONVEX[name](c=1.7)
    own = checker.Loss(name, {"c": 1.7})
    s = np.concatenate((np.linspace(-40.0, 40.0, 20_001), np.geomspace(40.0, 1e5, 500)))
    exact, most = loss.value(0.0, s), -float(own.bend(DIPS[name]))
    for share in (0.0, 1e-12, 1e-6, 0.03, 0.5, 0.99, 1.0 - 1e-7, 1.0, 1.5, 20.0):
        kappa = Fraction(granted(most * share / (1.0 + most * share)), FINE)
        for r in (0.0, 1e-5, 0.3, -0.8, 1.3, 1.7, -2.3, 4.0, 30.0, -400.0):
            value, slope = below_smooth(own, Fraction(r), kappa, Fraction(2) ** -120)
            aside = s - r
            parabola = float(value) + float(slope) * aside - 0.5 * float(kappa) * aside**2
            size = 1.0 + np.abs(float(slope) * r) + float(kappa) * r * r
            over = np.max(parabola - exact)
            assert over <= 1e-14 * size
            if share >= 0.01 and abs(r) < 40.0 and abs(share - 1.0) > 1e-6:
                assert over >= -1e-5 * size


def test_parabolas_below_the_ramp(checker: ModuleType) -> None:
    """Everywhere, by fractions, and they touch it; t is the slope of the largest such function."""
    from ramp_rows import below_ramp

    grid = Fraction(1, 1 << 120)
    for y in (-1, 1):
        for kappa in map(Fraction, (0.0, 1e-12, 1e-6, 0.03, 0.49, 0.5, 0.51, 1.0, 1.9, 2.0, 30.0)):
            for x in (-7.0, -1e-9, 0.0, 1e-4, 0.3, 0.9, 1.0, 1.3, 2.0, 40.0, 1e7):
                r = -y * Fraction(x)
                value, slope = below_ramp(y, r, kappa, grid)
                assert (slope / grid).denominator == 1
                least = least_above_ramp(Fraction(x), value, -y * slope, kappa)
                assert least >= 0
                assert kappa < 1e-9 or least <= 1e-30


def least_above_ramp(x: Fraction, value: Fraction, slope: Fraction, kappa: Fraction) -> Fraction:
    """The least of min(1, max(0, s)) - value - slope (s - x) + kappa (s - x)^2/2 over all s."""
    if not kappa:
        assert slope == 0
        return -value
    found = []
    for low, high, tilt, height in ((None, 0, 0, 0), (0, 1, 1, 0), (1, None, 0, 1)):
        s = x + (slope - tilt) / kappa
        s = s if low is None else max(s, Fraction(low))
        s = s if high is None else min(s, Fraction(high))
        found.append(height + tilt * s - value - slope * (s - x) + kappa * (s - x) ** 2 / 2)
    return min(found)


def span_of(rng: np.random.Generator, c: float) -> tuple[float, float]:
    """An interval of residuals, with ends at c, at infinity or anywhere."""
    ends = [-np.inf, -c, c, np.inf, *(2.0 * c * rng.normal(size=6))]
    low, high = np.sort(rng.choice(ends, size=2, replace=False))
    return float(low), float(high)


def test_parabolas_below_the_truncated_loss_on_a_span(checker: ModuleType) -> None:
    """v is the least there is on the span; and no other slope is better where r is in the span."""
    from row_losses import FINE, Rows, granted

    rng, seen = np.random.default_rng(0), set()
    for _ in range(300):
        c = float(np.exp(3.0 * rng.normal()))
        loss, zero = checker.Loss("truncated", {"c": c}), [Fraction(0)]
        rows = Rows(SimpleNamespace(loss=loss, y=zero, o=zero, units=[Fraction(1)]))
        one, (low, high) = 1 << rows.bits, span_of(rng, c)
        r, kappa = (
            float(c * 2.0 * rng.normal()),
            float(rng.choice([0.0, np.exp(2.0 * rng.normal())])),
        )
        at, *span = (x if np.isinf(x) else int(Fraction(x) * one) for x in (r, low, high))
        (curve,) = rows.least([span], [granted(kappa / (1.0 + kappa))])
        ((t,), (v,)) = rows.below([at], [span], [curve])
        t, v, bend = t / one, float(Fraction(v, 2 * FINE * one**2)), curve / FINE
        kind = "inlier" if -c <= low and high <= c else "doubt"
        kind = "outlier" if low >= c or high <= -c else kind
        assert bend == pytest.approx({"inlier": 1.0, "outlier": 0.0}.get(kind, -kappa))
        inside = low <= r <= high
        seen.add((kind, inside, kappa > 0.0))
        far = 9.0 * (c + abs(r))
        s = np.linspace(max(low, -far), min(high, far), 20_001)
        s = np.append(s, [x for x in (-c, c, r) if low <= x <= high])
        below = np.minimum(s**2, c**2) / 2 - bend * (s - r) ** 2 / 2
        size = c**2 + (1.0 + kappa) * r**2 + abs(t) * c
        assert -1e-5 * size <= v - np.min(below - t * (s - r)) <= 1e-13 * size
        if inside and (kappa > 0.0 or np.isfinite(low + high)):
            others = t + c * (1.0 + kappa) * np.array([-1.0, -0.1, -0.01, 0.01, 0.1, 1.0])
            assert v >= max(np.min(below - x * (s - r)) for x in others) - 1e-5 * size
    assert len(seen) == 12
