"""h(w) = sum_i min over u_i in [0, 1] of ridge_i/2 w_i^2/u_i + l0_i u_i, the reverse Huber penalty.

With beta_i = sqrt(2 l0_i) a free feature costs beta_i t_i, t_i = sqrt(ridge_i) |w_i|, up to
t_i = beta_i and (t_i^2 + beta_i^2)/2 = ridge_i/2 w_i^2 + l0_i beyond. Inside it costs the latter.

    h*(s) = sum of s_i^2/(2 ridge_i) - l0_i, or 0 where that is negative and the feature is free
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.penalties.base import SMALLEST, Pattern, Penalty, check_parameter, taken
from sparsebounds.penalties.groups import SINGLE, Groups
from sparsebounds.penalties.multipliers import best_eta


@dataclass(frozen=True, eq=False)
class L0Ridge(Penalty):
    """The price l0_i for each feature of the support, with a ridge; its convex envelope.

    Parameters
    ----------
    l0 : float or array
        The prices. Where groups are not single, l0 stands at the first column of each, 0 elsewhere.
    ridge, inside, outside, positive, groups : as in `KRidge`

    Notes
    -----
    h(w) = sum_i min over u_i in [0, 1] of ridge_i/2 w_i^2/u_i + l0_i u_i: reverse Huber.

    Examples
    --------
    >>> penalty = sb.penalties.L0Ridge(0.5, 1.0)
    >>> penalty.value(np.array([0.5, 2.0])), penalty.conjugate(np.array([0.5, 2.0]))
    (3.0, 1.5)
    """

    l0: Any
    ridge: Any
    inside: Any = None
    outside: Any = None
    positive: Any = None
    groups: Groups = SINGLE

    _one_slope = False

    def __post_init__(self) -> None:
        check_parameter(self.l0, "l0", zero=True)
        self._validate()

    @cached_property
    def beta(self) -> Any:
        """The slope of a free feature's cost in t."""
        return np.sqrt(2.0 * self.l0)

    def costs(self, w: Vector) -> Vector:
        """What each feature costs, for an allowed w; h(w) is their sum."""
        return self._costs(self.lengths(w))

    def price(self, u: Vector) -> float:
        return float(np.sum(self.l0 * u))

    def patterns(self, q: Vector, step: Vector) -> Iterator[Pattern]:
        """`pattern` for each row of q; `inside` and `outside` may have rows too."""
        inside = np.broadcast_to(self.inside, q.shape)
        yield from map(self._piece, *self._landed(q, step), inside)

    def gains(self, s: Vector) -> Vector:
        gains: Vector = super().gains(s) - self.l0
        return gains

    def conjugate(self, s: Vector) -> float:
        gains = self.gains(s)
        return float(np.sum(np.where(self.inside, gains, np.maximum(gains, 0.0))))

    def multiplier(self, s: Vector, ball: float) -> float:
        squares = self.groups.gather(np.square(self.reach(s)))
        inside = np.broadcast_to(self.inside, squares.shape)
        prices = np.broadcast_to(self.l0, squares.shape)[~inside]
        return best_eta(squares[~inside], prices, float(np.sum(squares[inside])), ball)

    def _slope(self, t: Vector) -> Any:
        return self.beta

    def _total(self, t: Vector, beta: Any, steep: Vector) -> float:
        return float(np.sum(self._costs(t)))

    def _costs(self, t: Vector) -> Vector:
        whole = 0.5 * (t * t + self.beta * self.beta)
        costs: Vector = np.where(self.inside | (t >= self.beta), whole, self.beta * t)
        return costs

    def _landing(self, t: Vector, shift: Vector) -> Vector:
        # Without a price every length is large.
        with np.errstate(over="ignore"):
            ratio = t / np.maximum(self.beta, SMALLEST)
        u: Vector = np.minimum(np.maximum(ratio - shift, 0.0), 1.0)
        return u

    def _line(self, pull: Vector, active: Index, full: int) -> tuple[Vector, Vector | None, float]:
        return taken(self.groups.spread(self.beta), active) * pull, None, math.inf
