"""Phase retrieval: losses of z that are even, with two valleys at z = -v and z = v.

    amplitude    (|z| - y)^2/2, for measurements y >= 0 of |z|
    quartic      (z^2 - y)^2/4, for measurements y of z^2 (intensities)

Convex on z <= -turn and on z >= turn. On a box that holds both valleys the envelope is 0 between
them; otherwise a line joins one branch, at its tangent point, to the nearer end of the box, or the
two ends of the box. An intercept would break the symmetry that these problems have, and is refused.

A line from (b, loss(b)) touches the left branch at p = (sqrt(b) - sqrt(y))^2 - y (amplitude,
0 <= b < y) or p = (-b - sqrt(6 y - 2 b^2))/3 (quartic, b^2 < y).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.losses.cores import CoreLoss
from sparsebounds.losses.envelope import Envelope, TangentEnvelope


@dataclass(frozen=True)
class PhaseLoss(CoreLoss):
    """A loss with two valleys."""

    intercept: ClassVar[bool] = False

    @abstractmethod
    def turn(self, y: Any) -> Any:
        """Convex beyond this |z|."""

    @abstractmethod
    def valley(self, y: Any) -> Any:
        """|z| at the valleys; 0 where there is but one."""

    @abstractmethod
    def left_tangent(self, y: Any, end: Any) -> Any:
        """Where a line from (end, loss(end)), |end| below the valley, touches the left branch."""

    def cores(self, y: Any) -> list[tuple[Any, Any]]:
        turn, far = self.turn(y), np.full_like(y, np.inf)
        return [(-far, -turn), (turn, far)]

    def envelope(self, y: Vector, lo: Vector, hi: Vector) -> Envelope:
        turn, valley = self.turn(y), self.valley(y)
        # Both ends within the valleys' reach: the formulas mean nothing outside it.
        p = self.left_tangent(y, np.clip(hi, -valley, valley))
        q = -self.left_tangent(y, np.clip(-lo, -valley, valley))
        full, from_hi = (lo <= -valley) & (hi >= valley), (hi < valley) & (p >= lo)
        from_lo = (lo > -valley) & (q <= hi)
        p, q = (
            np.where(full, -valley, np.where(from_hi, p, lo)),
            np.where(full, valley, np.where(from_hi, hi, np.where(from_lo, q, hi))),
        )
        whole = (hi <= -turn) | (lo >= turn)
        p, q = np.where(whole, lo, p), np.where(whole, lo, q)
        slope = self._slope(y, q, p)
        return TangentEnvelope(self, lo, hi, np.ones(len(y), dtype=np.bool_), p, q, slope, slope)


@dataclass(frozen=True)
class Amplitude(PhaseLoss):
    """Phase retrieval from amplitudes: two parabolas.

    Notes
    -----
    ``(|z| - y)^2 / 2``, y >= 0.

    Examples
    --------
    >>> y, z = np.ones(3), np.array([-2.0, 0.0, 2.0])
    >>> sb.losses.Amplitude().value(y, z).round(3).tolist()
    [0.5, 0.5, 0.5]
    """

    name: ClassVar[str] = "amplitude"
    smoothness: ClassVar[float] = 1.0

    def value(self, y: Any, z: Any) -> Any:
        return 0.5 * (np.abs(z) - y) ** 2

    def gradient(self, y: Any, z: Any) -> Any:
        # At 0, where the loss has a peak, the slope to its right.
        return z - np.where(z < 0.0, -y, y)

    def curvature(self, y: Any, z: Any) -> Any:
        return np.ones_like(z)

    def second(self, y: Any, z: Any) -> Any:
        return np.ones_like(z)

    def turn(self, y: Any) -> Any:
        return 0.0 * y

    def valley(self, y: Any) -> Any:
        return y + 0.0

    def left_tangent(self, y: Any, end: Any) -> Any:
        return (np.sqrt(np.maximum(end, 0.0)) - np.sqrt(y)) ** 2 - y

    def rise(self, y: Any, width: Any) -> Any:
        return 0.5 * y * width

    def value_terms(self, y: Any, z: Any) -> Any:
        gap = np.abs(np.abs(z) - y)
        return 0.5 * gap**2 + gap * (np.abs(z) + y)

    def check_response(self, y: Any) -> None:
        if np.any(np.asarray(y) < 0):
            raise InputError("y holds a negative amplitude; use loss='quartic' with intensities.")


@dataclass(frozen=True)
class Quartic(PhaseLoss):
    """Phase retrieval from intensities; a negative y (noise) is taken as it is.

    Notes
    -----
    (z^2 - y)^2 / 4.

    Examples
    --------
    >>> y, z = np.ones(3), np.array([-2.0, 0.0, 2.0])
    >>> sb.losses.Quartic().value(y, z).round(3).tolist()
    [2.25, 0.25, 2.25]
    """

    name: ClassVar[str] = "quartic"
    smoothness: ClassVar[float] = float("nan")

    def value(self, y: Any, z: Any) -> Any:
        return 0.25 * (z * z - y) ** 2

    def gradient(self, y: Any, z: Any) -> Any:
        return z * (z * z - y)

    def curvature(self, y: Any, z: Any) -> Any:
        # No quadratic majorizes a quartic: Gauss and Newton's, with a line search.
        return 2.0 * z * z + np.abs(z * z - y)

    def second(self, y: Any, z: Any) -> Any:
        return 3.0 * z * z - y

    def infimum(self, y: Any) -> Any:
        return 0.25 * np.minimum(y, 0.0) ** 2

    def perfect(self, y: Any) -> Any:
        return self.valley(y)

    def turn(self, y: Any) -> Any:
        return np.sqrt(np.maximum(y, 0.0) / 3.0)

    def valley(self, y: Any) -> Any:
        return np.sqrt(np.maximum(y, 0.0))

    def left_tangent(self, y: Any, end: Any) -> Any:
        room = np.maximum(6.0 * np.maximum(y, 0.0) - 2.0 * end * end, 0.0)
        return (-end - np.sqrt(room)) / 3.0

    def rise(self, y: Any, width: Any) -> Any:
        # loss'' >= -y.
        return 0.125 * np.maximum(y, 0.0) * width * width

    def value_terms(self, y: Any, z: Any) -> Any:
        gap = np.abs(z * z - y)
        return 0.25 * gap**2 + gap * (z * z + np.abs(y))

    def gradient_terms(self, y: Any, z: Any) -> Any:
        return np.abs(z) * (z * z + np.abs(y))
