"""Losses made of half a square.

    squared         (z - y)^2 / 2
    Huber           r^2 / 2 up to |r| = delta, then delta |r| - delta^2 / 2, with r = z - y
    squared hinge   max(0, 1 - yz)^2 / 2, y = -1 or +1

On its domain the conjugate of each is loss*(y, b) = b^2 / 2 + b y, and its least value is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sparsebounds._support.array import Array, namespace
from sparsebounds._support.errors import InputError
from sparsebounds._support.validate import LARGEST
from sparsebounds.losses.base import Loss, checked_scale, full_like, one_sided


@dataclass(frozen=True)
class QuadraticLoss(Loss):
    """What the three have in common."""

    smoothness: ClassVar[float] = 1.0

    def conjugate(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + b * y

    def conjugate_terms(self, y: Array, b: Array) -> Array:
        return 0.5 * b * b + abs(b * y)

    def value_terms(self, y: Array, z: Array) -> Array:
        return self.value(y, z)


@dataclass(frozen=True)
class Squared(QuadraticLoss):
    """Least squares, for a real response.

    Notes
    -----
    (z - y)^2 / 2.

    Examples
    --------
    >>> y, z = np.zeros(3), np.array([0.0, 1.0, 4.0])
    >>> sb.losses.Squared().value(y, z).round(3).tolist()
    [0.0, 0.5, 8.0]
    """

    name: ClassVar[str] = "squared"
    residual: ClassVar[bool] = True

    def value(self, y: Array, z: Array) -> Array:
        return 0.5 * (z - y) ** 2

    def gradient(self, y: Array, z: Array) -> Array:
        return z - y

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(y, z).ones_like(z - y)

    def clip(self, y: Array, b: Array) -> Array:
        return b

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        radius = namespace(y, excess).sqrt(2.0 * excess)
        return y - radius, y + radius


@dataclass(frozen=True)
class Huber(QuadraticLoss):
    """Robust regression that is convex.

    Parameters
    ----------
    delta : float, default 1.35
        Where squared turns absolute, in the units of y.

    Notes
    -----
    With r = z - y it is r^2 / 2 up to ``|r| = delta``, then ``delta |r| - delta^2 / 2``.

    Examples
    --------
    >>> y, z = np.zeros(3), np.array([0.0, 1.0, 4.0])
    >>> sb.losses.Huber(delta=1.0).value(y, z).round(3).tolist()
    [0.0, 0.5, 3.5]
    """

    delta: float = 1.35

    name: ClassVar[str] = "huber"
    residual: ClassVar[bool] = True

    def __post_init__(self) -> None:
        delta = checked_scale("delta", self.delta)
        if delta > LARGEST:
            raise InputError(f"delta={delta!r} is beyond {LARGEST:g}; use loss='squared'.")
        object.__setattr__(self, "delta", delta)

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        r = abs(z - y)
        return xp.where(r <= self.delta, 0.5 * r * r, self.delta * r - 0.5 * self.delta**2)

    def gradient(self, y: Array, z: Array) -> Array:
        return self.clip(y, z - y)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        r = z - y
        return xp.where(abs(r) <= self.delta, xp.ones_like(r), xp.zeros_like(r))

    def domain(self, y: Array) -> tuple[Array, Array]:
        return full_like(y, -self.delta), full_like(y, self.delta)

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        # The loss lies above delta |r| - delta^2 / 2 everywhere.
        radius = excess / self.delta + 0.5 * self.delta
        return y - radius, y + radius

    def value_terms(self, y: Array, z: Array) -> Array:
        return self.value(y, z) + self.delta**2 * (1.0 - self.curvature(y, z))


@dataclass(frozen=True)
class SquaredHinge(QuadraticLoss):
    """The smooth support vector machine, for two classes.

    Notes
    -----
    max(0, 1 - yz)^2 / 2, y = -1 or +1.

    Examples
    --------
    >>> y, z = np.ones(3), np.array([-2.0, 0.0, 2.0])
    >>> sb.losses.SquaredHinge().value(y, z).round(3).tolist()
    [4.5, 0.5, 0.0]
    """

    name: ClassVar[str] = "squared_hinge"
    two_class: ClassVar[bool] = True

    def value(self, y: Array, z: Array) -> Array:
        return 0.5 * self._shortfall(y, z) ** 2

    def gradient(self, y: Array, z: Array) -> Array:
        return -y * self._shortfall(y, z)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        short = self._shortfall(y, z)
        return xp.where(short > 0, xp.ones_like(short), xp.zeros_like(short))

    def domain(self, y: Array) -> tuple[Array, Array]:
        xp = namespace(y)
        zero, unbounded = xp.zeros_like(y), xp.full_like(y, float("inf"))
        return xp.where(y > 0, -unbounded, zero), xp.where(y > 0, zero, unbounded)

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        return one_sided(y, 1.0 - namespace(y, excess).sqrt(2.0 * excess))

    @staticmethod
    def _shortfall(y: Array, z: Array) -> Array:
        xp = namespace(y, z)
        margin = 1.0 - y * z
        return xp.maximum(margin, xp.zeros_like(margin))
