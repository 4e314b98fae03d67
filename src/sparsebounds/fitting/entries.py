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

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.fitting.drafts import Drafted, Wanted, by_blocks
from sparsebounds.fitting.kinds import Kinds
from sparsebounds.losses import MeanLoss
from sparsebounds.matrices import Entries
from sparsebounds.program import Program


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

    @cached_property
    def mass(self) -> Vector:
        """The share of the rows of each kind."""
        found: Vector = np.bincount(self.kinds.kind, self.program.F.p).astype(np.float64)
        return found

    def rows(self, supports: Sequence[Index]) -> int:
        """How many rows a support is left with, at most."""
        longest = max((int(np.sum(self.counts[support])) for support in supports), default=0)
        return longest + len(self.kinds.values)

    def drafted(self, rows: int, wanted: Wanted) -> Drafted:
        """`fitting.drafted` for supports that are left with `rows` at most."""
        return by_blocks(self._block, rows, self.program.fit_intercept, wanted)

    def _block(self, places: Index, real: Mask) -> tuple[MeanLoss, Vector]:
        """The rows of each support that have an entry, then one per kind, and their data term."""
        F, kinds, entries = self.program.F, self.kinds, self.entries
        (count, size), n, few = places.shape, self.program.n, len(kinds.values)
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
        y, p = np.full((count, most + few), kinds.values[0]), np.zeros((count, most + few))
        y[who, slot], p[who, slot] = F.y[row], F.p[row]
        gone = np.bincount(who * few + kinds.kind[row], F.p[row], count * few)
        y[:, most:] = kinds.values
        p[:, most:] = np.maximum(self.mass - gone.reshape(count, few), 0.0)
        return MeanLoss(F.loss, y, p), A
