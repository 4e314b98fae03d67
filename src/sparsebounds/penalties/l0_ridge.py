"""h(w) = sum_i min over u_i in [0, 1] of ridge_i/2 w_i^2/u_i + l0_i u_i, the reverse Huber penalty.

With tau = sqrt(2 l0/ridge) and kappa = sqrt(2 l0 ridge), a free feature costs kappa |w| up to
|w| = tau (u = |w|/tau) and ridge/2 w^2 + l0 beyond (u = 1). Inside it costs ridge/2 w^2 + l0.
    h*(s)   = s^2/(2 ridge) - l0, or 0 where that is negative and the feature is free
    prox(q) = the smaller of |q| - sigma kappa and |q|/(1 + sigma ridge) in length, at least 0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from sparsebounds._array import Array, namespace
from sparsebounds.penalties.base import Jacobian, Penalty, ProxPoint, parameter, root


@dataclass(frozen=True, eq=False)
class L0Ridge(Penalty):
    """The price l0_i for each feature of the support, with a ridge; its convex envelope."""

    l0: float | Array
    ridge: float | Array
    inside: Array | None = None
    outside: Array | None = None
    positive: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "l0", parameter(self.l0, "l0", zero=True))
        self._validate()

    @cached_property
    def tau(self) -> float | Array:
        """The length from which a free feature has u = 1."""
        return root(2.0 * self.l0 / self.ridge)

    @cached_property
    def kappa(self) -> float | Array:
        """The slope of a free feature's penalty up to tau."""
        return root(2.0 * self.l0 * self.ridge)

    def value(self, w: Array) -> float:
        return float(namespace(w).sum(self.costs(w))) if self.allows(w) else math.inf

    def costs(self, w: Array) -> Array:
        """What each feature costs, for an allowed w; h(w) is their sum."""
        a = self.reach(w)
        full = self.ridge / 2.0 * (a * a) + self.l0
        return namespace(w).where(self._partial(a), self.kappa * a, full)

    def weights(self, w: Array) -> Array:
        return self._weights(self.reach(w))

    def cost(self, u: Array) -> float:
        return float(namespace(u).sum(self.l0 * u))

    def conjugate(self, s: Array) -> float:
        xp = namespace(s)
        a = self.reach(s)
        gains = a * a / (2.0 * self.ridge) - self.l0
        return float(xp.sum(self._choose(gains, xp.maximum(gains, 0.0))))

    def prox(self, q: Array, sigma: float) -> ProxPoint:
        xp = namespace(q)
        a = self.reach(q)
        shrunk = a / (1.0 + sigma * self.ridge)
        length = xp.maximum(xp.minimum(a - sigma * self.kappa, shrunk), 0.0)
        length = self._choose(shrunk, length)
        return ProxPoint(xp.copysign(length, q), self._weights(length), self.l0)

    def jacobian(self, q: Array, sigma: float, point: ProxPoint | None = None) -> Jacobian:
        xp = namespace(q)
        a, start = self.reach(q), sigma * self.kappa
        shrink = 1.0 / (1.0 + sigma * self.ridge)
        diagonal = xp.where(a >= start + self.tau, shrink, xp.astype(a > start, q.dtype))
        diagonal = self._choose(shrink, diagonal)
        blocked = self.blocked(q)
        if blocked is not None:
            diagonal = xp.where(blocked, 0.0, diagonal)
        return Jacobian(diagonal, None, 0.0)

    def _choose(self, fixed: float | Array, free: Array) -> Array:
        """`fixed` inside and `free` elsewhere."""
        return free if self.inside is None else namespace(free).where(self.inside, fixed, free)

    def _partial(self, a: Array) -> Array:
        """The free features shorter than tau, where 0 <= u < 1."""
        return a < self.tau if self.inside is None else (a < self.tau) & ~self.inside

    def _weights(self, a: Array) -> Array:
        """u = min(1, a/tau) for lengths a; where tau = 0 a free feature has u = 1 or w = 0."""
        xp = namespace(a)
        tau = self.tau
        if isinstance(tau, float) and tau > 0.0:
            return self._choose(1.0, xp.minimum(a / tau, 1.0))
        full = self._choose(1.0, xp.astype(a > 0.0, a.dtype))
        if isinstance(tau, float):
            return full
        return xp.where(self._partial(a), a / xp.where(tau > 0.0, tau, 1.0), full)
