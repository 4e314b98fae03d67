"""Intensities: (z^2 - y)^2/4 for measurements y of z^2.

Valleys at z^2 = y, convex beyond z^2 = y/3. A line from (b, loss(b)), |b| < sqrt(y), touches the
left branch at p = (-b - sqrt(6 y - 2 b^2))/3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds.losses.phase import PhaseLoss


@dataclass(frozen=True)
class Quartic(PhaseLoss):
    """Phase retrieval from intensities; a negative y (noise) is taken as it is."""

    name: ClassVar[str] = "quartic"
    smoothness: ClassVar[float] = float("nan")

    def value(self, y: Any, z: Any) -> Any:
        return 0.25 * (z * z - y) ** 2

    def gradient(self, y: Any, z: Any) -> Any:
        return z * (z * z - y)

    def curvature(self, y: Any, z: Any) -> Any:
        # No quadratic majorizes a quartic: Gauss and Newton's, with a line search.
        return 2.0 * z * z + np.abs(z * z - y)

    def second(self, y: Any, z: Any) -> Any:
        return 3.0 * z * z - y

    def infimum(self, y: Any) -> Any:
        return 0.25 * np.minimum(y, 0.0) ** 2

    def perfect(self, y: Any) -> Any:
        return self.valley(y)

    def turn(self, y: Any) -> Any:
        return np.sqrt(np.maximum(y, 0.0) / 3.0)

    def valley(self, y: Any) -> Any:
        return np.sqrt(np.maximum(y, 0.0))

    def left_tangent(self, y: Any, end: Any) -> Any:
        room = np.maximum(6.0 * np.maximum(y, 0.0) - 2.0 * end * end, 0.0)
        return (-end - np.sqrt(room)) / 3.0

    def rise(self, y: Any, width: Any) -> Any:
        # loss'' >= -y.
        return 0.125 * np.maximum(y, 0.0) * width * width

    def value_terms(self, y: Any, z: Any) -> Any:
        gap = np.abs(z * z - y)
        return 0.25 * gap**2 + gap * (z * z + np.abs(y))

    def gradient_terms(self, y: Any, z: Any) -> Any:
        return np.abs(z) * (z * z + np.abs(y))
