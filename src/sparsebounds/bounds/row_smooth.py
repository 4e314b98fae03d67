"""Smooth robust losses: the largest function below them of no curvature below -kappa.

Let g(r) = loss(r) + kappa r^2/2, kappa = theta/(1 - theta). Its convex envelope is g up to a, a
line of slope s that touches g at a and b, and g from b on; psi is that less kappa r^2/2. Where
kappa is at least the most that the loss is concave by, psi is the loss itself.

A bound at residuals r0 needs no more than a parabola v + t (r - r0) - kappa (r - r0)^2/2 below each
row's loss: a line of slope tau = t + kappa r0 below g, and so g*(tau), the supremum of
h(r) = tau r - g(r), from above. Only its formula is trusted, and that loss'' falls up to
`loss.dip` and rises beyond. So g is convex on [0, P], concave on [P, Q] and convex from Q on, and h
is at most

    max(h(a) + |h'(a)| dip, h(b) + |h'(b)| max(b, tau/kappa)),   any a <= P, b >= Q,

by its tangents on the outer parts, between which it is convex. With this G for tau = s: for other
tau the tangent at r0 serves on r0's own side, and G - (s - tau) a or G + (tau - s) b on the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds.bounds.row_loss import Below
from sparsebounds.losses import ResidualLoss

LEAST, EDGE = 1e-8, 1e-5
"""Rows with less of the largest kappa than this are worth nothing; short of it by less than that,
a and b are where they are then."""

HALVINGS = 60
"""Of intervals, for the table of a and b."""


@cache
def touching(kind: type[ResidualLoss]) -> tuple[Vector, Vector, Vector]:
    """A table for c = 1: kappa over the largest one, a and b."""
    loss = kind(1.0)
    ratio = np.concatenate((np.geomspace(LEAST, 0.5, 240), 1.0 - np.geomspace(0.5, EDGE, 80)[1:]))
    kappa = -loss.bend(loss.dip) * ratio

    def value(r: Vector) -> Vector:
        whole: Vector = loss.at(r) + 0.5 * kappa * r**2
        return whole

    def slope(r: Vector) -> Vector:
        steep: Vector = r * (loss.weight(r) + kappa)
        return steep

    def halved(rises: Callable[[Vector], Mask], low: Vector, high: Vector) -> Vector:
        """Where a condition begins to hold."""
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            holds = rises(middle)
            low, high = np.where(holds, low, middle), np.where(holds, middle, high)
        return high

    start, turn = np.zeros(len(kappa)), np.full(len(kappa), loss.dip)
    first = halved(lambda r: loss.bend(r) < -kappa, start, turn)
    second = halved(lambda r: loss.bend(r) > -kappa, turn, 4.0 / kappa)

    def ends(s: Vector) -> tuple[Vector, Vector]:
        a = halved(lambda r: slope(r) > s, start, first)
        return a, halved(lambda r: slope(r) > s, second, s / kappa + second)

    def crossed(s: Vector) -> Mask:
        a, b = ends(s)
        below: Mask = value(b) - value(a) < s * (b - a)
        return below

    a, b = ends(halved(crossed, slope(second), slope(first)))
    return ratio, a, b


class SmoothRowLoss:
    """The rows' losses for a smooth robust loss, with their shares: nothing is decided about rows.

    It has the methods of `RowLoss`: `at`, `slope`, `rise` and `below`.
    """

    def __init__(self, loss: ResidualLoss, theta: Vector) -> None:
        self.base, self.c, self.theta = loss, loss.c, theta
        self.doubt: Mask = np.ones(len(theta), dtype=np.bool_)
        kappa = theta / (1.0 - theta)
        self.least, self._kappa = -kappa, kappa
        most = -float(loss.bend(loss.dip * loss.c))
        self._whole: Mask = kappa >= most * (1.0 + 1e-9)
        ratio, near, far = touching(type(loss))
        at = np.log(np.clip(kappa / most, ratio[0], ratio[-1]))
        a = loss.c * np.interp(at, np.log(ratio), near)
        b = loss.c * np.exp(np.interp(at, np.log(ratio), np.log(far)))
        with np.errstate(all="ignore"):
            for _ in range(3):
                s = self._chord(a, b)
                a = np.clip(
                    a - (self._slope(a) - s) / (loss.bend(a) + kappa), 0.0, loss.dip * loss.c
                )
                b = np.maximum(b - (self._slope(b) - s) / (loss.bend(b) + kappa), loss.dip * loss.c)
            s = self._chord(a, b)
            sound = (a < b) & (loss.bend(a) + kappa >= 1e-12) & (loss.bend(b) + kappa >= 1e-12)
            self._G = self._conjugate(a, b, s)
            sound &= (s >= 0.0) & np.isfinite(self._G) & (kappa >= LEAST * most)
        self._none: Mask = ~(sound | self._whole)
        self._near = np.where(self._whole, np.inf, np.where(sound, a, 0.0))
        self._far = np.where(self._whole, np.inf, np.where(sound, b, np.inf))
        self._s = np.where(sound, s, 0.0)

    def _slope(self, r: Vector) -> Vector:
        slope: Vector = r * (self.base.weight(r) + self._kappa)
        return slope

    def _chord(self, a: Vector, b: Vector) -> Vector:
        rise = self.base.at(b) - self.base.at(a)
        chord: Vector = rise / (b - a) + 0.5 * self._kappa * (a + b)
        return chord

    def _conjugate(self, a: Vector, b: Vector, s: Vector) -> Vector:
        """g*(s), from above."""
        size = s * b + self._kappa * b**2 + self.base.at(b)
        unsure = 2.0**-46 * (s + self._kappa * b)
        inner = s * a - 0.5 * self._kappa * a**2 - self.base.at(a)
        inner += (np.abs(s - self._slope(a)) + unsure) * self.base.dip * self.c
        outer = s * b - 0.5 * self._kappa * b**2 - self.base.at(b)
        outer += (np.abs(s - self._slope(b)) + unsure) * np.maximum(b, s / self._kappa)
        above: Vector = np.maximum(inner, outer) + 2.0**-46 * size
        return above

    def at(self, r: Vector) -> tuple[Vector, Vector, Vector]:
        """(value, slope, curvature) at residuals r: of parabolas below the losses."""
        size, kappa, s = np.abs(r), self._kappa, self._s
        own, value = self._slope(size), self.base.at(size)
        inside, outside = size <= self._near, size >= self._far
        with np.errstate(all="ignore"):
            tau = np.where(inside, np.minimum(own, s), np.where(outside, np.maximum(own, s), s))
            tau = np.where(self._whole, own, tau)
            unsure = np.abs(own - tau) + 2.0**-48 * own
            reach = np.where(inside & ~self._whole, self.base.dip * self.c, self._reach(size, tau))
            tangent = value - unsure * reach
            line = tau * size - 0.5 * kappa * size**2 - self._G
            line += np.where(inside, (s - tau) * self._near, 0.0)
            line -= np.where(outside, (tau - s) * self._far, 0.0)
        beside = ~(inside | outside)
        value = np.where(self._whole, tangent, np.where(beside, line, np.minimum(tangent, line)))
        value = np.where(self._none, 0.0, value)
        slope = np.where(self._none, 0.0, np.sign(r) * (tau - kappa * size))
        curvature = np.where(beside & ~self._whole, -kappa, self.base.bend(r))
        return value, slope, np.where(self._none, 0.0, curvature)

    def _reach(self, size: Vector, tau: Vector) -> Vector:
        """Beyond this residual, or that, a line of slope tau falls away from g."""
        reach: Vector = np.maximum(size, tau / self._kappa)
        return reach

    def slope(self, r: Vector) -> Vector:
        """The slopes alone."""
        return self.at(r)[1]

    def rise(self, r: Vector) -> Vector:
        """d psi/d theta: on the line, the variance of far and near with the mean r, halved."""
        size = np.abs(r)
        beside = (size > self._near) & (size < self._far)
        far = np.where(np.isfinite(self._far), self._far, 0.0)
        near = np.where(beside, self._near, 0.0)
        gained = np.maximum(0.5 * (size - near) * (far - size), 0.0)
        return np.where(beside, gained, 0.0) * np.square(1.0 + self._kappa)

    def below(self, r: Vector, moved: Vector) -> Below:
        """Parabolas below the losses at residuals that may be off by `moved`."""
        value, t, _ = self.at(r)
        slip = (1.0 + self._kappa) * (2.0 * moved + 2.0**-46 * (np.abs(r) + self.c))
        slip = slip + 2.0**-46 * np.abs(t)
        return Below(value, t, (np.abs(t) + slip) * moved * 2.0 + 2.0**-44 * self._sizes(r), slip)

    def _sizes(self, r: Vector) -> Vector:
        """The size of the terms that a value adds up."""
        size = np.abs(r)
        terms = self._kappa * size**2 + size * (self._slope(size) + self._s)
        G = np.where(self._none | self._whole, 0.0, self._G)
        far = np.where(np.isfinite(self._far), self._far, 0.0)
        sizes: Vector = self.c**2 + terms + np.abs(G) + (self._s + self._slope(size)) * far
        return sizes
