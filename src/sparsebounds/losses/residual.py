"""Robust losses: even functions of the residual r = z - y that flatten out.

With s = r/c, c in the units of y, all have curvature 1 at 0, are convex for |r| <= turn and concave
beyond. Weighted least squares with weights loss'(r)/r majorizes them: they are concave functions
of r^2. From the end B of a box, in units of r, the envelope's line touches at p(B).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import U
from sparsebounds._support.validate import LARGEST
from sparsebounds.losses.base import Loss, checked_scale
from sparsebounds.losses.cores import CoreLoss
from sparsebounds.losses.quadratic import Huber


@dataclass(frozen=True)
class ResidualLoss(CoreLoss):
    """A robust loss with scale `c`, in the units of y."""

    c: float

    residual: ClassVar[bool] = True
    smoothness: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", checked_scale("c", self.c, LARGEST))

    turns: ClassVar[float]
    """The loss turns from convex to concave at c/turns."""

    tops: ClassVar[float] = 0.0
    """It is bounded by c^2/tops; 0: by nothing."""

    dip: ClassVar[float] = math.nan
    """Where its curvature is least, over c: it falls up to there and rises beyond. NaN: unknown."""

    @property
    def turn(self) -> float:
        """The residual at which the loss turns from convex to concave."""
        return self.c / self.turns

    @property
    def height(self) -> float:
        return self.c**2 / self.tops if self.tops else math.inf

    @abstractmethod
    def at(self, r: Any) -> Any:
        """The loss at residuals r."""

    @abstractmethod
    def weight(self, r: Any) -> Any:
        """loss'(r)/r, between 0 and 1."""

    @abstractmethod
    def bend(self, r: Any) -> Any:
        """loss''(r)."""

    def radius(self, value: Any) -> Any:
        """The r > 0 with at(r) = value; inf where value is the height or more."""
        share = np.minimum(value / self.height, 1.0)
        return np.where(value < self.height, self.c * self.reached(share), np.inf)

    def reached(self, share: Any) -> Any:
        """The s = r/c at which a bounded loss is this share of its height."""
        raise NotImplementedError

    def tangent(self, B: Vector) -> Vector | None:
        """p(B), NaN where there is no formula; None where there is none at all."""
        return None

    def surrogates(self) -> list[Loss]:
        return [Huber(0.3 * self.c), Huber(0.02 * self.c)]

    def value(self, y: Any, z: Any) -> Any:
        return self.at(z - y)

    def gradient(self, y: Any, z: Any) -> Any:
        r = z - y
        return r * self.weight(r)

    def curvature(self, y: Any, z: Any) -> Any:
        return self.weight(z - y)

    def second(self, y: Any, z: Any) -> Any:
        return self.bend(z - y)

    def cores(self, y: Any) -> list[tuple[Any, Any]]:
        return [(y - self.turn, y + self.turn)]

    def sublevel(self, y: Any, excess: Any) -> tuple[Any, Any]:
        with np.errstate(all="ignore"):
            # Wider by what rounding can do, and that is much near the height.
            wider = np.asarray(excess) * (1.0 + 1e-11)
            reach = self.radius(wider) * (1.0 + 1e-9)
        return y - reach, y + reach

    def beyond(self, y: Any, z: Any, side: int) -> Any:
        return self.at(np.maximum(side * (z - y), 0.0))

    def value_terms(self, y: Any, z: Any) -> Any:
        # r is rounded once, relative to |y| + |z|; the loss's slope passes that on.
        r = z - y
        return self.at(r) + np.abs(r) * self.weight(r) * (np.abs(y) + np.abs(z))

    def supremum(self, y: Vector, t: Vector, lo: Vector, hi: Vector) -> tuple[Vector, Vector]:
        best, terms = super().supremum(y, t, lo, hi)
        # The ends of the core are rounded: what lies between float and exact is charged, where the
        # box reaches them.
        size = np.abs(y) + self.turn
        near = self.turn - 4.0 * U * size
        reached = (hi - y >= near) | (y - lo >= near)
        return best, terms + np.where(reached, (np.abs(t) + self.turn) * size, 0.0)

    def tangent_point(self, y: Vector, end: Vector, side: int) -> Vector | None:
        B = side * (end - y)
        with np.errstate(all="ignore"):
            p = self.tangent(np.maximum(B, self.turn))
        return None if p is None else y + side * p
