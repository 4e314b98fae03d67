"""Geman and McClure's loss: (c^2/2) s^2/(1 + s^2), s = r/c.

loss'(r) = r/(1 + s^2)^2. The envelope up to B touches at p = sqrt(B^2 + c^2) - B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.losses.residual import ResidualLoss


@dataclass(frozen=True)
class GemanMcClure(ResidualLoss):
    """Bounded by c^2/2, which it approaches slowly."""

    c: float = 3.0

    name: ClassVar[str] = "geman_mcclure"

    @property
    def turn(self) -> float:
        return self.c / math.sqrt(3.0)

    @property
    def height(self) -> float:
        return 0.5 * self.c**2

    def at(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return 0.5 * self.c**2 * np.where(np.isinf(q), 1.0, q / (1.0 + q))

    def weight(self, r: Any) -> Any:
        return (1.0 / (1.0 + (r / self.c) ** 2)) ** 2

    def bend(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return (1.0 - 3.0 * q) / (1.0 + q) ** 3

    def radius(self, value: Any) -> Any:
        share = np.minimum(value / self.height, 1.0)
        return np.where(value < self.height, self.c * np.sqrt(share / (1.0 - share)), np.inf)

    def tangent(self, B: Vector) -> Vector:
        return self.c**2 / (np.hypot(B, self.c) + B)
