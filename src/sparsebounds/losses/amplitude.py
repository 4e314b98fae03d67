"""Amplitudes: (|z| - y)^2/2 for measurements y >= 0 of |z|.

Two parabolas with valleys at z = -y and z = y. A line from (b, loss(b)), 0 <= b < y, touches the
left one at p = (sqrt(b) - sqrt(y))^2 - y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.errors import InputError
from sparsebounds.losses.phase import PhaseLoss


@dataclass(frozen=True)
class Amplitude(PhaseLoss):
    """Phase retrieval from amplitudes."""

    name: ClassVar[str] = "amplitude"
    smoothness: ClassVar[float] = 1.0

    def value(self, y: Any, z: Any) -> Any:
        return 0.5 * (np.abs(z) - y) ** 2

    def gradient(self, y: Any, z: Any) -> Any:
        # At 0, where the loss has a peak, the slope to its right.
        return z - np.where(z < 0.0, -y, y)

    def curvature(self, y: Any, z: Any) -> Any:
        return np.ones_like(z)

    def second(self, y: Any, z: Any) -> Any:
        return np.ones_like(z)

    def turn(self, y: Any) -> Any:
        return 0.0 * y

    def valley(self, y: Any) -> Any:
        return y + 0.0

    def left_tangent(self, y: Any, end: Any) -> Any:
        return (np.sqrt(np.maximum(end, 0.0)) - np.sqrt(y)) ** 2 - y

    def rise(self, y: Any, width: Any) -> Any:
        return 0.5 * y * width

    def value_terms(self, y: Any, z: Any) -> Any:
        gap = np.abs(np.abs(z) - y)
        return 0.5 * gap**2 + gap * (np.abs(z) + y)

    def check_response(self, y: Any) -> None:
        if np.any(np.asarray(y) < 0):
            raise InputError("y holds a negative amplitude; use loss='quartic' with intensities.")
