"""Classes, y = -1 or +1: losses of t = yz that count errors, none of which costs more than 1.

    ramp       min(1, max(0, 1 - t)): the hinge, cut off at 1
    sigmoid    1/(1 + exp(t)): a smooth count

Both are concave for t < 0 and convex for t > 0. The sigmoid's envelope is a line from the lower end
of the box to a tangent point above 0, found by bisection, and then the loss. The ramp's on [a, b]
with a < 0 is the line from (a, 1) to (1, 0), then 0; on a box that ends at b < 1 the chord. Its
kink at t = 1 is no ground for Newton's method: `smoothed` rounds it off, from below. Bounds use the
conjugate of the loss itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import U
from sparsebounds.losses.base import Loss
from sparsebounds.losses.cores import CoreLoss
from sparsebounds.losses.envelope import Envelope
from sparsebounds.losses.logistic import Logistic
from sparsebounds.losses.quadratic import SquaredHinge

ROUNDED = 0.02
"""Half the width over which the kink is rounded off."""


def _share(t: Any) -> Any:
    """1/(1 + exp(t)), to full relative accuracy in both tails."""
    return np.exp(-np.logaddexp(0.0 * t, t))


def _above(y: Any, least: Any) -> tuple[Any, Any]:
    """The interval of z with t >= least."""
    far = np.full_like(y, np.inf)
    return np.where(y > 0, least, -far), np.where(y > 0, far, -least)


@dataclass(frozen=True)
class MarginLoss(CoreLoss):
    """A loss between 0 and 1 that falls with t."""

    two_class: ClassVar[bool] = True

    def surrogates(self) -> list[Loss]:
        return [Logistic(), SquaredHinge()]

    @property
    def height(self) -> float:
        return 1.0

    def cores(self, y: Any) -> list[tuple[Any, Any]]:
        return [_above(y, 0.0)]

    def beyond(self, y: Any, z: Any, side: int) -> Any:
        return np.where(side * y > 0, 0.0, self.value(y, z))


@dataclass(frozen=True)
class Sigmoid(MarginLoss):
    """Counts errors smoothly, for two classes: no outlier costs more than 1.

    Notes
    -----
    1/(1 + exp(yz)).

    Examples
    --------
    >>> y, z = np.ones(3), np.array([-2.0, 0.0, 2.0])
    >>> sb.losses.Sigmoid().value(y, z).round(3).tolist()
    [0.881, 0.5, 0.119]
    """

    name: ClassVar[str] = "sigmoid"
    smoothness: ClassVar[float] = 0.0963
    """1/(6 sqrt(3)), rounded up."""

    def value(self, y: Any, z: Any) -> Any:
        return _share(y * z)

    def gradient(self, y: Any, z: Any) -> Any:
        return -y * _share(y * z) * _share(-y * z)

    def second(self, y: Any, z: Any) -> Any:
        up, down = _share(y * z), _share(-y * z)
        return up * down * (down - up)

    def sublevel(self, y: Any, excess: Any) -> tuple[Any, Any]:
        # 1/(1 + exp(t)) <= v is t >= log(1/v - 1).
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(excess < 1.0, np.log1p(-excess) - np.log(excess), -np.inf)
        reach = reach - 1e-12 * (1.0 + np.abs(reach))
        return _above(y, np.where(np.isnan(reach), -np.inf, reach))

    def value_terms(self, y: Any, z: Any) -> Any:
        # exp passes the rounding of its argument on.
        return self.value(y, z) * (1.0 + np.abs(z))


@dataclass(frozen=True)
class Ramp(MarginLoss):
    """Counts errors, and margins below 1 in part: no outlier costs more than 1.

    Notes
    -----
    min(1, max(0, 1 - yz)): the hinge, cut off at 1.

    Examples
    --------
    >>> y, z = np.ones(3), np.array([-2.0, 0.0, 2.0])
    >>> sb.losses.Ramp().value(y, z).round(3).tolist()
    [1.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "ramp"
    smoothness: ClassVar[float] = float("nan")

    def value(self, y: Any, z: Any) -> Any:
        return np.minimum(np.maximum(1.0 - y * z, 0.0), 1.0)

    def gradient(self, y: Any, z: Any) -> Any:
        t = y * z
        return np.where((t >= 0.0) & (t < 1.0), -y, 0.0 * y)

    def curvature(self, y: Any, z: Any) -> Any:
        # Beyond the cut the constant 1 majorizes; before it the hinge does, and a parabola that.
        short = np.maximum(np.abs(1.0 - y * z), 1e-3)
        return np.where(y * z >= 0.0, 0.5 / short, 0.0)

    def second(self, y: Any, z: Any) -> Any:
        return 0.0 * z

    def sublevel(self, y: Any, excess: Any) -> tuple[Any, Any]:
        reach = np.where(excess < 1.0, (1.0 - excess) * (1.0 - 1e-15), -np.inf)
        return _above(y, reach)

    def saturation(self, y: Any) -> tuple[Any, Any]:
        return np.minimum(y, 0.0), np.maximum(y, 0.0)

    def value_terms(self, y: Any, z: Any) -> Any:
        return 1.0 + 0.0 * z

    def envelope(self, y: Vector, lo: Vector, hi: Vector) -> Envelope:
        return RampEnvelope(self, lo, hi)


@dataclass(frozen=True)
class RampEnvelope(Envelope):
    """max of a line and 0, or a chord; its kink rounded off over 2 width, all of it from below."""

    width: float = 0.0

    @property
    def stiffness(self) -> float:
        return 0.25

    def smoothed(self) -> Envelope:
        return replace(self, width=ROUNDED)

    def inside(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        t, half = y * z, self.width
        a, b = np.where(y > 0, self.lo, -self.hi), np.where(y > 0, self.hi, -self.lo)
        value_a, value_b = np.clip(1.0 - a, 0.0, 1.0), np.clip(1.0 - b, 0.0, 1.0)
        last = np.minimum(b, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(last > a, (value_b - value_a) / (last - a), 0.0)
        kink = (b > 1.0) & (a < 1.0)
        line = np.where(kink, slope * (t - 1.0), value_a + slope * (t - a))
        flat, rounded = kink & (t >= 1.0), kink & (np.abs(t - 1.0) < half)
        # Where they are within `half` of 1 a parabola joins the line and 0.
        over, unit = 1.0 + half - t, half or 1.0
        value = np.where(rounded, -0.25 * slope * over * (over / unit), np.where(flat, 0.0, line))
        steep = np.where(rounded, 0.5 * slope * (over / unit), np.where(flat, 0.0, slope))
        bend = np.where(rounded, -0.5 * slope / unit, 0.0)
        # Down by what the parabola adds, and a few units in the last place.
        shift = np.where(kink, -0.25 * half * slope, 0.0) + 8.0 * U * np.where(flat, 0.0, 1.0)
        return value - shift, y * steep, bend
