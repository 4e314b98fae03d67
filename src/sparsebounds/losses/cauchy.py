"""Cauchy's loss: (c^2/2) log(1 + s^2), s = r/c.

loss'(r) = r/(1 + s^2). The envelope's tangent point solves
2 s (beta - s)/(1 + s^2) = log((1 + beta^2)/(1 + s^2)) with beta = B/c: a root between 0 and 1,
found by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds.losses.residual import ResidualLoss


@dataclass(frozen=True)
class Cauchy(ResidualLoss):
    """Grows with the logarithm of the residual: the negative log likelihood of Cauchy errors."""

    c: float = 2.385

    name: ClassVar[str] = "cauchy"

    @property
    def turn(self) -> float:
        return self.c

    def at(self, r: Any) -> Any:
        return 0.5 * self.c**2 * np.log1p((r / self.c) ** 2)

    def weight(self, r: Any) -> Any:
        return 1.0 / (1.0 + (r / self.c) ** 2)

    def bend(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return (1.0 - q) / (1.0 + q) ** 2

    def radius(self, value: Any) -> Any:
        return self.c * np.sqrt(np.expm1(2.0 * value / self.c**2))
