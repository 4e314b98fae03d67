"""Huber loss with r = z - y: r^2 / 2 up to |r| = delta, then delta |r| - delta^2 / 2.

loss*(y, b) = b^2 / 2 + b y for |b| <= delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from sparsebounds._support.array import Array, namespace
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.validate import LARGEST
from sparsebounds.losses.base import Loss, _full_like


@dataclass(frozen=True)
class Huber(Loss):
    """Robust regression; `delta`, in the units of y, is where squared turns absolute."""

    delta: float = 1.35

    name: ClassVar[str] = "huber"
    residual: ClassVar[bool] = True
    smoothness: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        delta = self.delta
        if isinstance(delta, bool) or not isinstance(delta, Real):
            raise InputTypeError(f"delta={delta!r} must be a number, in the units of y.")
        delta = float(delta)
        if not (math.isfinite(delta) and delta > 0):
            raise InputError(
                f"delta={delta!r} must be a positive finite number, in the units of y."
            )
        if delta > LARGEST:
            raise InputError(f"delta={delta!r} is beyond {LARGEST:g}; use loss='squared'.")
        object.__setattr__(self, "delta", delta)

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        r = abs(z - y)
        return xp.where(r <= self.delta, 0.5 * r * r, self.delta * r - 0.5 * self.delta**2)

    def gradient(self, y: Array, z: Array) -> Array:
        return self.clip(y, z - y)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        r = z - y
        return xp.where(abs(r) <= self.delta, xp.ones_like(r), xp.zeros_like(r))

    def conjugate(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + b * y

    def domain(self, y: Array) -> tuple[Array, Array]:
        return _full_like(y, -self.delta), _full_like(y, self.delta)

    def infimum(self, y: Array) -> Array:
        return 0.0 * y

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        # The loss lies above delta |r| - delta^2 / 2 everywhere.
        radius = excess / self.delta + 0.5 * self.delta
        return y - radius, y + radius

    def value_terms(self, y: Array, z: Array) -> Array:
        return self.value(y, z) + self.delta**2 * (1.0 - self.curvature(y, z))

    def conjugate_terms(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + abs(b * y)
