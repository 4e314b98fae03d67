"""Points on the working set: f(w, b) = F(A w + b), its value and its derivatives there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Array, Index, Vector


@dataclass(frozen=True)
class SmoothPoint:
    """f at (w, b)."""

    w: Vector
    b: float
    value: float
    gradient: Vector
    """df/dw."""

    slope: float
    """df/db; 0 where the intercept is eliminated or not fitted."""

    z: Array | None = None
    """A w + b, where the implementation keeps it."""

    @property
    def dual(self) -> float:
        """-F*(a) at a = F'(z), by Fenchel-Young."""
        return self.value - float(self.w @ self.gradient) - self.b * self.slope


@dataclass(frozen=True)
class SmoothPoints:
    """f at many (w, b): one row each."""

    w: Vector
    b: Vector
    value: Vector
    gradient: Vector
    slope: Vector
    z: Array | None = None

    @property
    def dual(self) -> Vector:
        """-F*(a) at each a = F'(z)."""
        dual: Vector = self.value - np.einsum("ij,ij->i", self.w, self.gradient)
        return dual - self.b * self.slope

    def take(self, rows: Index) -> SmoothPoints:
        """Some of the points."""
        z = None if self.z is None else self.z[rows]
        return SmoothPoints(
            self.w[rows], self.b[rows], self.value[rows], self.gradient[rows], self.slope[rows], z
        )

    def row(self, i: int) -> SmoothPoint:
        """One of the points."""
        return SmoothPoint(
            self.w[i],
            float(self.b[i]),
            float(self.value[i]),
            self.gradient[i],
            float(self.slope[i]),
            None if self.z is None else self.z[i],
        )
