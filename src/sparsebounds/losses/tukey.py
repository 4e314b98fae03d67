"""Tukey's biweight: (c^2/6)(1 - (1 - s^2)^3) for |s| <= 1, else c^2/6, with s = r/c.

loss'(r) = r (1 - s^2)^2. For a box that ends at B >= c the envelope touches at
p = c^2 / (3 B + sqrt(9 B^2 - 5 c^2)); for a smaller B there is no short formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.losses.residual import ResidualLoss


@dataclass(frozen=True)
class Tukey(ResidualLoss):
    """Smooth, and blind to residuals beyond `c` (4.685 standard deviations of the noise)."""

    c: float = 4.685

    name: ClassVar[str] = "tukey"

    @property
    def turn(self) -> float:
        return self.c / math.sqrt(5.0)

    @property
    def height(self) -> float:
        return self.c**2 / 6.0

    def at(self, r: Any) -> Any:
        # 1 - (1 - q)^3 = q (3 - 3q + q^2), without cancellation.
        q = np.minimum(np.abs(r) / self.c, 1.0) ** 2
        return self.c**2 / 6.0 * (q * (3.0 - 3.0 * q + q * q))

    def weight(self, r: Any) -> Any:
        s = np.minimum(np.abs(r) / self.c, 1.0)
        return ((1.0 - s) * (1.0 + s)) ** 2

    def bend(self, r: Any) -> Any:
        q = np.minimum(np.abs(r) / self.c, 1.0) ** 2
        return (1.0 - q) * (1.0 - 5.0 * q)

    def radius(self, value: Any) -> Any:
        share = np.minimum(value / self.height, 1.0)
        s = np.sqrt(-np.expm1(np.log1p(-share) / 3.0))
        return np.where(value < self.height, self.c * s, np.inf)

    def saturation(self, y: Any) -> tuple[Any, Any]:
        return y - self.c, y + self.c

    def tangent(self, B: Vector) -> Vector:
        p = self.c**2 / (3.0 * B + np.sqrt(9.0 * B**2 - 5.0 * self.c**2))
        return np.where(self.c <= B, p, np.nan)
