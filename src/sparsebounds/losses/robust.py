"""The robust losses, with s = r/c: what they are, and where their envelope's line touches, p(B).

    truncated       min(r^2, c^2)/2                  p = B - sqrt(B^2 - c^2)
    Tukey           (c^2/6)(1 - (1 - s^2)^3)         p = c^2/(3 B + sqrt(9 B^2 - 5 c^2)), B >= c
    Geman, McClure  (c^2/2) s^2/(1 + s^2)            p = sqrt(B^2 + c^2) - B
    Welsch          (c^2/2)(1 - exp(-s^2))           no formula
    Cauchy          (c^2/2) log(1 + s^2)             no formula

Tukey's is constant for |s| > 1. Where there is no formula, bisection finds p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.losses.residual import ResidualLoss


@dataclass(frozen=True)
class Truncated(ResidualLoss):
    """Least squares without the rows whose residual exceeds c: each of them costs c^2/2.

    Parameters
    ----------
    c : float, default 3.0
        The scale, in the units of y.

    Notes
    -----
    min(r^2, c^2)/2, r = z - y.

    Examples
    --------
    >>> y, z = np.zeros(3), np.array([0.0, 1.0, 4.0])
    >>> sb.losses.Truncated().value(y, z).round(3).tolist()
    [0.0, 0.5, 4.5]
    """

    c: float = 3.0

    name: ClassVar[str] = "truncated"
    turns: ClassVar[float] = 1.0
    tops: ClassVar[float] = 2.0

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


@dataclass(frozen=True)
class Tukey(ResidualLoss):
    """Smooth, and blind to residuals beyond c.

    Parameters
    ----------
    c : float, default 4.685
        The scale, in the units of y. The default is for noise of standard deviation 1.

    Notes
    -----
    (c^2/6)(1 - (1 - s^2)^3), s = (z - y)/c, and c^2/6 beyond.

    Examples
    --------
    >>> y, z = np.zeros(3), np.array([0.0, 1.0, 4.0])
    >>> sb.losses.Tukey().value(y, z).round(3).tolist()
    [0.0, 0.478, 3.585]
    """

    c: float = 4.685

    name: ClassVar[str] = "tukey"
    turns: ClassVar[float] = math.sqrt(5.0)
    dip: ClassVar[float] = math.sqrt(0.6)
    tops: ClassVar[float] = 6.0

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

    def reached(self, share: Any) -> Any:
        return np.sqrt(-np.expm1(np.log1p(-share) / 3.0))

    def saturation(self, y: Any) -> tuple[Any, Any]:
        return y - self.c, y + self.c

    def tangent(self, B: Vector) -> Vector:
        p = self.c**2 / (3.0 * B + np.sqrt(9.0 * B**2 - 5.0 * self.c**2))
        return np.where(self.c <= B, p, np.nan)


@dataclass(frozen=True)
class GemanMcClure(ResidualLoss):
    """Bounded by c^2/2, which it approaches slowly.

    Parameters
    ----------
    c : float, default 3.0
        The scale, in the units of y.

    Notes
    -----
    (c^2/2) s^2/(1 + s^2), s = (z - y)/c.

    Examples
    --------
    >>> y, z = np.zeros(3), np.array([0.0, 1.0, 4.0])
    >>> sb.losses.GemanMcClure().value(y, z).round(3).tolist()
    [0.0, 0.45, 2.88]
    """

    c: float = 3.0

    name: ClassVar[str] = "geman_mcclure"
    turns: ClassVar[float] = math.sqrt(3.0)
    dip: ClassVar[float] = 1.0
    tops: ClassVar[float] = 2.0

    def at(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return 0.5 * self.c**2 * np.where(np.isinf(q), 1.0, q / (1.0 + q))

    def weight(self, r: Any) -> Any:
        return (1.0 / (1.0 + (r / self.c) ** 2)) ** 2

    def bend(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return (1.0 - 3.0 * q) / (1.0 + q) ** 3

    def reached(self, share: Any) -> Any:
        return np.sqrt(share / (1.0 - share))

    def tangent(self, B: Vector) -> Vector:
        return self.c**2 / (np.hypot(B, self.c) + B)


@dataclass(frozen=True)
class Welsch(ResidualLoss):
    """Bounded by c^2/2, which it is as good as at a residual of 3 c.

    Parameters
    ----------
    c : float, default 2.985
        The scale, in the units of y.

    Notes
    -----
    (c^2/2)(1 - exp(-s^2)), s = (z - y)/c.

    Examples
    --------
    >>> y, z = np.zeros(3), np.array([0.0, 1.0, 4.0])
    >>> sb.losses.Welsch().value(y, z).round(3).tolist()
    [0.0, 0.473, 3.716]
    """

    c: float = 2.985

    name: ClassVar[str] = "welsch"
    turns: ClassVar[float] = math.sqrt(2.0)
    dip: ClassVar[float] = math.sqrt(1.5)
    tops: ClassVar[float] = 2.0

    def at(self, r: Any) -> Any:
        return -0.5 * self.c**2 * np.expm1(-((r / self.c) ** 2))

    def weight(self, r: Any) -> Any:
        return np.exp(-((r / self.c) ** 2))

    def bend(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return (1.0 - 2.0 * q) * np.exp(-q)

    def reached(self, share: Any) -> Any:
        return np.sqrt(-np.log1p(-share))


@dataclass(frozen=True)
class Cauchy(ResidualLoss):
    """Grows with the logarithm of the residual: the negative log likelihood of Cauchy errors.

    Parameters
    ----------
    c : float, default 2.385
        The scale, in the units of y.

    Notes
    -----
    (c^2/2) log(1 + s^2), s = (z - y)/c.

    Examples
    --------
    >>> y, z = np.zeros(3), np.array([0.0, 1.0, 4.0])
    >>> sb.losses.Cauchy().value(y, z).round(3).tolist()
    [0.0, 0.461, 3.806]
    """

    c: float = 2.385

    name: ClassVar[str] = "cauchy"
    turns: ClassVar[float] = 1.0
    dip: ClassVar[float] = math.sqrt(3.0)

    def at(self, r: Any) -> Any:
        return 0.5 * self.c**2 * np.log1p((r / self.c) ** 2)

    def weight(self, r: Any) -> Any:
        return 1.0 / (1.0 + (r / self.c) ** 2)

    def bend(self, r: Any) -> Any:
        q = (r / self.c) ** 2
        return (1.0 - q) / (1.0 + q) ** 2

    def radius(self, value: Any) -> Any:
        return self.c * np.sqrt(np.expm1(2.0 * value / self.c**2))
