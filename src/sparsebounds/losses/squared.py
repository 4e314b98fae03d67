"""Squared loss: loss(y, z) = (z - y)^2 / 2, loss*(y, b) = b^2 / 2 + b y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sparsebounds._support.array import Array, namespace
from sparsebounds.losses.base import Loss, _full_like


@dataclass(frozen=True)
class Squared(Loss):
    """Least squares, for a real response."""

    name: ClassVar[str] = "squared"
    residual: ClassVar[bool] = True
    smoothness: ClassVar[float] = 1.0

    def value(self, y: Array, z: Array) -> Array:
        return 0.5 * (z - y) ** 2

    def gradient(self, y: Array, z: Array) -> Array:
        return z - y

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(y, z).ones_like(z - y)

    def conjugate(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + b * y

    def domain(self, y: Array) -> tuple[Array, Array]:
        return _full_like(y, -float("inf")), _full_like(y, float("inf"))

    def infimum(self, y: Array) -> Array:
        return 0.0 * y

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        radius = namespace(y, excess).sqrt(2.0 * excess)
        return y - radius, y + radius

    def value_terms(self, y: Array, z: Array) -> Array:
        return self.value(y, z)

    def conjugate_terms(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + abs(b * y)
