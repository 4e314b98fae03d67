"""The best of all supports of a node, where few features are to be chosen: they are all tried.

k + ridge with the squared loss. On a support S, F and the ridge are kappa - c.w + w.M w/2 with
M = Q + diag(ridge), so the best value is kappa - |y|^2/2, where L y = c is solved with the Cholesky
factor L of M on S. The features that are in come first; then every pair of the others is two more
steps of the factorisation, in closed form, for all pairs at once; a third feature is one step
before them. More features never do harm, so supports with fewer of them need not be tried.

Rounding. A computed y is exact for a matrix near M, and Q itself is rounded: M is diminished first
by more than that, `room` (`bounds.curvature`), so that no gain is too small. What c is off by costs
its square over a further `room`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import TINY
from sparsebounds.bounds.curvature import Curvature
from sparsebounds.bounds.dual import GRAIN, WIDER
from sparsebounds.bounds.many import MORE, States
from sparsebounds.program import Program

MOST_FREE = 3
"""Features that are chosen by trying all of them, at most."""

OVERHEAD = 2000.0
"""Operations that it takes to try no pair at all."""


def can_be_tried(program: Program) -> bool:
    """Whether the best value on a support of a program is known in closed form, and they count."""
    known = Curvature.known(program) and program.ball is None
    return known and program.k is not None and not program.signed


def effort(size: int, features: int) -> float:
    """About how many operations it takes to try all supports of this size; inf: too many features.

    All pairs are tried at once, for each choice of the others.
    """
    size = max(min(size, features), 0)
    if size > MOST_FREE:
        return math.inf
    return math.comb(features, max(size - 2, 0)) * (OVERHEAD + float(features) ** 2)


@dataclass(frozen=True)
class Tried:
    """What trying all supports has shown."""

    lower: float
    """No model of a support of the node is below this."""

    support: Index
    """The best of them."""


class Exhaustion:
    """All supports of nodes of one program; with `claim`, bounds leave the room that claims do."""

    def __init__(self, curvature: Curvature, *, claim: bool = False) -> None:
        self.program = curvature.program
        self.possible = can_be_tried(self.program)
        self._curvature, self._wider = curvature, WIDER if claim else 1.0
        self._grain = self._wider * 2.0**-48 + (GRAIN if claim else 0.0)

    @cached_property
    def _linear(self) -> tuple[float, Vector, Vector]:
        return self._curvature.linear(self._wider)

    def effort(self, state: States) -> float:
        """Operations that it takes to try all supports of a node; inf where it is not possible."""
        program = self.program
        if not self.possible or program.k is None:
            return math.inf
        taken = int(np.count_nonzero((state > 0) & program.free))
        return effort(program.k - taken, int(np.count_nonzero(state == 0)))

    def search(self, state: States) -> Tried:
        """Try all supports of a node that `effort` is finite for."""
        program = self.program
        assert program.k is not None
        live, curvature = np.flatnonzero(state >= 0), self._curvature
        inside, opened = np.flatnonzero(state[live] > 0), np.flatnonzero(state[live] == 0)
        taken = int(np.count_nonzero(program.free[live[inside]]))
        if taken > program.k:
            return Tried(math.inf, live[inside])
        with np.errstate(all="ignore"):
            ridge = program.ridges[live]
            unit = curvature.units(live, ridge)
            room = curvature.room(live, ridge, unit)
            matrix = curvature.part(live) * unit * unit[:, None]
            less = ridge * np.square(unit) - (2.0 * self._wider + 1.0) * room
            np.einsum("ii->i", matrix)[:] += less
            kappa, slope, unsure = self._linear
            slope = unit * slope[live]
            lost = float(np.sum(np.square(unit * unsure[live]))) * MORE / (2.0 * room)
            factor, failed = lapack.dpotrf(matrix[np.ix_(inside, inside)], lower=1, clean=1)
            if failed:
                return Tried(-math.inf, live[inside])
            y, across = np.zeros(0), matrix[np.ix_(inside, opened)]
            if len(inside):
                y = lapack.dtrtrs(factor, slope[inside], lower=1)[0]
                across = lapack.dtrtrs(factor, across, lower=1)[0]
            left = matrix[np.ix_(opened, opened)] - across.T @ across
            pull = slope[opened] - across.T @ y
            gain, chosen = _best(left, pull, min(program.k - taken, len(opened)))
            gain = 0.5 * (gain + float(y @ y)) * MORE
            lower = kappa - lost - gain - self._grain * (kappa + lost + gain) - TINY
        lower = -math.inf if math.isnan(lower) else lower
        return Tried(lower, np.sort(live[np.concatenate((inside, opened[chosen]))]))


def _best(matrix: Vector, pull: Vector, size: int) -> tuple[float, Index]:
    """The largest |y|^2 that `size` features add, and which; inf where a pivot is not positive."""
    diagonal = np.diagonal(matrix)
    single = np.where(diagonal > 0.0, np.square(pull) / diagonal, np.inf)
    if size == 0:
        return 0.0, np.zeros(0, dtype=np.int64)
    if size == 1:
        first = int(np.argmax(single))
        return float(single[first]), np.array([first])
    if size == 2:
        share = matrix / diagonal[:, None]
        pivot = diagonal - share * matrix
        rest = np.square(pull - share * pull[:, None])
        both = single[:, None] + np.where(pivot > 0.0, rest / pivot, np.inf)
        np.einsum("ii->i", both)[:] = -np.inf
        place = int(np.argmax(both))
        return float(both.flat[place]), np.array(divmod(place, len(pull)))
    best, chosen = -math.inf, np.zeros(0, dtype=np.int64)
    for first in range(len(pull) - size + 1):
        share = matrix[first + 1 :, first] / diagonal[first]
        left = matrix[first + 1 :, first + 1 :] - np.outer(share, matrix[first, first + 1 :])
        gain, others = _best(left, pull[first + 1 :] - share * pull[first], size - 1)
        if gain + single[first] > best:
            best, chosen = gain + float(single[first]), np.append(others + first + 1, first)
    return best, chosen
