"""Losses that know where they are convex: on their cores, intervals of z; concave elsewhere.

Then t z - loss(y, z) is concave on a core and convex between, so that its supremum over a box is at
an end of the box or on a core, where bisection brackets it: by concavity no value on [z1, z2] is
more than slope(z1) (z2 - z1) above the ends. That bound is what certificates rest on; it needs no
tangent points.

The envelope needs them. From an end e of the box in a concave part the line to a point p of the
core lies below the loss if its slope is extreme among all p: where it is tangent,
loss'(p) (e - p) = loss(e) - loss(p), or at the nearest end of the box. The left side less the right
is monotone on the core, so one bisection finds p; losses with a closed form override
`tangent_point`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.losses.envelope import Envelope, TangentEnvelope
from sparsebounds.losses.nonconvex import NonConvexLoss

HALVINGS = 80


@dataclass(frozen=True)
class CoreLoss(NonConvexLoss):
    """Convex on its cores, concave between them."""

    @abstractmethod
    def cores(self, y: Any) -> list[tuple[Any, Any]]:
        """The intervals of z on which the loss is convex, in order."""

    @abstractmethod
    def second(self, y: Any, z: Any) -> Any: ...

    def gradient_terms(self, y: Any, z: Any) -> Any:
        """The magnitudes that the rounding of `gradient` is relative to."""
        bend = self.smoothness if np.isfinite(self.smoothness) else 1.0
        return np.abs(self.gradient(y, z)) + bend * (np.abs(y) + np.abs(z))

    def rise(self, y: Any, width: Any) -> Any:
        return 0.0 * width

    def supremum(self, y: Vector, t: Vector, lo: Vector, hi: Vector) -> tuple[Vector, Vector]:
        def at(z: Vector) -> Vector:
            found: Vector = t * z - self.value(y, z)
            return found

        best = np.maximum(at(lo), at(hi))
        terms = np.abs(t) * np.maximum(np.abs(lo), np.abs(hi))
        terms = terms + self.value_terms(y, lo) + self.value_terms(y, hi)
        for start, end in self.cores(y):
            z1, z2 = np.maximum(lo, start), np.minimum(hi, end)
            there, width = z1 <= z2, np.maximum(z2 - z1, 0.0)
            z1, z2 = np.where(there, z1, lo), np.where(there, z2, lo)
            for _ in range(HALVINGS):
                middle = 0.5 * (z1 + z2)
                if np.all((middle == z1) | (middle == z2)):
                    break
                up = t >= self.gradient(y, middle)
                z1, z2 = np.where(up, middle, z1), np.where(up, z2, middle)
            over = np.maximum(t - self.gradient(y, z1), 0.0) * (z2 - z1)
            top = np.maximum(at(z1), at(z2)) + over
            best = np.where(there, np.maximum(best, top), best)
            # A slope of the wrong sign by rounding misses at most that much over the core.
            slip = (np.abs(t) + self.gradient_terms(y, z1)) * width
            extra = np.abs(t * z1) + self.value_terms(y, z1) + slip
            terms = terms + np.where(there, extra, 0.0)
        return best, terms

    def envelope(self, y: Vector, lo: Vector, hi: Vector) -> Envelope:
        """Lines outwards from one core; losses with two cores have their own."""
        ((start, end),) = self.cores(y)
        near, far = np.maximum(lo, start), np.minimum(hi, end)
        core = near < far
        near, far = np.where(core, near, lo), np.where(core, far, lo)
        q = np.where(hi > end, self._tangent(y, hi, near, far, 1), hi)
        p = np.where(lo < start, self._tangent(y, lo, near, far, -1), lo)
        # Without a core all is one chord, and [p, q] its left end.
        p, q = np.where(core, p, lo), np.where(core, np.maximum(p, q), lo)
        p = np.where(core & (hi > end) & (lo < start), np.minimum(p, q), p)
        left, right = self._slope(y, lo, p), self._slope(y, hi, q)
        # One line over all of the box goes on at both of its ends.
        left, right = np.where(q <= lo, right, left), np.where(p >= hi, left, right)
        none = np.zeros(len(y), dtype=np.bool_)
        return TangentEnvelope(self, lo, hi, none, p, q, left, right)

    def tangent_point(self, y: Vector, end: Vector, side: int) -> Vector | None:
        """Where the line from (end, loss(end)) is tangent to the core, by formula; else None.

        `end` lies beyond the core, above (side 1) or below (-1); the point may leave the box.
        """
        return None

    def _tangent(self, y: Vector, end: Vector, near: Vector, far: Vector, side: int) -> Vector:
        """The point of the core, within [near, far], that the line from `end` touches."""
        known = self.tangent_point(y, end, side)
        if known is not None and not np.any(np.isnan(known)):
            return np.clip(known, near, far)
        z1, z2, level = near, far, self.value(y, end)
        for _ in range(HALVINGS):
            middle = 0.5 * (z1 + z2)
            # Towards `end` the tangent at `middle` rises; before the point it ends below the loss.
            short = self.gradient(y, middle) * (end - middle) <= level - self.value(y, middle)
            up = short if side > 0 else ~short
            z1, z2 = np.where(up, middle, z1), np.where(up, z2, middle)
        found = np.where(z2 == far, far, np.where(z1 == near, near, 0.5 * (z1 + z2)))
        if known is None:
            return found
        return np.where(np.isnan(known), found, np.clip(known, near, far))

    def _slope(self, y: Vector, end: Vector, at: Vector) -> Vector:
        """The slope of the line between two points of the loss; its own where they meet."""
        width = end - at
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (self.value(y, end) - self.value(y, at)) / width
        joined: Vector = np.where(width == 0.0, self.gradient(y, at), slope)
        return joined
