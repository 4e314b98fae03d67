"""Poisson loss: loss(y, z) = exp(z) - yz, y >= 0.

loss*(y, b) = c log c - c with c = b + y >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sparsebounds._support.array import Array, namespace
from sparsebounds.losses.base import Loss, entropy, full_like


@dataclass(frozen=True)
class Poisson(Loss):
    """Poisson regression with a log link, for counts (or any y >= 0).

    Notes
    -----
    exp(z) - yz.

    Examples
    --------
    >>> y, z = np.array([0.0, 1.0, 3.0]), np.ones(3)
    >>> sb.losses.Poisson().value(y, z).round(3).tolist()
    [2.718, 1.718, -0.282]
    """

    name: ClassVar[str] = "poisson"
    smoothness: ClassVar[float] = float("nan")
    self_concordant: ClassVar[bool] = True

    def value(self, y: Array, z: Array) -> Array:
        return namespace(y, z).exp(z) - y * z

    def gradient(self, y: Array, z: Array) -> Array:
        return namespace(y, z).exp(z) - y

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(y, z).exp(z)

    def conjugate(self, y: Array, b: Array) -> Array:
        c = b + y
        return entropy(c) - c

    def domain(self, y: Array) -> tuple[Array, Array]:
        return -y, full_like(y, float("inf"))

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        # exp lies above its tangent at log(y + 1), which gives, with y log(1 + 1/y) <= 1,
        # z <= excess + log(y + 1). And exp(z) >= 0 gives -yz <= infimum + excess.
        xp = namespace(y, excess)
        positive = y > 0
        rate = xp.where(positive, y, xp.ones_like(y))
        lo = xp.where(positive, xp.log(rate) - 1.0 - excess / rate, -float("inf"))
        return lo, excess + xp.log1p(y)

    def value_terms(self, y: Array, z: Array) -> Array:
        return namespace(y, z).exp(z) + abs(y * z)

    def conjugate_terms(self, y: Array, b: Array) -> Array:
        return abs(entropy(b + y)) + (b + y)

    def check_response(self, y: Array) -> None:
        if bool(namespace(y).any(y < 0)):
            raise ValueError(
                "y holds negative values, but the Poisson loss needs y >= 0; "
                "pass counts, or choose loss='squared' or 'huber'."
            )
