"""The convex envelope of a loss on an interval, as a convex loss of its own.

On [lo_i, hi_i] it lies below the loss in row i; its conjugate is that of the loss on the interval,

    t -> sup over lo <= z <= hi of t z - loss(y, z),

finite for every t. Beyond the interval, where no model's prediction lies, the envelope goes on with
its end slope and a curvature of its own: convex, and Newton's method has ground to stand on.

`TangentEnvelope` is made of the loss and of lines. Outwards lines (robust losses, ramp, sigmoid):
the loss on [p, q], from p the line to (lo, loss(lo)) and from q to (hi, loss(hi)), tangent or
ending at p, q. A line inwards (phase retrieval): the loss outside ]p, q[, a line between.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.rounding import U, down, up
from sparsebounds.losses.base import Loss
from sparsebounds.losses.nonconvex import NonConvexLoss

GRANTED = 0.1
"""The part of a reweighting that stands in for the curvature of a line."""


@dataclass(frozen=True)
class Box:
    """What is proved of every model worth considering (`bounds.enclosed`).

    Attributes
    ----------
    low : array
        The least that x_i.w can be, one number per row.
    high : array
        The most.
    intercept : tuple[float, float]
        A range of b; (0, 0) where none is fitted.
    ceiling : float
        No bound may exceed this: models above it were left out of account.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> program = sb.Program(X, [1.0, 0.0, 1.0, 9.0], k=1, ridge=0.5, loss="truncated")
    >>> sb.bounds.enclosed(program).box.high.round(2).tolist()
    [2.35, 2.35, 2.35, 2.35]
    """

    low: Vector
    high: Vector
    intercept: tuple[float, float]
    ceiling: float

    def envelope(self, loss: NonConvexLoss, y: Vector, offset: Vector | None) -> Envelope:
        """The envelope of the loss on the predictions that the box allows."""
        lo, hi = down(self.low + self.intercept[0]), up(self.high + self.intercept[1])
        if offset is not None:
            lo, hi = down(lo + offset), up(hi + offset)
        return loss.envelope(y, lo, hi)

    @property
    def reach(self) -> float:
        """The largest |b|."""
        return max(map(abs, self.intercept))


@dataclass(frozen=True)
class Envelope(Loss):
    """A convex loss below another one on a box, one interval per row: y must be those of the rows.

    Parameters
    ----------
    loss : NonConvexLoss
        What it is below.
    lo, hi : array
        The ends of each row's interval.

    Examples
    --------
    >>> y, ends, z = np.zeros(3), np.full(3, 8.0), np.array([0.0, 1.0, 4.0])
    >>> envelope = sb.losses.Tukey().envelope(y, -ends, ends)
    >>> bool(np.all(envelope.value(y, z) <= sb.losses.Tukey().value(y, z)))
    True
    """

    loss: NonConvexLoss
    lo: Vector
    hi: Vector

    name: ClassVar[str] = "envelope"
    portable: ClassVar[bool] = False

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """NaN: beyond the box the curvature is a matter of convenience."""
        return float("nan")

    @property
    def stiffness(self) -> float:
        """The curvature beyond the box."""
        bend = self.loss.smoothness
        return float(bend) if np.isfinite(bend) else 1.0

    def smoothed(self) -> Envelope:
        """A lower bound of this one that Newton's method can work with: itself, if smooth."""
        return self

    @abstractmethod
    def inside(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Value, slope and curvature for z on the box."""

    def value(self, y: Any, z: Any) -> Any:
        at = np.clip(z, self.lo, self.hi)
        value, slope, _ = self.inside(y, at)
        return value + (z - at) * (slope + 0.5 * self.stiffness * (z - at))

    def gradient(self, y: Any, z: Any) -> Any:
        at = np.clip(z, self.lo, self.hi)
        return self.inside(y, at)[1] + self.stiffness * (z - at)

    def curvature(self, y: Any, z: Any) -> Any:
        # Lines have none, and Newton's steps would know no measure: they get a part of the weight
        # that reweighted least squares gives them.
        at = np.clip(z, self.lo, self.hi)
        _, slope, bend = self.inside(y, at)
        way = np.maximum(np.abs(at - np.clip(self.loss.perfect(y), self.lo, self.hi)), 1e-12)
        return np.where(z == at, np.maximum(bend, GRANTED * np.abs(slope) / way), self.stiffness)

    def conjugate(self, y: Any, b: Any) -> Any:
        return self.loss.supremum(y, b, self.lo, self.hi)[0]

    def conjugate_terms(self, y: Any, b: Any) -> Any:
        return self.loss.supremum(y, b, self.lo, self.hi)[1]

    def domain(self, y: Any) -> tuple[Any, Any]:
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def infimum(self, y: Any) -> Any:
        return self.loss.infimum(y)

    def sublevel(self, y: Any, excess: Any) -> tuple[Any, Any]:
        # Over the box. What bounds the intercept of such a program is `Box.reach`, not this.
        return self.lo, self.hi

    def value_terms(self, y: Any, z: Any) -> Any:
        at = np.clip(z, self.lo, self.hi)
        ends = self.loss.value_terms(y, self.lo) + self.loss.value_terms(y, self.hi)
        slope = np.abs(self.gradient(y, z)) * (np.abs(z) + np.abs(self.lo) + np.abs(self.hi))
        return ends + self.loss.value_terms(y, at) + slope


@dataclass(frozen=True)
class TangentEnvelope(Envelope):
    """The loss and lines: see the head of this file."""

    inwards: Mask
    """Rows with a line between p and q, and the loss outside."""

    p: Vector
    q: Vector
    left: Vector
    """Slope of the line at p: to (lo, loss(lo)); inwards, to q."""

    right: Vector
    """Slope of the line from q to (hi, loss(hi))."""

    def inside(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        loss, lo, hi, p, q = self.loss, self.lo, self.hi, self.p, self.q
        # Lines own the ends of the box, where the loss is steeper than they are.
        between = ((z > p) | (p <= lo)) & ((z < q) | (q >= hi)) & (p < q)
        within = (z >= p) & (z <= q) & (p < q)
        lower = self.inwards | (z < p)
        anchor = np.where(self.inwards, p, np.where(lower, lo, hi))
        slope = np.where(lower, self.left, self.right)
        at = loss.value(y, anchor)
        step = slope * (z - anchor)
        # A few units in the last place down: below the loss in floating point as well.
        line = at + step - 8.0 * U * (loss.value_terms(y, anchor) + np.abs(step))
        touches = np.where(self.inwards, ~between, within) | (lo == hi)
        own = loss.value(y, z)
        bend = np.maximum(loss.second(y, z), 0.0)
        return (
            np.where(touches, own, line),
            np.where(touches, loss.gradient(y, z), slope),
            np.where(touches, bend, 0.0),
        )
