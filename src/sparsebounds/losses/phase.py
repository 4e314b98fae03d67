"""Phase retrieval: losses of z that are even, with two valleys at z = -v and z = v.

Convex on z <= -turn and on z >= turn. On a box that holds both valleys the envelope is 0 between
them; otherwise a line joins one branch, at its tangent point, to the nearer end of the box, or the
two ends of the box. An intercept would break the symmetry that these problems have, and is refused.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
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
