"""The truncated loss at a node of a search: what is known of rows, and a loss below theirs.

A row costs min(r^2, c^2)/2, r = z - y its residual, which lies in [low, high]: a node decides
whether r <= c or r >= c, and r >= -c or r <= -c, and spans (`bounds.row_spans`) are narrower.
Within [-c, c] the row is an inlier and costs r^2/2, beyond it an outlier, c^2/2. A row in doubt
costs at least psi(r): the largest function below the loss on [low, high] that has no curvature
below -kappa, kappa = theta/(1 - theta), for any share theta in [0, 1). With g(r) = loss +
kappa r^2/2 psi is g** - kappa r^2/2. For r > 0 (and r < 0 likewise) it is r^2/2 up to `near`, c^2/2
from `far` on, and between them g** is a line. Without an end it touches g at both,

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

    sparse: bool = False
    """Whether open features lend by supports (`bounds.row_lending`): `shares` says nothing then of
    features that are not in."""

    @classmethod
    def nothing(cls, rows: int, features: int) -> Lent:
        """No row has curvature, and no feature pays for any."""
        return cls(np.zeros(rows), np.zeros(features))

    @classmethod
    def stored(
        cls, theta: Vector, shares: Vector, eta: float, middle: float, *, sparse: bool = False
    ) -> Lent:
        """In the digits that certificates have room for."""
        few, fewer = (part.astype(np.float32).astype(np.float64) for part in (theta, shares))
        return cls(few, fewer, eta, middle, sparse)


@dataclass(frozen=True, eq=False)
class Spans:
    """Where the residuals and the intercept lie of all good models of a node (`bounds.row_spans`).

    Good models are those whose objective is at most a level.
    """

    scope: States
    """The node."""

    low: Vector
    high: Vector
    range: tuple[float, float] = (-np.inf, np.inf)

    @classmethod
    def nothing(cls, scope: States, rows: int) -> Spans:
        """Nothing is known of a node."""
        return cls(scope, np.full(rows, -np.inf), np.full(rows, np.inf))

    def hold(self, state: States) -> bool:
        """Whether all models of another node are of this one."""
        return bool(np.all((self.scope == 0) | (self.scope == state)))


class Below(NamedTuple):
    """Parabolas v + t (s - r) + l (s - r)^2/2 below the losses of rows at residuals s."""

    value: Vector
    slope: Vector
    off: Vector
    """What v may be too large by."""

    slip: Vector
    """What t may be off by."""


class Side(NamedTuple):
    """The line of g for residuals on one side of 0."""

    near: Vector
    far: Vector
    """Where psi leaves the quadratic, and where it is flat."""

    begins: Mask
    """Whether the row begins on the line."""

    slope: Vector
    above: Vector
    """g* of the slope, or more; 0 where the slope is infinite, as there is no line."""

    turn: Vector
    """The slope of g from which psi is flat; infinite where the row ends on the line."""


class RowLoss:
    """The rows' losses at a node as functions of the residuals, which are in [low, high].

    A line of slope tau below g proves that the loss at any s in [low, high] is at least

        v + t (s - r) - kappa (s - r)^2/2,   t = tau - kappa r,  v = tau r - kappa r^2/2 - g*(tau),

    g*(tau) being the supremum of tau s - g(s). Let s_R be the slope of the line for r > 0 and
    G_R >= g*(s_R). Where s >= c and tau <= s_R, or s <= c and tau >= s_R, tau s - g(s) is at most
    G_R + (tau - s_R) c. The quadratic adds at most tau^2/(2 (1 + kappa)), and the flat part
    tau^2/(2 kappa) - c^2/2.
    """

    def __init__(self, c: float, low: Vector, high: Vector, theta: Vector) -> None:
        self.c, self.low, self.high = c, low, high
        self.outlier: Mask = (low >= c) | (high <= -c)
        self.inlier: Mask = (low >= -c) & (high <= c) & ~self.outlier
        self.doubt: Mask = ~(self.outlier | self.inlier)
        self.kappa = np.where(self.doubt, theta / (1.0 - theta), 0.0)
        self.least = np.where(self.doubt, -self.kappa, self.inlier * 1.0)
        """The least curvature of each row."""

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            both = self._sides(np.stack((low, -high)), np.stack((high, -low)))
        self._right, self._left = (Side(*row) for row in zip(*both, strict=True))
        # A row that begins on a line has that slope alone, until it is flat.
        right, left = self._right, self._left
        self._top = np.where(left.begins, -left.slope, right.slope)
        self._bottom = np.where(right.begins, right.slope, -left.slope)
        self._bends: Mask = self._bottom < self._top

    def _sides(self, low: Vector, high: Vector) -> Side:
        """The lines for r > 0, a row for each kind of ends."""
        c, kappa = self.c, self.kappa
        theta = kappa / (1.0 + kappa)
        near, far = c * np.sqrt(theta), c / np.sqrt(theta)
        # An end before `far` is on the line that touches the quadratic.
        end = np.where(np.isfinite(high), high, c)
        reach = (1.0 - theta) * c * c + theta * end * end
        touch = reach / (end + np.sqrt(np.maximum(end * end - reach, 0.0)))
        near = np.where((far > high) & np.isfinite(high), touch, near)
        far = np.minimum(far, high)
        begins: Mask = self.doubt & (low > near) & (high > c)
        rise = low + np.sqrt(np.maximum(c * c - low * low, 0.0) / kappa)
        far = np.where(begins, np.minimum(rise, high), far)
        climb = 0.5 * (c * c + kappa * far * far - (1.0 + kappa) * low * low) / (far - low)
        slope = np.where(begins, climb, (1.0 + kappa) * near)
        slope = np.where(self.outlier | np.isnan(slope), 0.0, slope)
        slope = np.where(self.inlier | (self.doubt & (high <= c)), np.inf, slope)
        near = np.where(begins, low, near)
        turn = np.where(far < high, slope, np.inf)
        return Side(near, far, begins, slope, self._conjugate(slope, low, high), turn)

    def _conjugate(self, slope: Vector, low: Vector, high: Vector) -> Vector:
        """At least g* of a slope that is not below 0; 0 where it is infinite."""
        c, kappa = self.c, self.kappa
        steep = np.where(np.isfinite(slope), slope, 0.0)
        most, size = np.full(slope.shape, -np.inf), np.zeros(slope.shape)
        flat, whole = 0.5 * c * c, 1.0 + kappa
        for first, last, bend, height in (
            (low, np.minimum(high, -c), kappa, flat),
            (np.maximum(low, -c), np.minimum(high, c), whole, 0.0),
            (np.maximum(low, c), high, kappa, flat),
        ):
            s = np.where(steep > 0.0, steep / bend, 0.0)
            s = np.minimum(np.maximum(s, first), last)
            terms = np.abs(steep * s), 0.5 * bend * s * s
            value = np.where(steep > 0.0, steep * s, 0.0) - terms[1] - height
            there = first <= last
            most = np.where(there, np.maximum(most, value), most)
            size = np.where(there & np.isfinite(s), np.maximum(size, terms[0] + terms[1]), size)
        above = most + 2.0**-46 * (size + flat)
        return np.where(np.isfinite(slope), above, 0.0)

    def _lines(self, r: Vector) -> tuple[Vector, Vector, Mask, Mask]:
        """tau, kappa r, and whether psi is the quadratic, or flat, at residuals r."""
        bent = self.kappa * r
        whole = r + bent
        tau = np.minimum(np.maximum(whole, self._bottom), self._top)
        flat: Mask = (bent > self._right.turn) | (bent < -self._left.turn)
        core: Mask = (tau == whole) & self._bends & ~flat
        return np.where(flat, bent, tau), bent, core, flat

    def _heights(self, r: Vector, tau: Vector, bent: Vector, core: Mask, flat: Mask) -> Vector:
        """v at residuals r."""
        c, right, left = self.c, self._right, self._left
        own = np.where(core, 0.5 * r * r, np.where(flat, 0.5 * c * c, np.inf))
        most = right.above - (right.slope - tau) * c
        most = np.maximum(most, left.above - (left.slope + tau) * c)
        heights: Vector = np.minimum(own, (tau - 0.5 * bent) * r - most)
        return heights

    def at(self, r: Vector) -> tuple[Vector, Vector, Vector]:
        """(value, slope, curvature) at residuals r; steep quadratics beyond what is known."""
        tau, bent, core, flat = self._lines(r)
        outside = r - np.minimum(np.maximum(r, self.low), self.high)
        value = self._heights(r, tau, bent, core, flat) + 0.5 * STEEP * np.square(outside)
        curvature = np.where(core, 1.0, np.where(flat, 0.0, -self.kappa))
        return value, tau - bent + STEEP * outside, curvature + STEEP * (outside != 0.0)

    def slope(self, r: Vector) -> Vector:
        """The slopes alone."""
        tau, bent, _, _ = self._lines(r)
        outside = r - np.minimum(np.maximum(r, self.low), self.high)
        slope: Vector = tau - bent + STEEP * outside
        return slope

    def rise(self, r: Vector) -> Vector:
        """d psi/d theta: on a line, half the variance of its ends with the mean r."""
        _, _, core, flat = self._lines(r)
        near = np.where(r > 0.0, self._right.near, self._left.near)
        far = np.where(r > 0.0, self._right.far, self._left.far)
        with np.errstate(invalid="ignore"):
            gained = 0.5 * (np.abs(r) - near) * (far - np.abs(r)) * np.square(1.0 + self.kappa)
        return np.where(core | flat | ~(gained > 0.0) | np.isinf(gained), 0.0, gained)

    def below(self, r: Vector, moved: Vector) -> Below:
        """Parabolas below the losses at residuals that may be off by `moved`.

        Beyond what is known, a line through its end in the place of the steep quadratic.
        """
        tau, bent, core, flat = self._lines(r)
        outside = r - np.minimum(np.maximum(r, self.low), self.high)
        value = self._heights(r, tau, bent, core, flat)
        pushed = STEEP * outside * outside
        t = tau - bent + STEEP * outside
        size = (np.abs(tau) + np.abs(bent)) * (np.abs(r) + self.c) + pushed + self.c**2
        bend = np.abs(self.least)
        slip = bend * moved + 2.0**-50 * (np.abs(tau) + np.abs(bent) + STEEP * np.abs(outside))
        off = moved * (np.abs(t) + bend * moved) + 2.0**-45 * size
        return Below(value + pushed, t, off, slip)
