"""h(w) = min over u in [0, 1]^m, sum u <= k, of sum_i ridge_i/2 w_i^2/u_i over the free features.

With one ridge this is ridge/2 times the squared k-support norm. Inside the support u_i = 1 and the
feature is not counted. With t_i = sqrt(ridge_i) |w_i| (the length of a group, where features share
one u) and beta such that sum min(1, t_i/beta) = k,

    h(w)  = sum t_i max(t_i, beta)/2
    h*(s) = sum of s_i^2/(2 ridge_i) inside and over the k largest free ones

On a piece, beta = (sum of the linear t_i) / (k - number of quadratic ones): the gradient of the
linear part is a rank-one form. The multiplier beta^2/2 plays the l0 of the reverse Huber penalty.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.penalties.base import Penalty
from sparsebounds.penalties.groups import SINGLE, Groups
from sparsebounds.penalties.multipliers import budget_eta
from sparsebounds.penalties.selection import largest, slope, split


@dataclass(frozen=True, eq=False)
class KRidge(Penalty):
    """At most k free features in the support, with a ridge; its convex envelope.

    Parameters
    ----------
    k : int
        How many.
    ridge : float or array
        The weights of w_i^2 / 2.
    inside, outside : mask, optional
        Features known to be in the support, and out of it.
    positive : mask, optional
        Features with w_i >= 0.
    groups : Groups, default SINGLE
        Features that share one weight.

    Notes
    -----
    h(w) = min over u in [0, 1]^m with sum u <= k of sum_i ridge_i/2 w_i^2/u_i.

    Examples
    --------
    >>> penalty = sb.penalties.KRidge(1, 1.0)
    >>> penalty.value(np.array([1.0, 1.0])), penalty.conjugate(np.array([1.0, 2.0]))
    (2.0, 2.0)
    """

    k: int
    ridge: Any
    inside: Any = None
    outside: Any = None
    positive: Any = None
    groups: Groups = SINGLE

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "k", operator.index(self.k))
        except TypeError:
            raise ValueError(f"k must be a whole number of features, not {self.k!r}.") from None
        if self.k < 0:
            raise ValueError(f"k must be 0 or more free features, not {self.k}.")
        self._validate()

    def price(self, u: Vector) -> float:
        return 0.0

    def cost(self, u: Vector) -> float:
        # 1e-12 k is what the rounding of a sum of k may leave.
        spent = float(np.sum(np.where(self.groups.lead & ~self.inside, u, 0.0)))
        return 0.0 if spent <= self.k * (1.0 + 1e-12) else math.inf

    def conjugate(self, s: Vector) -> float:
        gains = self.gains(s)
        if self._all_free:
            return largest(gains, self.k)
        inside = np.broadcast_to(self.inside, gains.shape)
        return float(np.sum(gains[inside])) + largest(gains[~inside], self.k)

    def multiplier(self, s: Vector, ball: float) -> float:
        squares = self.groups.gather(np.square(self.reach(s)))
        inside = np.broadcast_to(self.inside, squares.shape)
        return budget_eta(squares[~inside], self.k, float(np.sum(squares[inside])), ball)

    def _slope(self, t: Vector) -> float:
        return slope(self._counted(t), self.k) if self.k else math.inf

    def _counted(self, t: Vector) -> Vector:
        """Lengths of the features that share the budget, 0 inside."""
        return t if self._all_free else np.where(self.inside, 0.0, t)

    def _total(self, t: Vector, beta: Any, steep: Vector) -> float:
        return 0.5 * float(t @ steep)

    def _landing(self, t: Vector, shift: Vector) -> Vector:
        shares = split(self._counted(t), shift, self.k)
        u = shares.u
        if not isinstance(shares.index, slice):
            u = np.zeros(len(t))
            u[shares.index] = shares.u
        if np.count_nonzero(u == 1.0) >= self.k:
            # Full features use up the budget: what rounding leaves to others is no share of it.
            u[u < 1.0] = 0.0
        return u

    def _line(self, pull: Vector, active: Index, full: int) -> tuple[Vector, Vector | None, float]:
        none = np.zeros(len(active))
        return (none, pull, float(self.k - full)) if np.any(pull) else (none, None, math.inf)
