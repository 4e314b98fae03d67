"""The best of all supports of a node, where few groups are to be chosen: they are all tried.

k + ridge with the squared loss; a feature that stands alone is a group of one. On a support S, F
and the ridge are kappa - c.w + w.M w/2 with M = Q + diag(ridge), so the best value is kappa -
|y|^2/2, where L y = c is solved with the Cholesky factor L of M on S. The groups that are in come
first; `bounds.choices` says what the others add to |y|^2, and which of them add the most. More
groups never do harm, so supports with fewer of them need not be tried.

Rounding. A computed y is exact for a matrix near M, and Q itself is rounded: M is diminished first
by more than that, `room` (`bounds.curvature`), so that no gain is too small. The choices take as
much again, for their groups are recoded, and what c is off by costs its square over a further one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.rounding import TINY
from sparsebounds.bounds.choices import Choices
from sparsebounds.bounds.curvature import Curvature
from sparsebounds.bounds.dual import GRAIN, WIDER
from sparsebounds.bounds.many import MORE, States
from sparsebounds.program import Program

MOST_FREE = 3
"""Groups that are chosen by trying all of them, at most."""

OVERHEAD = 2000.0
"""Operations that each choice of the other groups takes, besides those on its pairs."""

MOST_FACTORED = float(1 << 23)
"""Entries of the matrices of one node that are factored, at most; whoever verifies does twice as
many, so that rounding decides nothing."""

MANY = 256
"""Features of a node beyond which it pays to say what rounding of a few of them is."""

RECODED = 8.0
"""Operations that an entry of the matrix takes where columns are recoded within their groups."""


def can_be_tried(program: Program) -> bool:
    """Whether the best value on a support of a program is known in closed form, and they count."""
    known = Curvature.known(program) and program.ball is None
    return known and program.k is not None and not program.signed


def effort(size: int, groups: int, columns: int) -> float:
    """About how many operations it takes to try all supports of this size; inf: too many groups.

    All pairs are tried at once, for each choice of the others. `columns` are those of all groups.
    """
    size = max(min(size, groups), 0)
    if size > MOST_FREE:
        return math.inf
    pairs = math.comb(groups, max(size - 2, 0)) * (OVERHEAD + float(groups) ** 2)
    return pairs + RECODED * (float(columns) ** 2 - float(groups) ** 2)


@dataclass(frozen=True)
class Tried:
    """What trying all supports has shown."""

    lower: float
    """No model of a support of the node is below this."""

    support: Index
    """The best of them."""

    operations: float = 0.0
    """What it took to factor matrices, about; `effort` has the rest."""


class Exhaustion:
    """All supports of nodes of one program; with `claim`, bounds leave the room that claims do."""

    def __init__(self, curvature: Curvature, *, claim: bool = False) -> None:
        self.program = curvature.program
        self.possible = can_be_tried(self.program)
        self._curvature, self._wider = curvature, WIDER if claim else 1.0
        self._grain = self._wider * 2.0**-48 + (GRAIN if claim else 0.0)
        self._most = MOST_FACTORED * (1.0 if claim else 2.0)

    @cached_property
    def _linear(self) -> tuple[float, Vector, Vector]:
        return self._curvature.linear(self._wider)

    def effort(self, state: States) -> float:
        """Operations that it takes to try all supports of a node; inf where it is not possible."""
        program, opened = self.program, state == 0
        if not self.possible or program.k is None:
            return math.inf
        groups = int(np.count_nonzero(opened & program.groups.lead))
        columns = int(np.count_nonzero(opened))
        return effort(program.k - self._taken(state), groups, columns)

    def search(self, state: States) -> Tried:
        """Try all supports of a node that `effort` is finite for; TooMany, as for `below`."""
        inside = np.flatnonzero(state > 0)
        if self._taken(state) > int(self.program.k or 0):
            return Tried(math.inf, inside)
        with np.errstate(all="ignore"):
            leaf = self._leaf(state)
            if leaf is None:
                return Tried(-math.inf, inside)
            best = leaf.choices.best(leaf.size, self._most)
            lower = float(self._lower(leaf, best.gain))
        more = self.program.groups.whole(best.names)
        return Tried(lower, np.sort(np.concatenate((inside, more))), best.operations)

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
            bar = self._gain(leaf, level)
            for size in range(leaf.size + 1):
                for sets, gains, _ in leaf.choices.above(size, bar, self._most):
                    lower = self._lower(leaf, gains)
                    places = np.flatnonzero(lower < level)
                    if len(found) + len(places) > most:
                        return None
                    for place in places.tolist():
                        one = none.copy()
                        one[self.program.groups.whole(leaf.choices.names[sets[place]])] = 1
                        found.append((float(lower[place]), one))
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

    def _gain(self, leaf: _Leaf, level: float) -> float:
        """A gain whose bound is `level` or more; -inf where none is found."""
        gain = 2.0 * (leaf.kappa - leaf.lost - level) - leaf.sure
        for _ in range(3):
            short = level - float(self._lower(leaf, gain))
            if not short > 0.0:
                break
            gain -= 4.0 * short
        return gain if float(self._lower(leaf, gain)) >= level else -math.inf

    def _leaf(self, state: States) -> _Leaf | None:
        """The factorisation after the groups that are in; None where it does not go on."""
        program, curvature = self.program, self._curvature
        inside, blocks = np.flatnonzero(state > 0), _blocks(program, state == 0)
        live = np.concatenate((inside, *(block.ravel() for block in blocks)))
        first, ridge, largest = len(inside), program.ridges[live], program.groups.largest
        size = min(int(program.k or 0) - self._taken(state), sum(map(len, blocks)))
        unit = curvature.units(live, ridge)
        count = min(first + max(size, 1) * largest, len(live))
        room = self._room(live, ridge, unit, first, count)
        matrix = curvature.part(live) * unit * unit[:, None]
        spared = 2.0 * self._wider + 2.0 + math.sqrt(largest)
        np.einsum("ii->i", matrix)[:] += ridge * np.square(unit) - spared * room
        kappa, slope, unsure = self._linear
        slope = unit * slope[live]
        off = np.sort(np.square(unit * unsure[live]))[::-1]
        lost = float(np.sum(off[:count])) * MORE / (2.0 * room)
        factor, failed = lapack.dpotrf(matrix[:first, :first], lower=1, clean=1)
        if failed:
            return None
        left, pull, sure = matrix[first:, first:], slope[first:], 0.0
        if first:
            y = lapack.dtrtrs(factor, slope[:first], lower=1)[0]
            across = lapack.dtrtrs(factor, matrix[:first, first:], lower=1)[0]
            left, pull, sure = left - across.T @ across, pull - across.T @ y, float(y @ y)
        choices = Choices.of(left, pull, blocks)
        return None if choices is None else _Leaf(choices, size, kappa, lost, sure)

    def _room(self, live: Index, ridge: Vector, unit: Vector, first: int, count: int) -> float:
        """`Curvature.room` of no more than `count` of the features, with the first ones always."""
        curvature, square = self._curvature, np.square(unit)
        if len(live) <= MANY:
            return curvature.room(live, ridge, unit)
        room = (self.program.n + 8) * TINY * float(np.sum(square))
        for size in (curvature.power[live], curvature.spread[live] + ridge):
            largest = np.argsort(size[first:] * square[first:])[::-1]
            some = np.concatenate((np.arange(first), first + largest[: count - first]))
            room += curvature.room(live[some], ridge[some], unit[some])
        return room


def _blocks(program: Program, features: Mask) -> list[Index]:
    """Some features, one row per group: an array for each number of features that groups have."""
    if program.groups.single:
        return [np.flatnonzero(features)[:, None]]
    return list(program.groups.by_size(features)) or [np.zeros((0, 1), dtype=np.int64)]


@dataclass(frozen=True)
class _Leaf:
    """A node after the steps of the factorisation that all its supports share."""

    choices: Choices
    size: int
    """How many groups a support takes at most."""

    kappa: float
    lost: float
    sure: float
    """|y|^2 of the groups that are in."""
