"""Welsch's loss: (c^2/2)(1 - exp(-s^2)), s = r/c.

loss'(r) = r exp(-s^2). The envelope's tangent point solves 2 s (beta - s) = 1 - exp(s^2 - beta^2)
with beta = B/c: a root between 0 and 1/sqrt(2), found by bisection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds.losses.residual import ResidualLoss


@dataclass(frozen=True)
class Welsch(ResidualLoss):
    """Bounded by c^2/2, which it is as good as at |r| = 3 c."""

    c: float = 2.985

    name: ClassVar[str] = "welsch"

    @property
    def turn(self) -> float:
        return self.c / math.sqrt(2.0)

    @property
    def height(self) -> float:
        return 0.5 * self.c**2

    def at(self, r: Any) -> Any:
        return -0.5 * self.c**2 * np.expm1(-((r / self.c) ** 2))

    def weight(self, r: Any) -> Any:
        return np.exp(-((r / self.c) ** 2))

    def bend(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return (1.0 - 2.0 * q) * np.exp(-q)

    def radius(self, value: Any) -> Any:
        share = np.minimum(value / self.height, 1.0)
        return np.where(value < self.height, self.c * np.sqrt(-np.log1p(-share)), np.inf)
