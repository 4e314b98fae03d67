"""Which few groups add the most to the gain v.M^-1 v, of one, two or three of them.

M is positive definite and v a vector; a choice T has the gain v_T.(M_TT)^-1 v_T. The columns of
each group are recoded first, so that its own block of M is the identity. C_gh are the other blocks
then, and z_g is the group's part of v. A group alone has the gain |z_g|^2, and h after g adds

    x.(I - C_hg C_gh)^-1 x  <=  |x|^2 / (1 - |C_gh|^2)  =:  after_gh,    x = z_h - C_hg z_g,

with Frobenius norms; both are the same for single features. Two groups h and l after g add at most

    (after_gh + after_gl) / (1 - e),    e = (|C_hl| + |C_gh| |C_gl|) r_gh r_gl,
    r_gh = (1 - |C_gh|^2)^(-1/2),

because e is at least the norm of what g leaves of C_hl, recoded once more. These bounds are arrays,
for all pairs and triples. Only choices that may be better than the best one known are factored.

Rounding. C and z are solved from M by substitution, whose residuals are small next to M itself; M
is to be diminished by that. All that follows is about numbers of size 1: `slight` covers it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsebounds._support.array import Index, Vector

AT_ONCE = 1 << 15
"""Bounds of triples in one array, about."""

TOGETHER = 1 << 18
"""Entries of the matrices that are factored in one array, about."""

GATHERED = 16.0
"""Operations per entry of a matrix that is factored, besides those of its elimination: one for each
of its columns."""


class Some(NamedTuple):
    """Choices, one row each."""

    sets: Index
    gains: Vector
    left: float
    """No gain of those that come later is above this."""


class Best(NamedTuple):
    """The choice that gains the most."""

    gain: float
    """Rounded up."""

    names: Index
    """The first features of its groups."""

    operations: float
    """What it took to factor choices, about."""


class TooMany(Exception):
    """More choices are left to be factored than it was allowed."""


@dataclass(frozen=True)
class Choices:
    """Groups to choose from, and what M and v are on their columns, side by side."""

    names: Index
    """The first feature of each group. Choices say groups by their places in this list."""

    widths: Index
    """How many columns each has."""

    matrix: Vector
    factors: Sequence[tuple[slice, Vector]]
    """The Cholesky factors of groups' own blocks, for each width: columns, and one factor each."""

    pull: Vector
    """z."""

    @classmethod
    def of(cls, matrix: Vector, vector: Vector, blocks: Sequence[Index]) -> Choices | None:
        """From M and v, whose columns are those of `blocks` in order: one row per group each.

        None where a group's own block has no factor.
        """
        factors: list[tuple[slice, Vector]] = []
        start = 0
        for block in blocks:
            places = start + np.arange(block.size).reshape(block.shape)
            try:
                factor = np.linalg.cholesky(matrix[places[:, :, None], places[:, None, :]])
            except np.linalg.LinAlgError:
                return None
            factors.append((slice(start, start + block.size), np.asarray(factor, dtype=np.float64)))
            start += block.size
        names = np.concatenate([block[:, 0] for block in blocks])
        widths = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks])
        return cls(names, widths, matrix, factors, _solved(factors, vector[:, None])[:, 0])

    @property
    def slight(self) -> float:
        """More than the rounding of up to three groups, next to 1."""
        return 2.0**-40 + 2.0**-45 * float(np.max(self.widths, initial=1)) ** 2

    @property
    def alone(self) -> bool:
        """Whether every group is a single feature."""
        return len(self.names) == len(self.pull)

    @cached_property
    def starts(self) -> Index:
        """The first column of each group."""
        starts: Index = np.cumsum(self.widths) - self.widths
        return starts

    @cached_property
    def single(self) -> Vector:
        """What each group has alone, rounded up."""
        return self._sums(np.square(self.pull), 0) * (1.0 + self.slight)

    @cached_property
    def cross(self) -> Vector:
        """C; the groups' own blocks are not used."""
        cross = _solved(self.factors, _solved(self.factors, self.matrix).T)
        return cross if self.alone else 0.5 * (cross + cross.T)

    @cached_property
    def pivots(self) -> Vector:
        """1 - |C_gh|^2, rounded down, or 0."""
        pivots = self._sums(self._sums(np.square(self.cross), 1), 0)
        pivots *= -1.0 - self.slight
        pivots += 1.0 - self.slight
        return np.maximum(pivots, 0.0, out=pivots)

    @cached_property
    def after(self) -> Vector:
        """after_gh, rounded up: one row per g. inf where there is no bound."""
        rest = self._sums(self.cross * self.pull[:, None], 0)
        np.subtract(self.pull, rest, out=rest)
        after = self._sums(np.square(rest, out=rest), 1)
        after += 2.0 * self.slight * float(np.max(self.single, initial=0.0)) + 1e-300
        after /= self.pivots
        np.einsum("ii->i", after)[:] = -np.inf
        return after

    @cached_property
    def pairs(self) -> Vector:
        """Bounds of what two groups have, one after the other: what single features have."""
        return self.single[:, None] + self.after

    def best(self, size: int, most: float = math.inf) -> Best:
        """The `size` groups of largest gain.

        TooMany where matrices of more than `most` entries would have to be factored.
        """
        best, chosen = self._greedy(size)
        # The greedy choice has tried every third group.
        factored = len(self.names) if size > 2 else 0
        for sets, gains, left in self.above(size, best, most):
            factored += len(sets) if size > 1 else 0
            place = int(np.argmax(gains))
            if gains[place] > best:
                best, chosen = float(gains[place]), sets[place]
            if left <= best:
                break
        columns = float(size * np.max(self.widths, initial=0))
        return Best(best, self.names[chosen], factored * columns**2 * (GATHERED + columns))

    def above(self, size: int, bar: float, most: float = math.inf) -> Iterator[Some]:
        """All choices of `size` groups whose gain may be above `bar`, and some others."""
        if size == 0:
            yield Some(np.zeros((1, 0), dtype=np.int64), np.zeros(1), -math.inf)
        elif size == 1:
            yield Some(np.arange(len(self.names))[:, None], self.single, -math.inf)
        elif size == 2:
            sets = np.argwhere(self.pairs > bar)
            sets = sets[sets[:, 0] < sets[:, 1]]
            yield from self._factored(sets, self.pairs[sets[:, 0], sets[:, 1]])
        else:
            yield from self._factored(*self._triples(bar, most))

    def _greedy(self, size: int) -> tuple[float, Index]:
        """A choice of `size` groups to compare with, if they are two or more, and its gain."""
        every = np.arange(len(self.names))
        if size < 2:
            return -math.inf, every[:0]
        pair = divmod(int(np.argmax(self.pairs)), len(every))
        sets = np.array([pair])
        if size == 2 and self.alone:
            return float(self.pairs[pair]), sets[0]
        if size > 2:
            third = np.setdiff1d(every, sets[0])
            sets = np.column_stack((np.repeat(sets, len(third), axis=0), third))
        gains = self.gains(sets)
        place = int(np.argmax(gains))
        return float(gains[place]), sets[place]

    def _triples(self, bar: float, most: float) -> tuple[Index, Vector]:
        """Three groups that may gain more, and bounds of what they do.

        The first one is that with the largest gain alone; some of these are gone through at a time.
        """
        order = np.argsort(-self.single, kind="stable")
        count, ordered, single = len(order), np.ix_(order, order), self.single[order]
        after, root = self.after[ordered], 1.0 / np.sqrt(self.pivots[ordered])
        norm = np.sqrt(1.0 - self.pivots[ordered])
        found, entries, at = [(np.zeros((0, 3), dtype=np.int64), np.zeros(0))], 0, 0
        while at < count - 2:
            some = slice(at, min(at + max(1, AT_ONCE // (count - at) ** 2), count - 2))
            rest = slice(at + 1, count)
            need = bar - single[some]
            r, add = root[some, rest], after[some, rest]
            near = norm[some, rest] * r
            left = r[:, :, None] * r[:, None, :]
            left *= norm[rest, rest]
            left += near[:, :, None] * near[:, None, :]
            np.subtract(1.0 - self.slight, left, out=left)
            both = add[:, :, None] + add[:, None, :]
            # Where left is 0 or less, or no number, there is no bound.
            left *= np.where(need > 0.0, need, np.nan)[:, None, None]
            i, h, j = np.nonzero(~(both <= left))
            later = (i < h + 1) & (h < j)
            i, h, j = i[later], h[later], j[later]
            bounds = both[i, h, j] * need[i] / left[i, h, j]
            bounds = single[at + i] + np.where(bounds > 0.0, bounds, np.inf)
            found.append((order[np.column_stack((at + i, at + 1 + h, at + 1 + j))], bounds))
            entries, at = entries + len(bounds) * (3 * int(np.max(self.widths))) ** 2, some.stop
            if entries > most:
                raise TooMany
        triples, limits = zip(*found, strict=True)
        return np.concatenate(triples), np.concatenate(limits)

    def _factored(self, sets: Index, bounds: Vector) -> Iterator[Some]:
        """Choices with these bounds, the most promising first, and their gains."""
        order, at, count = np.argsort(-bounds), 0, 64
        most = max(1, TOGETHER // (3 * int(np.max(self.widths))) ** 2)
        while at < len(order):
            part = sets[order[at : at + count]]
            at, count = at + count, min(8 * count, most)
            left = float(bounds[order[at]]) if at < len(order) else -math.inf
            yield Some(part, self.gains(part), left)

    def gains(self, sets: Index) -> Vector:
        """The gains of choices, rounded up, by elimination; inf where a pivot is not positive."""
        width, size = int(np.max(self.widths[sets], initial=0)), len(sets)
        places = (self.starts[sets][:, :, None] + np.arange(width)).reshape(size, -1)
        absent = (np.arange(width) >= self.widths[sets][:, :, None]).reshape(size, -1)
        if absent.any():
            places = np.minimum(places, len(self.pull) - 1)
        matrix, pull = self.cross[places[:, :, None], places[:, None, :]], self.pull[places]
        if absent.any():
            matrix[absent[:, :, None] | absent[:, None, :]], pull[absent] = 0.0, 0.0
        for s in range(0, places.shape[1], width):
            matrix[:, s : s + width, s : s + width] = (1.0 - self.slight) * np.eye(width)
        gains = np.zeros(size)
        for j in range(places.shape[1]):
            pivot, column = matrix[:, j, j], matrix[:, j + 1 :, j]
            gains += np.where(pivot > 0.0, np.square(pull[:, j]) / pivot, np.inf)
            share = column / pivot[:, None]
            matrix[:, j + 1 :, j + 1 :] -= share[:, :, None] * column[:, None, :]
            pull[:, j + 1 :] -= share * pull[:, j, None]
        return np.where(np.isnan(gains), np.inf, gains) * (1.0 + self.slight)

    def _sums(self, values: Vector, axis: int) -> Vector:
        """Sums over the columns of each group, along an axis."""
        return values if self.alone else np.add.reduceat(values, self.starts, axis=axis)


def _solved(factors: Sequence[tuple[slice, Vector]], values: Vector) -> Vector:
    """What the factors of groups make of their rows, by substitution."""
    found = np.empty_like(values)
    for rows, factor in factors:
        old = values[rows].reshape(*factor.shape[:2], values.shape[1])
        new = found[rows].reshape(old.shape)
        for j in range(old.shape[1]):
            left = old[:, j]
            for i in range(j):
                left = left - factor[:, j, i, None] * new[:, i]
            np.divide(left, factor[:, j, j, None], out=new[:, j])
    return found
