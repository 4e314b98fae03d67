"""Truncated quadratic: min(r^2, c^2)/2. An outlier, whatever its size, costs c^2/2.

Its envelope up to B >= c touches at p = B - sqrt(B^2 - c^2): Huber's loss with delta = p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.losses.residual import ResidualLoss


@dataclass(frozen=True)
class Truncated(ResidualLoss):
    """Least squares without the rows whose residual exceeds `c`."""

    c: float = 3.0

    name: ClassVar[str] = "truncated"

    @property
    def turn(self) -> float:
        return self.c

    @property
    def height(self) -> float:
        return 0.5 * self.c**2

    def at(self, r: Any) -> Any:
        return 0.5 * np.minimum(np.abs(r), self.c) ** 2

    def weight(self, r: Any) -> Any:
        return np.where(np.abs(r) <= self.c, 1.0, 0.0)

    def bend(self, r: Any) -> Any:
        return self.weight(r)

    def radius(self, value: Any) -> Any:
        return np.where(value < self.height, np.sqrt(2.0 * value), np.inf)

    def saturation(self, y: Any) -> tuple[Any, Any]:
        return y - self.c, y + self.c

    def tangent(self, B: Vector) -> Vector:
        return self.c**2 / (B + np.sqrt((B - self.c) * (B + self.c)))
