"""The ramp at the rows of two classes: the largest function below it of no curvature below -kappa.

With r = z - y and s = -y r the loss is l(s) = min(1, max(0, s)). With kappa = theta/(1 - theta) and
g(s) = l(s) + kappa s^2/2, psi = g** - kappa s^2/2 is max(0, s) up to `near`, 1 from `far` on, and

    1 - kappa (far - s)^2/2    in between,  near = 0,                 far = sqrt(2/kappa),
                                            near = 1 - 1/(2 kappa),   far = 1 + 1/(2 kappa)

for kappa <= 1/2 and for a larger one. The line of g** touches g at both; at 0 that is a kink.

A bound at s0 needs a parabola v + t (s - s0) - kappa (s - s0)^2/2 below l. For any t there is one:
l is the lesser of 1 and max(0, s), and max(0, s) >= lambda s for any lambda in [0, 1]. So

    v = min(1 - t^2/(2 kappa), lambda s0 - (t - lambda)^2/(2 kappa)),

the least values of 1 and of lambda s less the rest. lambda = t + kappa s0, put inside [0, 1], is
the best one, and t = psi'(s0) the best slope. At the kink 0 psi' jumps, and t is any number in
between: Newton's method is given psi with the kink rounded off from below, psi' = s/ROUNDED.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds.bounds.row_loss import Below

ROUNDED = 2.0**-8
"""The width over which the slope at the kink rises by 1."""

LEAST = 1e-9
"""Rows with less kappa are claimed nothing of."""


class RampRowLoss:
    """The rows' losses for the ramp, with their shares: nothing is decided about rows.

    It has the methods of `RowLoss`: `at`, `slope`, `rise` and `below`.
    """

    def __init__(self, y: Vector, theta: Vector) -> None:
        self._sign = -y
        self.doubt: Mask = np.ones(len(theta), dtype=np.bool_)
        kappa = theta / (1.0 - theta)
        self.least, self._some = -kappa, kappa >= LEAST
        self._kappa = np.where(self._some, kappa, 1.0)
        steep = self._kappa > 0.5
        self._far = np.where(steep, 1.0 + 0.5 / self._kappa, np.sqrt(2.0 / self._kappa))
        self._near = np.where(steep, 1.0 - 0.5 / self._kappa, 0.0)
        # psi' is s/ROUNDED up to there, and psi less by so much from there on.
        joins = self._kappa * self._far / (1.0 / ROUNDED + self._kappa)
        self._joins = np.minimum(ROUNDED, joins)
        self._less = self._psi(self._joins) - 0.5 * self._joins**2 / ROUNDED

    def _falling(self, s: Vector) -> Vector:
        """The slope of psi for s > 0."""
        falling: Vector = np.minimum(np.maximum(self._kappa * (self._far - s), 0.0), 1.0)
        return falling

    def _psi(self, s: Vector) -> Vector:
        """For s >= 0."""
        psi: Vector = np.minimum(s, 1.0 - 0.5 * np.square(self._falling(s)) / self._kappa)
        return psi

    def _slope(self, s: Vector) -> Vector:
        rising = np.maximum(s, 0.0) / ROUNDED
        return np.where(self._some, np.minimum(rising, self._falling(s)), 0.0)

    def at(self, r: Vector) -> tuple[Vector, Vector, Vector]:
        """(value, slope, curvature) at residuals r, the kink rounded off."""
        s = self._sign * r
        above = np.maximum(s, 0.0)
        rising = above < self._joins
        value = np.where(rising, 0.5 * above**2 / ROUNDED, self._psi(above) - self._less)
        beside = (s > self._near) & (s < self._far)
        bend = np.where(rising, (s > 0.0) / ROUNDED, np.where(beside, -self._kappa, 0.0))
        some = self._some
        return np.where(some, value, 0.0), self.slope(r), np.where(some, bend, 0.0)

    def slope(self, r: Vector) -> Vector:
        """The slopes alone."""
        slope: Vector = self._sign * self._slope(self._sign * r)
        return slope

    def rise(self, r: Vector) -> Vector:
        """d psi/d theta: on the line, the variance of far and near with the mean s, halved."""
        s = self._sign * r
        gained = np.maximum(0.5 * (s - self._near) * (self._far - s), 0.0)
        rise: Vector = np.where(self._some, gained, 0.0) * np.square(1.0 + self._kappa)
        return rise

    def below(self, r: Vector, moved: Vector) -> Below:
        """Parabolas below the losses at residuals that may be off by `moved`."""
        s, kappa = self._sign * r, self._kappa
        t = self._slope(s)
        part = np.minimum(np.maximum(t + kappa * s, 0.0), 1.0)
        flat, line = 0.5 * np.square(t) / kappa, 0.5 * np.square(t - part) / kappa
        # Each less what its rounding may add.
        flat = 1.0 - flat - 2.0**-48 * (1.0 + flat)
        line = part * s - line - 2.0**-48 * (np.abs(part * s) + line)
        slip = np.abs(self.least) * moved * (1.0 + 2.0**-48)
        value = np.where(self._some, np.minimum(flat, line), 0.0)
        return Below(value, self._sign * t, (t + slip) * moved * 2.0 + 2.0**-900, slip)
