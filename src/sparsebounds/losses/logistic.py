"""Logistic loss: loss(y, z) = log(1 + exp(-yz)), y = -1 or +1.

loss*(y, b) = t log t + (1 - t) log(1 - t) with t = -by in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebounds._support.array import Array, Vector, namespace
from sparsebounds.losses.base import Loss, entropy, one_sided


def _log1pexp(t: Array) -> Array:
    """log(1 + exp(t)) without overflow."""
    xp = namespace(t)
    return xp.log1p(xp.exp(-xp.abs(t))) + xp.maximum(t, xp.zeros_like(t))


def _sigmoid(t: Array) -> Array:
    """1 / (1 + exp(-t)), to full relative accuracy in both tails."""
    xp = namespace(t)
    small = xp.exp(-xp.abs(t))
    return xp.where(t > 0, xp.ones_like(t), small) / (1.0 + small)


def log_chances(z: Vector) -> Vector:
    """The logarithm of each class's probability, from one linear predictor or one per class.

    Several models, each of one class against the rest, are taken for independent: a class has the
    chance that its model alone says yes, given that one does. These are p_c / (1 - p_c) = exp(z_c),
    scaled to sum 1, and log losses are lower than those of the p_c scaled.
    """
    if z.shape[1] == 1:
        return -np.logaddexp(0.0, np.hstack((z, -z)))
    return z - np.logaddexp.reduce(z, axis=1, keepdims=True)


@dataclass(frozen=True)
class Logistic(Loss):
    """Logistic regression, for two classes.

    Notes
    -----
    log(1 + exp(-yz)), y = -1 or +1.

    Examples
    --------
    >>> y, z = np.ones(3), np.array([-2.0, 0.0, 2.0])
    >>> sb.losses.Logistic().value(y, z).round(3).tolist()
    [2.127, 0.693, 0.127]
    """

    name: ClassVar[str] = "logistic"
    two_class: ClassVar[bool] = True
    smoothness: ClassVar[float] = 0.25
    self_concordant: ClassVar[bool] = True

    def value(self, y: Array, z: Array) -> Array:
        return _log1pexp(-y * z)

    def gradient(self, y: Array, z: Array) -> Array:
        return -y * _sigmoid(-y * z)

    def curvature(self, y: Array, z: Array) -> Array:
        t = y * z
        xp = namespace(t)
        small = xp.exp(-xp.abs(t))
        return small / (1.0 + small) ** 2

    def conjugate(self, y: Array, b: Array) -> Array:
        t = -b * y
        return entropy(t) + self._complement(t)

    def domain(self, y: Array) -> tuple[Array, Array]:
        xp = namespace(y)
        zero = xp.zeros_like(y)
        return xp.minimum(-y, zero), xp.maximum(-y, zero)

    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        # log(1 + exp(t)) >= t, so -yz <= excess; nothing bounds the other side.
        return one_sided(y, -excess)

    def value_terms(self, y: Array, z: Array) -> Array:
        return self.value(y, z)

    def conjugate_terms(self, y: Array, b: Array) -> Array:
        return abs(self.conjugate(y, b))

    @staticmethod
    def _complement(t: Array) -> Array:
        """(1 - t) log(1 - t), and 0 at t = 1."""
        xp = namespace(t)
        interior = t < 1
        return xp.where(interior, (1.0 - t) * xp.log1p(-xp.where(interior, t, 0.0 * t)), 0.0 * t)
