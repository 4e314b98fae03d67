"""Groups: columns that are in a model together or not at all.

A group is known by its first column, its leader. What there is one number per group of (a length, a
gain, a price) stands at the leader's place in a vector of one number per column, and 0 stands at
the others': sums over features are then sums over groups, and where every column is a group of its
own nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector

Spread = TypeVar("Spread")

MANY = 1 << 14
"""Columns beyond this are looked up by a mask."""


class Groups:
    """A partition of columns.

    Parameters
    ----------
    leaders : array of int, optional
        For each column the first one of its group; None: every column stands alone.

    Examples
    --------
    >>> groups = sb.penalties.Groups(np.array([0, 0, 2]))
    >>> groups.heads.tolist(), groups.gather(np.array([1.0, 2.0, 4.0])).tolist()
    ([0, 2], [3.0, 0.0, 4.0])
    """

    def __init__(self, leaders: Index | None = None) -> None:
        if leaders is not None and np.array_equal(leaders, np.arange(len(leaders))):
            leaders = None
        self.leaders = leaders

    @property
    def single(self) -> bool:
        """Whether every column is a group of its own."""
        return self.leaders is None

    @property
    def size(self) -> int:
        """The number of columns, where they are not all single."""
        return 0 if self.leaders is None else len(self.leaders)

    @cached_property
    def lead(self) -> Any:
        """Which columns lead a group: a mask, or True for all."""
        if self.leaders is None:
            return np.True_
        return self.leaders == np.arange(len(self.leaders))

    @cached_property
    def heads(self) -> Index:
        """The columns that lead a group, where not all do."""
        return np.flatnonzero(self.lead)

    @cached_property
    def _order(self) -> tuple[Index | slice, Index]:
        """(order, starts): the columns group by group, and where groups start."""
        assert self.leaders is not None
        if np.all(self.leaders[1:] >= self.leaders[:-1]):
            return slice(None), self.heads
        order = np.argsort(self.leaders, kind="stable")
        return order, np.searchsorted(self.leaders[order], self.heads)

    @cached_property
    def _width(self) -> int:
        """How many columns every group has, where they lie side by side; 0: it is not so."""
        order, starts = self._order
        even = isinstance(order, slice) and self.largest * len(starts) == self.size
        return self.largest if even else 0

    @cached_property
    def alone(self) -> Any:
        """Which columns are a group of their own."""
        if self.leaders is None:
            return np.True_
        return np.bincount(self.leaders, minlength=len(self.leaders))[self.leaders] == 1

    @cached_property
    def largest(self) -> int:
        """The number of columns of the largest group."""
        if self.leaders is None:
            return 1
        return int(np.max(np.bincount(self.leaders), initial=1))

    @cached_property
    def sizes(self) -> Index:
        """The number of columns of each group, in the order of their leaders."""
        assert self.leaders is not None
        return np.diff(self._order[1], append=len(self.leaders))

    def gather(self, values: Vector) -> Vector:
        """The sum of each group, at its leader; 0 elsewhere. Columns are the last axis."""
        if self.leaders is None:
            return values
        return self.placed(self.sums(values))

    def sums(self, values: Vector) -> Vector:
        """The sum of each group, in the order of their leaders. Columns are the last axis."""
        if self.leaders is None:
            return values
        order, starts = self._order
        if len(starts) == 0:
            return np.asarray(values[..., starts])
        return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))

    def placed(self, sums: Vector) -> Vector:
        """One number per group at its leader, 0 elsewhere."""
        if self.leaders is None:
            return sums
        found = np.zeros((*sums.shape[:-1], len(self.leaders)), dtype=sums.dtype)
        found[..., self.heads] = sums
        return found

    def lengths(self, values: Vector) -> Vector:
        """The Euclidean length of each group, at its leader, of numbers that are 0 or more."""
        return self.placed(self.norms(values))

    def norms(self, values: Vector) -> Vector:
        """`lengths` without the zeros: one per group, in the order of their leaders."""
        if self.leaders is None:
            return values
        if self._width == 0:
            return np.sqrt(self.sums(np.square(values)))
        rows = values.reshape((*values.shape[:-1], len(self.heads), self._width))
        squares: Vector = np.vecdot(rows, rows)
        return np.sqrt(squares)

    def led(self, values: Spread) -> Spread:
        """Of one number per column those of the leaders; one number for all stays."""
        if self.leaders is None or not isinstance(values, np.ndarray):
            return values
        found: Any = values[..., self.heads]
        return cast(Spread, found)

    def first(self, groups: Index) -> Index:
        """The leaders of some groups, which are numbered in the order of these."""
        return groups if self.leaders is None else self.heads[groups]

    def spread(self, values: Spread) -> Spread:
        """The leader's number for each column of its group; one number for all stays."""
        if self.leaders is None or not isinstance(values, np.ndarray):
            return values
        found: Any = values[..., self.leaders]
        return cast(Spread, found)

    def least(self, values: Vector) -> Vector:
        """The smallest number of its group, for each column. Columns are the last axis."""
        if self.leaders is None:
            return values
        order, starts = self._order
        least = np.minimum.reduceat(values[..., order], starts, axis=-1)
        return np.asarray(self.spread(self.placed(least)))

    def whole(self, features: Index) -> Index:
        """All columns of the groups that some features belong to, in order."""
        if self.leaders is None:
            return features
        if len(features) > MANY:
            taken = np.zeros(len(self.leaders), dtype=np.bool_)
            taken[features] = True
            return np.flatnonzero(self.held(taken))
        order, starts = self._order
        chosen = np.searchsorted(self.heads, np.unique(self.leaders[features]))
        sizes = self.sizes[chosen]
        first = np.cumsum(sizes) - sizes
        places = np.arange(int(np.sum(sizes))) + np.repeat(starts[chosen] - first, sizes)
        return places if isinstance(order, slice) else np.sort(order[places])

    def held(self, features: Mask) -> Mask:
        """Which columns belong to the groups of some features, given as a mask."""
        if self.leaders is None:
            return np.asarray(features)
        taken = np.zeros(len(self.leaders), dtype=np.bool_)
        taken[self.leaders[features]] = True
        return np.asarray(taken[self.leaders])

    def by_size(self, features: Mask) -> Iterator[Index]:
        """Some features, a row per group, for one number of features per group after the other."""
        if self.leaders is None:
            return
        places = np.flatnonzero(features)
        places = places[np.argsort(self.leaders[places], kind="stable")]
        _, starts, counts = np.unique(self.leaders[places], return_index=True, return_counts=True)
        for size in np.unique(counts):
            yield places[starts[counts == size, None] + np.arange(size)]

    @cached_property
    def several(self) -> list[Index]:
        """The columns of groups of two and more, a row per group: one number of columns after the
        other, groups in the order of their leaders."""
        every = np.ones(self.size, dtype=np.bool_)
        return [members for members in self.by_size(every) if members.shape[1] > 1]

    def part(self, columns: Index | slice) -> Groups:
        """The groups of some columns, which are whole groups with their leaders first."""
        if self.leaders is None or (isinstance(columns, slice) and columns == slice(None)):
            return self
        own = self.leaders[columns]
        _, first, place = np.unique(own, return_index=True, return_inverse=True)
        return Groups(first[place])


SINGLE = Groups()
"""Every column is a group of its own."""
