"""Drafts on sparse columns: rows in which a support has no entry are alike.

A column has one value, 0 or what centring and scaling make of it, in all rows but those of its
entries. Of the rows in which no column of a support has an entry, those with one response are one
row with all their shares. A loss of few responses, such as one for classes, therefore has little
more rows than the columns have entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.fitting.drafts import Drafted, Wanted, by_blocks
from sparsebounds.losses import MeanLoss
from sparsebounds.matrices import Entries
from sparsebounds.program import Program

KINDS, GLANCE = 16, 1000
"""Responses that are few, and rows that show whether they are."""


@dataclass(frozen=True)
class Kinds:
    """The responses of a program that has few, and rows and shares of each."""

    y: Vector
    kind: Index
    """Of each row."""

    mass: Vector
    """The share of each kind."""

    @classmethod
    def of(cls, F: MeanLoss) -> Self | None:
        """Those of a data term; None where rows differ in more than few responses."""
        if F.offset is not None or len(np.unique(F.y[:GLANCE])) > KINDS:
            return None
        y, kind = np.unique(F.y, return_inverse=True)
        mass: Vector = np.bincount(kind, F.p).astype(np.float64)
        return None if len(y) > KINDS else cls(y, kind, mass)


@dataclass(frozen=True)
class ByEntries:
    """Columns of a program by their entries."""

    program: Program
    entries: Entries
    kinds: Kinds

    @cached_property
    def counts(self) -> Index:
        """The number of entries of each column."""
        return np.diff(self.entries.ends)

    def rows(self, supports: Sequence[Index]) -> int:
        """How many rows a support is left with, at most."""
        longest = max((int(np.sum(self.counts[support])) for support in supports), default=0)
        return longest + len(self.kinds.y)

    def drafted(self, rows: int, wanted: Wanted) -> Drafted:
        """`fitting.drafted` for supports that are left with `rows` at most."""
        return by_blocks(self._block, rows, self.program.fit_intercept, wanted)

    def _block(self, places: Index, real: Mask) -> tuple[MeanLoss, Vector]:
        """The rows of each support that have an entry, then one per kind, and their data term."""
        F, kinds, entries = self.program.F, self.kinds, self.entries
        (count, size), n, few = places.shape, self.program.n, len(kinds.y)
        lengths = np.where(real, self.counts[places], 0)
        each, starts = lengths.ravel(), entries.ends[places].ravel()
        at = np.arange(np.sum(each)) + np.repeat(starts - np.cumsum(each) + each, each)
        owner = np.repeat(np.arange(count), np.sum(lengths, axis=1))
        column = np.repeat(np.tile(np.arange(size), count), each)
        filled, place = np.unique(owner * n + entries.rows[at], return_inverse=True)
        who, row = np.divmod(filled, n)
        slot = np.arange(len(who)) - np.searchsorted(who, np.arange(count))[who]
        most = int(np.max(slot, initial=-1)) + 1
        A = np.empty((count, size, most + few))
        A[:] = np.where(real, entries.rest[places], 0.0)[:, :, None]
        A[owner, column, slot[place]] = entries.values[at]
        y, p = np.full((count, most + few), kinds.y[0]), np.zeros((count, most + few))
        y[who, slot], p[who, slot] = F.y[row], F.p[row]
        gone = np.bincount(who * few + kinds.kind[row], F.p[row], count * few)
        y[:, most:] = kinds.y
        p[:, most:] = np.maximum(kinds.mass - gone.reshape(count, few), 0.0)
        return MeanLoss(F.loss, y, p), A
