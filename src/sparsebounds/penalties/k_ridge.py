"""h(w) = min over u in [0, 1]^m, sum u <= k, of sum_i ridge_i/2 w_i^2/u_i over the free features.

With one ridge this is ridge/2 times the squared k-support norm. Inside the support u_i = 1 and
the feature is not counted. With t_i = sqrt(ridge_i) |w_i| and b such that sum min(1, t_i/b) = k,
    h(w)    = sum t_i max(t_i, b)/2
    h*(s)   = sum of s_i^2/(2 ridge_i) inside and over the k largest free ones
    prox(q) : u_i = clip(sqrt(ridge_i)|q_i|/b - sigma ridge_i, 0, 1), b such that sum u = k,
              w_i = q_i u_i/(u_i + sigma ridge_i)
The multiplier b^2/2 plays the l0 of the reverse Huber penalty, found here by a scalar search.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

from sparsebounds._array import Array, namespace
from sparsebounds.penalties.base import Jacobian, Penalty, ProxPoint, root
from sparsebounds.penalties.selection import largest, slope, split


@dataclass(frozen=True, eq=False)
class KRidge(Penalty):
    """At most k free features in the support, with a ridge; its convex envelope."""

    k: int
    ridge: float | Array
    inside: Array | None = None
    outside: Array | None = None
    positive: Array | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "k", operator.index(self.k))
        except TypeError:
            raise ValueError(f"k must be a whole number of features, not {self.k!r}.") from None
        if self.k < 0:
            raise ValueError(f"k must be 0 or more free features, not {self.k}.")
        self._validate()

    def value(self, w: Array) -> float:
        if not self.allows(w):
            return math.inf
        xp = namespace(w)
        t = root(self.ridge) * self.reach(w)
        free = self._free(t)
        if self.k == 0:
            return math.inf if bool(xp.any(free > 0.0)) else float(xp.sum(t * t)) / 2.0
        steep = xp.maximum(free, slope(free, self.k))
        steep = steep if self.inside is None else xp.where(self.inside, t, steep)
        return float(xp.sum(t * steep)) / 2.0

    def weights(self, w: Array) -> Array:
        xp = namespace(w)
        t = self._free(root(self.ridge) * self.reach(w))
        b = slope(t, self.k) if self.k > 0 else math.inf
        u = xp.minimum(t / b, 1.0) if b > 0.0 else xp.astype(t > 0.0, t.dtype)
        return u if self.inside is None else xp.where(self.inside, 1.0, u)

    def cost(self, u: Array) -> float:
        # 1e-12 k is what the rounding of a sum of k may leave.
        spent = float(namespace(u).sum(self._free(u)))
        return 0.0 if spent <= self.k * (1.0 + 1e-12) else math.inf

    def conjugate(self, s: Array) -> float:
        xp = namespace(s)
        a = self.reach(s)
        gains = a * a / (2.0 * self.ridge)
        best = largest(self._free(gains), self.k)
        return best if self.inside is None else best + float(xp.sum(gains[self.inside]))

    def prox(self, q: Array, sigma: float) -> ProxPoint:
        xp = namespace(q)
        d = sigma * self.ridge
        # With one ridge its root is a common factor of the t_i and of b, put back at the end.
        scalar = isinstance(self.ridge, float)
        reach = self.reach(q)
        share = split(self._free(reach if scalar else root(self.ridge) * reach), d, self.k)
        near = xp.take(q, share.index)
        w = near * share.u / (share.u + (d if scalar else xp.take(d, share.index)))
        w, u = (_scatter(x, share.mask, q) for x in (w, share.u))
        if self.inside is not None:
            w = xp.where(self.inside, xp.copysign(reach, q) / (1.0 + d), w)
            u = xp.where(self.inside, 1.0, u)
        return ProxPoint(w, u, (self.ridge if scalar else 1.0) * share.slope**2 / 2.0)

    def jacobian(self, q: Array, sigma: float, point: ProxPoint | None = None) -> Jacobian:
        xp = namespace(q)
        point = self.prox(q, sigma) if point is None else point
        u, shrink = point.u, 1.0 / (1.0 + sigma * self.ridge)
        diagonal = xp.where(u == 1.0, shrink, xp.astype(u > 0.0, q.dtype))
        blocked = self.blocked(q)
        if blocked is not None:
            diagonal = xp.where(blocked, 0.0, diagonal)
        if point.l0 == 0.0:
            return Jacobian(self._slack(q, u, diagonal, shrink), None, 0.0)
        partial = (u > 0.0) & (u < 1.0)
        if not bool(xp.any(partial)):
            return Jacobian(diagonal, None, 0.0)
        # On the partial features w_i = q_i - sigma b sign(q_i) sqrt(ridge_i), and b sum_partial
        # (u + sigma ridge) = sum_partial sqrt(ridge)|q| makes b depend on each of their q_i.
        direction = xp.where(partial, xp.sign(q) * root(self.ridge), 0.0)
        return Jacobian(
            diagonal, direction, sigma * math.sqrt(2.0 * point.l0) / float(xp.sum(direction * q))
        )

    def _slack(self, q: Array, u: Array, diagonal: Array, shrink: float | Array) -> Array:
        """Where fewer than k free q_i are nonzero any of the zero ones, in the number left, may
        follow q with u = 1: the mean of these derivatives over all choices."""
        xp = namespace(q)
        zero = (q == 0.0) & (u == 0.0)
        zero = zero if self.outside is None else zero & ~self.outside
        left = self.k - int(xp.count_nonzero(self._free(u)))
        number = int(xp.count_nonzero(zero))
        if left <= 0 or number == 0:
            return diagonal
        return xp.where(zero, min(1.0, left / number) * shrink, diagonal)

    def _free(self, x: Array) -> Array:
        """x on the features that are not inside, 0 there."""
        return x if self.inside is None else namespace(x).where(self.inside, 0.0, x)


def _scatter(values: Array, mask: Array, like: Array) -> Array:
    """The vector with `values` on `mask` and 0 elsewhere."""
    xp = namespace(like)
    out = xp.zeros_like(like)
    out[mask] = xp.astype(values, like.dtype)
    return out
