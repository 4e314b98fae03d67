"""Squared hinge loss: loss(y, z) = max(0, 1 - yz)^2 / 2, y = -1 or +1.

loss*(y, b) = b^2 / 2 + b y for -by >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sparsebounds._support.array import Array, namespace
from sparsebounds.losses.base import Loss


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """The smooth support vector machine, for two classes."""

    name: ClassVar[str] = "squared_hinge"
    two_class: ClassVar[bool] = True
    smoothness: ClassVar[float] = 1.0

    def value(self, y: Array, z: Array) -> Array:
        return 0.5 * self._shortfall(y, z) ** 2

    def gradient(self, y: Array, z: Array) -> Array:
        return -y * self._shortfall(y, z)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        short = self._shortfall(y, z)
        return xp.where(short > 0, xp.ones_like(short), xp.zeros_like(short))

    def conjugate(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + b * y

    def domain(self, y: Array) -> tuple[Array, Array]:
        xp = namespace(y)
        zero, unbounded = xp.zeros_like(y), xp.full_like(y, float("inf"))
        return xp.where(y > 0, -unbounded, zero), xp.where(y > 0, zero, unbounded)

    def infimum(self, y: Array) -> Array:
        return 0.0 * y

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        xp = namespace(y, excess)
        reach = xp.sqrt(2.0 * excess) - 1.0
        unbounded = xp.full_like(y, float("inf"))
        return xp.where(y > 0, -reach, -unbounded), xp.where(y > 0, unbounded, reach)

    def value_terms(self, y: Array, z: Array) -> Array:
        return self.value(y, z)

    def conjugate_terms(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + abs(b * y)

    @staticmethod
    def _shortfall(y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        margin = 1.0 - y * z
        return xp.maximum(margin, xp.zeros_like(margin))
