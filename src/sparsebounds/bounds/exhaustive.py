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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

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
    known = Curvature.known(program) and program.ball is None and program.groups.single
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


class Trial(NamedTuple):
    """What supports add to |y|^2: an array with an axis per feature, after the first ones."""

    first: tuple[int, ...]
    names: Index
    """The features along each axis."""

    gains: Vector

    def features(self, place: Sequence[Any]) -> Index:
        """The features of a gain, by its place."""
        return np.concatenate((self.first, self.names[list(place)])).astype(np.int64)


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
        return effort(program.k - self._taken(state), int(np.count_nonzero(state == 0)))

    def search(self, state: States) -> Tried:
        """Try all supports of a node that `effort` is finite for."""
        inside = np.flatnonzero(state > 0)
        if self._taken(state) > int(self.program.k or 0):
            return Tried(math.inf, inside)
        with np.errstate(all="ignore"):
            leaf = self._leaf(state)
            if leaf is None:
                return Tried(-math.inf, inside)
            best, chosen = -math.inf, leaf.opened[:0]
            for trial in _trials(leaf.matrix, leaf.pull, leaf.size, leaf.opened):
                place = int(np.argmax(trial.gains))
                gain = float(trial.gains.flat[place])
                if not gain <= best:
                    best = math.inf if math.isnan(gain) else gain
                    chosen = trial.features(np.unravel_index(place, trial.gains.shape))
            lower = float(self._lower(leaf, best))
        return Tried(lower, np.sort(np.concatenate((inside, chosen))))

    def below(self, state: States, level: float, most: int) -> tuple[States, Vector] | None:
        """The supports of a node, of every size, that may have a model below `level`.

        One row of decided features each, and their bounds. None where they are more than `most`.
        """
        none = np.where(state == 0, -1, state).astype(np.int8)
        found: list[tuple[float, States]] = []
        with np.errstate(all="ignore"):
            leaf = self._leaf(state)
            if leaf is None:
                return None
            for size in range(leaf.size + 1):
                for trial in _trials(leaf.matrix, leaf.pull, size, leaf.opened):
                    lower = self._lower(leaf, trial.gains)
                    places = np.argwhere(lower < level)
                    places = places[np.all(np.diff(places, axis=1) > 0, axis=1)]  # one order
                    if len(found) + len(places) > most:
                        return None
                    for place in places.tolist():
                        one = none.copy()
                        one[trial.features(place)] = 1
                        found.append((float(lower[tuple(place)]), one))
        found.sort(key=lambda one: one[0])
        rows = np.array([one for _, one in found], dtype=np.int8).reshape(-1, len(state))
        return rows, np.array([lower for lower, _ in found])

    def _taken(self, state: States) -> int:
        return int(np.count_nonzero((state > 0) & self.program.free))

    def _lower(self, leaf: _Leaf, gain: Vector | float) -> Vector:
        """The bound of supports that add so much to |y|^2."""
        half: Vector = 0.5 * (np.asarray(gain) + leaf.sure) * MORE
        total = leaf.kappa + leaf.lost + half
        lower = leaf.kappa - leaf.lost - half - self._grain * total - TINY
        return np.where(np.isnan(lower), -np.inf, lower)

    def _leaf(self, state: States) -> _Leaf | None:
        """The factorisation after the features that are in; None where it does not go on."""
        program, curvature = self.program, self._curvature
        live = np.flatnonzero(state >= 0)
        inside, opened = np.flatnonzero(state[live] > 0), np.flatnonzero(state[live] == 0)
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
            return None
        y, across = np.zeros(0), matrix[np.ix_(inside, opened)]
        if len(inside):
            y = lapack.dtrtrs(factor, slope[inside], lower=1)[0]
            across = lapack.dtrtrs(factor, across, lower=1)[0]
        left = matrix[np.ix_(opened, opened)] - across.T @ across
        size = min(int(program.k or 0) - self._taken(state), len(opened))
        pull = slope[opened] - across.T @ y
        return _Leaf(live[opened], size, left, pull, kappa, lost, float(y @ y))


@dataclass(frozen=True)
class _Leaf:
    """A node after the steps of the factorisation that all its supports share."""

    opened: Index
    """The features to choose from."""

    size: int
    """How many of them a support takes at most."""

    matrix: Vector
    pull: Vector
    """M and c on these features, after those steps."""

    kappa: float
    lost: float
    sure: float
    """|y|^2 of the features that are in."""


def _trials(
    matrix: Vector, pull: Vector, size: int, names: Index, first: tuple[int, ...] = ()
) -> Iterator[Trial]:
    """What `size` features add to |y|^2, in blocks; inf where a pivot is not positive.

    Two features are tried in one array, in both orders; others are the `first` ones of its block.
    """
    diagonal = np.diagonal(matrix)
    single = np.where(diagonal > 0.0, np.square(pull) / diagonal, np.inf)
    if size == 0:
        yield Trial(first, names, np.zeros(()))
    elif size == 1:
        yield Trial(first, names, single)
    elif size == 2:
        share = matrix / diagonal[:, None]
        pivot = diagonal - share * matrix
        rest = np.square(pull - share * pull[:, None])
        both = single[:, None] + np.where(pivot > 0.0, rest / pivot, np.inf)
        np.einsum("ii->i", both)[:] = -np.inf
        yield Trial(first, names, both)
    else:
        for i in range(len(pull) - size + 1):
            share = matrix[i + 1 :, i] / diagonal[i]
            left = matrix[i + 1 :, i + 1 :] - np.outer(share, matrix[i, i + 1 :])
            rest, behind = pull[i + 1 :] - share * pull[i], (*first, int(names[i]))
            for trial in _trials(left, rest, size - 1, names[i + 1 :], behind):
                yield trial._replace(gains=single[i] + trial.gains)
