"""Rows that agree on a support are one row: columns of few values, such as dummies and marks.

A support of ten dummies meets a few hundred patterns, however many rows there are. The patterns of
a support are those of the support without its last feature, divided by the values of that one.
Supports that begin alike share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.fitting.kinds import Kinds
from sparsebounds.losses import MeanLoss

MEMORY = 1 << 25
"""Bytes of patterns that are kept."""


class Pattern(NamedTuple):
    """The patterns of a support."""

    of: Index
    """That of each row."""

    first: Index
    """A row of each."""


class Patterns:
    """Which rows agree on supports, where these have `most` patterns at most."""

    def __init__(self, columns: Vector, most: int) -> None:
        """`columns` has one per row."""
        self._columns, self._most = columns, most
        self._kinds: dict[int, Kinds | None] = {}
        self._known: dict[tuple[int, ...], Pattern | None] = {}

    def of(self, supports: Index) -> list[Pattern] | None:
        """Those of supports, one per row; None where one of them has too many."""
        if any(self._kinds_of(place) is None for place in np.unique(supports).tolist()):
            return None
        found = []
        for support in supports.tolist():
            pattern = self._pattern(support)
            if pattern is None:
                return None
            found.append(pattern)
        return found

    def _kinds_of(self, place: int) -> Kinds | None:
        if place not in self._kinds:
            self._kinds[place] = Kinds.of(self._columns[place])
        return self._kinds[place]

    def _pattern(self, support: list[int]) -> Pattern | None:
        n = self._columns.shape[1]
        if len(self._known) * n * np.dtype(np.intp).itemsize > MEMORY:
            self._known.clear()
        pattern = Pattern(np.zeros(n, dtype=np.intp), np.zeros(1, dtype=np.intp))
        for size, place in enumerate(support, 1):
            key = tuple(support[:size])
            if key not in self._known:
                self._known[key] = self._divided(pattern, place)
            found = self._known[key]
            if found is None:
                return None
            pattern = found
        return pattern

    def _divided(self, pattern: Pattern, place: int) -> Pattern | None:
        """Patterns divided by the values of a column; None where they are too many then."""
        kinds = self._kinds_of(place)
        assert kinds is not None
        few, n = len(kinds.values), len(pattern.of)
        part = pattern.of * few + kinds.kind
        row = np.full(len(pattern.first) * few, -1)
        row[part] = np.arange(n)
        met = np.flatnonzero(row >= 0)
        if len(met) > self._most:
            return None
        number = np.empty(len(row), dtype=np.intp)
        number[met] = np.arange(len(met))
        return Pattern(number[part], row[met])


def merged(
    F: MeanLoss, responses: Kinds, columns: Vector, supports: Index, patterns: Sequence[Pattern]
) -> tuple[MeanLoss, Vector]:
    """The data term and the columns of supports whose rows are one per pattern and response.

    F and `responses` have a row per support.
    """
    (count, size), few = supports.shape, len(responses.values)
    most = max(len(pattern.first) for pattern in patterns)
    A, p = np.zeros((count, size, most, few)), np.zeros((count, most, few))
    for i, (of, first) in enumerate(patterns):
        A[i, :, : len(first)] = columns[supports[i][:, None], first][:, :, None]
        masses = np.bincount(of * few + responses.kind[i], F.p[i], len(first) * few)
        p[i, : len(first)] = masses.reshape(len(first), few)
    y = np.tile(responses.values, (count, most))
    rows = most * few
    return MeanLoss(F.loss, y, p.reshape(count, rows)), A.reshape(count, size, rows)
