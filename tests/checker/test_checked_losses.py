"""What the checker says of single losses, against a fine grid of the package's own."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType

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
    import row_trees

    loss = NONCONVEX[name](c=1.7)
    own = checker.Loss(name, {"c": 1.7})
    s = np.concatenate((np.linspace(-40.0, 40.0, 20_001), np.geomspace(40.0, 1e5, 500)))
    exact, most = loss.value(0.0, s), -float(own.bend(row_trees.DIPS[name]))
    for share in (0.0, 1e-12, 1e-6, 0.03, 0.5, 0.99, 1.0 - 1e-7, 1.0, 1.5, 20.0):
        kappa = row_trees.granted(most * share / (1.0 + most * share))
        for r in (0.0, 1e-5, 0.3, -0.8, 1.3, 1.7, -2.3, 4.0, 30.0, -400.0):
            value, slope = row_trees.below_smooth(own, Fraction(r), kappa)
            aside = s - r
            parabola = float(value) + float(slope) * aside - 0.5 * float(kappa) * aside**2
            size = 1.0 + np.abs(float(slope) * r) + float(kappa) * r * r
            over = np.max(parabola - exact)
            assert over <= 1e-14 * size
            if share >= 0.01 and abs(r) < 40.0 and abs(share - 1.0) > 1e-6:
                assert over >= -1e-5 * size
