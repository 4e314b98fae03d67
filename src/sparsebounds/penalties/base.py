"""h(w) = min over u in [0, 1]^m of sum_i ridge_i/2 w_i^2/u_i + cost(u): what every penalty shares.

u_i = 1 for the features inside the support and w_i = 0 for those outside it; the rest are free.
x^2/0 is +infinity for x != 0 and 0 for x = 0. Where `positive`, w_i >= 0 is asked, and lengths
become one-sided: max(0, s_i) in place of |s_i|.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from sparsebounds._array import Array, namespace


@dataclass(frozen=True, eq=False)
class ProxPoint:
    """The minimiser of |w - q|^2/2 + sigma h(w)."""

    w: Array
    """The minimising w."""
    u: Array
    """Its weights, the u that attains h(w)."""
    l0: float | Array
    """The price of one unit of u: the l0 given, or the least multiplier of sum u <= k."""


@dataclass(frozen=True, eq=False)
class Jacobian:
    """diag(diagonal) - beta direction direction^T, a generalised derivative of q -> prox(q)."""

    diagonal: Array
    """0 where w stays zero, 1 where u is fractional, 1/(1 + sigma ridge) where u = 1."""
    direction: Array | None
    """sign(q) sqrt(ridge) on the fractional features, or None for a diagonal derivative."""
    beta: float
    """The factor of the rank-one term, 0 where there is none."""


class Penalty(ABC):
    """A convex penalty on w with the features inside and outside the support told."""

    ridge: float | Array
    """The ridge weights, > 0, one number or one for each feature."""
    inside: Array | None
    """Features with u_i = 1."""
    outside: Array | None
    """Features with w_i = 0."""
    positive: Array | None
    """Features with w_i >= 0."""

    @abstractmethod
    def value(self, w: Array) -> float:
        """h(w), +infinity where w is not allowed."""

    @abstractmethod
    def weights(self, w: Array) -> Array:
        """The u that attains h(w): 1 inside, 0 outside and where a free w_i is 0."""

    @abstractmethod
    def cost(self, u: Array) -> float:
        """The price of the weights u, +infinity where they are not allowed."""

    @abstractmethod
    def conjugate(self, s: Array) -> float:
        """h*(s) = max over w of s.w - h(w)."""

    @abstractmethod
    def prox(self, q: Array, sigma: float) -> ProxPoint:
        """The minimiser of |w - q|^2/2 + sigma h(w), for sigma > 0."""

    @abstractmethod
    def jacobian(self, q: Array, sigma: float, point: ProxPoint | None = None) -> Jacobian:
        """A generalised derivative of the prox at q; `point` is prox(q, sigma) where known."""

    def allows(self, w: Array) -> bool:
        """Whether w is zero outside and nonnegative where asked."""
        xp = namespace(w)
        if self.outside is not None and bool(xp.any(self.outside & (w != 0.0))):
            return False
        return self.positive is None or not bool(xp.any(self.positive & (w < 0.0)))

    def reach(self, s: Array) -> Array:
        """The length of s_i along its allowed directions: |s_i|, max(0, s_i) or 0."""
        xp = namespace(s)
        length = xp.abs(s)
        if self.positive is not None:
            length = xp.where(self.positive, xp.maximum(s, 0.0), length)
        return length if self.outside is None else xp.where(self.outside, 0.0, length)

    def blocked(self, q: Array) -> Array | None:
        """The features whose prox is 0 all around q: outside, or q_i < 0 where w_i >= 0."""
        if self.positive is None:
            return self.outside
        below = self.positive & (q < 0.0)
        return below if self.outside is None else self.outside | below

    def _validate(self) -> None:
        """Refuse a wrong ridge and contradictory masks; single numbers become Python floats."""
        object.__setattr__(self, "ridge", parameter(self.ridge, "ridge", zero=False))
        both = None if self.inside is None or self.outside is None else self.inside & self.outside
        if both is not None and bool(namespace(both).any(both)):
            raise ValueError("inside and outside must not share a feature: it is one or the other.")


def parameter(value: float | Array, name: str, *, zero: bool) -> float | Array:
    """`value`, finite and positive (or zero, if allowed), as one float or one for each feature."""
    checked = value if getattr(value, "ndim", 0) > 0 else float(value)
    fine = (checked >= 0.0 if zero else checked > 0.0) & (checked < math.inf)
    if not (fine if isinstance(fine, bool) else bool(namespace(fine).all(fine))):
        word = "nonnegative" if zero else "positive"
        raise ValueError(f"{name} must be {word} and finite: one number, or one for each feature.")
    return checked


def root(value: float | Array) -> float | Array:
    """The square root of one number or of each feature's."""
    return math.sqrt(value) if isinstance(value, float) else namespace(value).sqrt(value)
