"""The truncated loss at a node of a search: what is known of rows, and a loss below theirs.

A row costs min(r^2, c^2)/2, r = z - y its residual, which lies in [low, high]: a node decides
whether r <= c or r >= c, and r >= -c or r <= -c, and spans (`bounds.row_spans`) are narrower. Within
[-c, c] the row is an inlier and costs r^2/2, beyond it an outlier, c^2/2. A row in doubt costs at
least psi(r): the largest function below the loss on [low, high] that has no curvature below -kappa,
kappa = theta/(1 - theta), for any share theta in [0, 1). With g(r) = min(r^2, c^2)/2 + kappa r^2/2
psi is g** - kappa r^2/2. For r > 0 (and r < 0 likewise) it is r^2/2 up to `near`, c^2/2 from `far`
on, and between them g** is a line. Without an end it touches g at both,

    near = c sqrt(theta),    far = c/sqrt(theta).

An end before that is `far`, and a beginning after it is `near`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds.bounds.many import States

STEEP = 100.0
"""The curvature of the steep quadratics."""


@dataclass(frozen=True)
class Switches:
    """What a node decides about: features (in or out), then the two sides of each row, then whether
    the intercept is above each of some cuts."""

    features: int
    rows: int
    cuts: Vector = field(default_factory=lambda: np.zeros(0))
    """Ascending."""

    @property
    def count(self) -> int:
        return self.features + 2 * self.rows + len(self.cuts)

    def above(self, row: int) -> int:
        """The switch for r >= c (1) or r <= c (-1)."""
        return self.features + row

    def below(self, row: int) -> int:
        """The switch for r <= -c (1) or r >= -c (-1)."""
        return self.features + self.rows + row

    def cut(self, place: int) -> int:
        """The switch for b >= cut (1) or b <= cut (-1)."""
        return self.features + 2 * self.rows + place

    def sides(self, state: States) -> tuple[States, States]:
        """The states of the rows' two switches."""
        first = self.features
        return state[first : first + self.rows], state[first + self.rows : first + 2 * self.rows]

    def range(self, state: States, outer: tuple[float, float]) -> tuple[float, float]:
        """The intercepts of a node, within `outer`."""
        known = state[self.features + 2 * self.rows :]
        low = max([outer[0], *self.cuts[known > 0].tolist()])
        high = min([outer[1], *self.cuts[known < 0].tolist()])
        return low, high


@dataclass(frozen=True, eq=False)
class Lent:
    """What makes a node's loss convex: the curvature of rows in doubt, and what pays for it."""

    theta: Vector
    """One share per row, in [0, 1)."""

    shares: Vector
    """What each feature lends, in units of its ridge: at most INSIDE, below 0 where it borrows."""

    eta: float = 0.0
    """The curvature that the range of the intercept lends."""

    middle: float = 0.0
    """Around this intercept."""

    @classmethod
    def nothing(cls, rows: int, features: int) -> Lent:
        """No row has curvature, and no feature pays for any."""
        return cls(np.zeros(rows), np.zeros(features))

    @classmethod
    def stored(cls, theta: Vector, shares: Vector, eta: float, middle: float) -> Lent:
        """In the digits that certificates have room for."""
        few, fewer = (part.astype(np.float32).astype(np.float64) for part in (theta, shares))
        return cls(few, fewer, eta, middle)


@dataclass(frozen=True, eq=False)
class Spans:
    """Where the residuals of all models lie that are good enough and whose intercept is `within`.

    See `bounds.row_spans`.
    """

    low: Vector
    high: Vector
    range: tuple[float, float]
    """Where their intercepts lie."""

    within: tuple[float, float]

    @classmethod
    def nothing(cls, rows: int, within: tuple[float, float]) -> Spans:
        """Nothing is known."""
        return cls(np.full(rows, -np.inf), np.full(rows, np.inf), within, within)

    def hold(self, low: float, high: float) -> bool:
        """Whether they hold for models with intercepts from low to high."""
        return self.within[0] <= low and high <= self.within[1]


class Bridge(NamedTuple):
    """Between `near` and `far`, the part of a side where psi is not the loss."""

    near: Vector
    far: Vector
    begins: Mask
    """Whether the row begins on the line, so that it goes on before `near`."""

    ends: Mask
    """Whether it ends on the line, so that it goes on after `far`."""

    start: Vector
    base: Vector
    steep: Vector
    """The line of g: its value at a point, and its slope."""


class Below(NamedTuple):
    """Parabolas v + t (s - r) + l (s - r)^2/2 below the losses of rows at residuals s."""

    value: Vector
    slope: Vector
    off: Vector
    """What v may be too large by."""

    slip: Vector
    """What t may be off by."""


