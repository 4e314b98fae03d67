"""The truncated loss at a node of a search: what is known of rows, and a loss below theirs.

A row costs min(r^2, c^2)/2, r = z - y its residual. A node decides about rows by what their
residuals are: r <= c or r >= c, r >= -c or r <= -c. With both inner sides the row is an inlier and
costs r^2/2, with an outer side an outlier, c^2/2. A row in doubt costs at least

    psi(r) = r^2/2  up to  c sqrt(theta),    c^2/2  from  c / sqrt(theta),
             r^2/2 - (|r| - c sqrt(theta))^2 / (2 (1 - theta))   in between,

for any share theta in [0, 1): the largest function below the loss that has a continuous slope and
no curvature below -theta/(1 - theta). What the node knows of r counts by a steep quadratic beyond
it, which costs nothing within.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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


class RowLoss:
    """The rows' losses at a node, l_i, as functions of the residuals."""

    def __init__(self, c: float, above: States, below: States, theta: Vector) -> None:
        self.c = c
        self.outlier: Mask = (above > 0) | (below > 0)
        self.inlier: Mask = (above < 0) & (below < 0)
        self.doubt: Mask = ~(self.outlier | self.inlier)
        self.theta = np.where(self.doubt, theta, 0.0)
        self.least = np.where(self.doubt, -self.theta / (1.0 - self.theta), self.inlier * 1.0)
        """The least curvature of each row."""

        self._open = 1.0 / (1.0 - self.theta)
        root = np.sqrt(self.theta)
        with np.errstate(divide="ignore"):
            self._near = np.where(self.doubt, c * root, np.where(self.inlier, np.inf, 0.0))
            self._far = np.where(self.doubt, c / root, np.where(self.inlier, np.inf, 0.0))
        self._high = np.where(below > 0, -c, np.where(above < 0, c, np.inf))
        self._low = np.where(above > 0, c, np.where(below < 0, -c, -np.inf))

    @property
    def bent(self) -> tuple[Vector, Vector]:
        """Between which residuals a loss in doubt is replaced."""
        return self._near, self._far

    @property
    def bend(self) -> Vector:
        """The most that a slope changes by, per unit of the residual."""
        limited = np.isfinite(self._high) | np.isfinite(self._low)
        return self._open + STEEP * limited

    def at(self, r: Vector) -> tuple[Vector, Vector, Vector]:
        """(value, slope, curvature) at residuals r."""
        size = np.abs(r)
        flat, between = size >= self._far, (size > self._near) & (size < self._far)
        outside = r - np.minimum(np.maximum(r, self._low), self._high)
        bent = np.where(between, (size - self._near) * self._open, 0.0)
        quadratic = 0.5 * np.square(r) - 0.5 * (1.0 - self.theta) * np.square(bent)
        value = np.where(flat, 0.5 * self.c**2, quadratic) + 0.5 * STEEP * np.square(outside)
        slope = np.where(flat, 0.0, r - np.sign(r) * bent) + STEEP * outside
        curvature = np.where(flat, 0.0, np.where(between, self.least, 1.0))
        return value, slope, curvature + STEEP * (outside != 0.0)

    def slope(self, r: Vector) -> Vector:
        """The slopes alone."""
        size = np.abs(r)
        bent = np.maximum(size - self._near, 0.0) * self._open
        inner = np.where(size >= self._far, 0.0, r - np.copysign(bent, r))
        slope: Vector = inner + STEEP * (r - np.minimum(np.maximum(r, self._low), self._high))
        return slope

    def pushed(self, r: Vector) -> Vector:
        """What a line in the place of a steep quadratic gains: it need hold within what is known.

        The line of the same slope through the end of what is known is below 0 there.
        """
        outside = r - np.minimum(np.maximum(r, self._low), self._high)
        gained: Vector = 0.5 * STEEP * np.square(outside)
        return gained

    def unsaturated(self, r: Vector) -> Vector:
        """|r|, and 0 where the loss is flat."""
        return np.where(np.abs(r) >= self._far, 0.0, np.abs(r))

    def sizes(self, r: Vector) -> Vector:
        """The size of the terms that a value adds up."""
        outside = np.maximum(r - self._high, 0.0) + np.maximum(self._low - r, 0.0)
        inner = np.square(self.unsaturated(r)) * self._open
        sizes: Vector = self.c**2 + inner + STEEP * np.square(outside)
        return sizes