class RowLoss:
    """The rows' losses at a node as functions of the residuals, which are in [low, high]."""

    def __init__(self, c: float, low: Vector, high: Vector, theta: Vector) -> None:
        self.c, self.low, self.high = c, low, high
        self.outlier: Mask = (low >= c) | (high <= -c)
        self.inlier: Mask = (low >= -c) & (high <= c) & ~self.outlier
        self.doubt: Mask = ~(self.outlier | self.inlier)
        self.theta = np.where(self.doubt, theta, 0.0)
        self.kappa = self.theta / (1.0 - self.theta)
        self.least = np.where(self.doubt, -self.kappa, self.inlier * 1.0)
        """The least curvature of each row."""

        with np.errstate(divide="ignore", invalid="ignore"):
            self._right, self._left = self._side(low, high), self._side(-high, -low)

    def _side(self, low: Vector, high: Vector) -> Bridge:
        """Where psi leaves the loss for r > 0, and where it comes back."""
        c, theta, kappa = self.c, self.theta, self.kappa
        near, far = c * np.sqrt(theta), c / np.sqrt(theta)
        # The end is on the line from where that touches the quadratic.
        ends: Mask = far > high
        end = np.where(np.isfinite(high), high, c)
        reach = (1.0 - theta) * c * c + theta * end * end
        touch = reach / (end + np.sqrt(np.maximum(end * end - reach, 0.0)))
        near = np.where(ends & np.isfinite(high), touch, near)
        far = np.where(ends, high, far)
        # The row begins on the line.
        begins: Mask = self.doubt & (low > near) & (high > c)
        rise = low + np.sqrt(np.maximum(c * c - low * low, 0.0) / kappa)
        near, far = np.where(begins, low, near), np.where(begins, np.minimum(rise, high), far)
        ends = np.where(begins, rise >= high, ends)
        whole: Mask = self.inlier | (self.doubt & (high <= c))
        near = np.where(whole, np.inf, np.where(self.outlier, -np.inf, near))
        far = np.where(whole, np.inf, np.where(self.outlier, -np.inf, far))
        a = np.where(np.isfinite(near), near, 0.0)
        base = 0.5 * (1.0 + kappa) * a * a
        top = 0.5 * c * c + 0.5 * kappa * np.square(np.where(np.isfinite(far), far, 0.0))
        steep = np.where(begins, (top - base) / (far - a), (1.0 + kappa) * a)
        steep = np.where(np.isfinite(steep), steep, 0.0)
        return Bridge(near, far, begins, ends & ~whole & ~self.outlier, a, base, steep)

    def _parts(self, r: Vector) -> tuple[Vector, Vector, Mask, Mask, Bridge]:
        """Each r's side and size, whether psi is the quadratic or flat there, and the bridge."""
        right: Mask = np.where(self.low > 0.0, True, np.where(self.high < 0.0, False, r >= 0.0))
        side = np.where(right, 1.0, -1.0)
        size = side * r
        pairs = zip(self._right, self._left, strict=True)
        bridge = Bridge(*(np.where(right, one, other) for one, other in pairs))
        core: Mask = (size <= bridge.near) & ~bridge.begins
        flat: Mask = (size >= bridge.far) & ~bridge.ends
        return side, size, core, flat & ~core, bridge

    def at(self, r: Vector) -> tuple[Vector, Vector, Vector]:
        """(value, slope, curvature) at residuals r; steep quadratics beyond what is known."""
        side, size, core, flat, bridge = self._parts(r)
        outside = r - np.minimum(np.maximum(r, self.low), self.high)
        line = bridge.base + bridge.steep * (size - bridge.start) - 0.5 * self.kappa * size * size
        value = np.where(flat, 0.5 * self.c**2, np.where(core, 0.5 * r * r, line))
        steep = side * (bridge.steep - self.kappa * size)
        slope = np.where(flat, 0.0, np.where(core, r, steep))
        curvature = np.where(flat, 0.0, np.where(core, 1.0, -self.kappa))
        value += 0.5 * STEEP * np.square(outside)
        return value, slope + STEEP * outside, curvature + STEEP * (outside != 0.0)

    def slope(self, r: Vector) -> Vector:
        """The slopes alone."""
        side, size, core, flat, bridge = self._parts(r)
        inner = np.where(core, r, side * (bridge.steep - self.kappa * size))
        slope: Vector = np.where(flat, 0.0, inner)
        return slope + STEEP * (r - np.minimum(np.maximum(r, self.low), self.high))

    def rise(self, r: Vector) -> Vector:
        """d psi/d theta: on the line, the variance of far and near with the mean r, halved."""
        _, size, core, flat, bridge = self._parts(r)
        far = np.where(np.isfinite(bridge.far), bridge.far, 0.0)
        gained = np.maximum(0.5 * (size - bridge.start) * (far - size), 0.0)
        return np.where(core | flat, 0.0, gained) * np.square(1.0 + self.kappa)

    def below(self, r: Vector, moved: Vector) -> Below:
        """Parabolas below the losses at residuals that may be off by `moved`.

        Of the slopes t and the least curvatures l, v is the least of loss - t (s - r) -
        l (s - r)^2/2 over the residuals s of the row. It is convex or linear in s on each piece.
        """
        t, bend, c = self.slope(r), self.least, self.c
        least, size, reach = np.full(r.shape, np.inf), np.zeros(r.shape), np.zeros(r.shape)
        low, high = self.low, self.high
        core = np.maximum(low, -c), np.minimum(high, c)
        right, left = (np.maximum(low, c), high), (low, np.minimum(high, -c))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for inner, (first, last) in ((True, core), (False, right), (False, left)):
                there = first <= last
                if not there.any():
                    continue
                s = (t - bend * r) / (1.0 - bend) if inner else r + t / self.kappa
                s = np.minimum(np.maximum(np.where(np.isnan(s), r, s), first), last)
                d = s - r
                loss = 0.5 * s * s if inner else 0.5 * c * c
                found = loss - t * d - 0.5 * bend * d * d
                found = np.where(np.isnan(found), -np.inf, found)
                least = np.where(there, np.minimum(least, found), least)
                terms = loss + np.abs(t * d) + np.abs(bend) * d * d
                size = np.where(there, np.maximum(size, terms), size)
                reach = np.where(there, np.maximum(reach, np.abs(d)), reach)
            off = moved * (np.abs(t) + np.abs(bend) * (reach + moved)) + 2.0**-46 * (size + c * c)
        return Below(least, t, np.where(np.isnan(off), np.inf, off), np.zeros(r.shape))
