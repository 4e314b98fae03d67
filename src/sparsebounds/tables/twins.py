"""Twins: columns of X that say the same, up to shift, scale, sign and the last digits.

A model gains nothing by the second of two such columns, but shares its coefficient between them,
and a bound cannot tell them apart. That is so with an intercept, standardized columns, and
coefficients of either sign; other problems ask for more likeness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.tables.sketch import Sketch

COPY = 1e-6
"""1 - |r| up to this, r the correlation: a copy, of which three digits at least are the same."""

ALIKE = 1e-3
"""1 - |r| up to this: columns that are named, and stay."""

MANY = 20_000
"""Columns beyond which only copies are looked for."""

TOP = 20
"""Columns are alike without one row in so many, too, those where they are farthest from their mean:
one cell that two columns share does not make them say the same."""

OFF = 2e-3
"""What means and lengths of copies may differ by, in standard deviations and relatively."""

REACH = 36.0
"""A chi^2 of `DIMENSIONS` degrees of freedom that one pair in ten thousand exceeds."""


@dataclass(frozen=True)
class Likeness:
    """What columns may differ in and say the same to a problem."""

    shift: bool = True
    scale: bool = True
    sign: bool = True

    def copies(self, sketch: Sketch, column: int, others: Index) -> Index:
        """Those of some columns that say the same as another one."""
        if not len(others):
            return others
        own, beside = sketch.centred(column), sketch.centred(others)
        r = beside.T @ own
        size = sketch.length[others] / sketch.length[column]
        same = 1.0 - np.abs(r) <= COPY
        if not self.sign:
            same &= r > 0.0
        if not self.scale:
            same &= np.abs(size - 1.0) <= OFF
        if not self.shift:
            away = sketch.mean[others] - np.sign(r) * size * sketch.mean[column]
            same &= np.abs(away) * np.sqrt(len(own)) <= OFF * sketch.length[others]
        most = np.argsort(-np.abs(own), kind="stable")[: max(1, len(own) // TOP)]
        own, beside = np.delete(own, most), np.delete(beside, most, axis=0)[:, same]
        own, beside = own - own.mean(), beside - beside.mean(axis=0)
        inner, lengths = beside.T @ own, np.einsum("ij,ij->j", beside, beside)
        # Where nothing but rounding is left of one, it may not be left of the other.
        left, least = float(own @ own), 1e-20
        still = np.abs(inner) >= (1.0 - ALIKE) * np.sqrt(lengths * left)
        flat = np.maximum(lengths, left) <= least
        found: Index = others[same][flat | (still & (np.minimum(lengths, left) > least))]
        return found


USUAL = Likeness()


@dataclass(frozen=True)
class Twins:
    """Which columns are copies of which, and which are nearly so."""

    first: Index
    """For each column the first one that it is a copy of; itself where there is none before it."""

    alike: tuple[tuple[int, int, float], ...]
    """Pairs of other columns with their correlations."""

    @classmethod
    def of(cls, sketch: Sketch, likeness: Likeness) -> Twins:
        """Copies are found first; of what is left each column is compared with its nearest."""
        m = sketch.X.shape[1]
        usable = np.isfinite(sketch.length)
        first = np.arange(m)
        near = _Nearest(sketch.marks, usable, COPY)
        for j in near.columns.tolist():
            if first[j] != j:
                continue
            others = near.around(j)
            others = others[(others > j) & (first[others] == others)]
            first[likeness.copies(sketch, j, others)] = j
        left = usable & (first == np.arange(m))
        pairs = {}
        near_pairs = _Nearest(sketch.marks, left, ALIKE).pairs() if m <= MANY else ()
        for i, j in near_pairs:
            r = float(sketch.centred(i) @ sketch.centred(j))
            if 1.0 - abs(r) <= ALIKE:
                pairs[i, j] = r
        return cls(first, tuple((i, j, r) for (i, j), r in sorted(pairs.items())))


class _Nearest:
    """Columns whose marks, or these with the other sign, are near to others'."""

    def __init__(self, marks: Vector, usable: Mask, apart: float) -> None:
        from scipy.spatial import KDTree

        self.places = np.flatnonzero(usable)
        points = marks[self.places]
        self.marks, self.radius = marks, float(np.sqrt(2.0 * apart * REACH))
        both = np.vstack((points, -points)) if len(points) else np.zeros((1, marks.shape[1]))
        # Equal points would make a balanced tree slow.
        self.tree = KDTree(both, balanced_tree=False, compact_nodes=False)
        found = self.tree.query(points, k=2, distance_upper_bound=self.radius)
        far, self.at = (np.asarray(part) for part in found)
        self.some = np.isfinite(far[:, 1])

    @property
    def columns(self) -> Index:
        """Those that have a neighbour."""
        return np.asarray(self.places[self.some])

    def around(self, column: int) -> Index:
        """The neighbours of a column, and itself."""
        found = self.tree.query_ball_point(self.marks[column], self.radius)
        return np.asarray(self.places[np.unique(np.asarray(found) % len(self.places))])

    def pairs(self) -> set[tuple[int, int]]:
        """Each column that has a neighbour with the nearest one."""
        found = set()
        for own, near in zip(np.flatnonzero(self.some), self.at[self.some], strict=True):
            others = [i for i in (near % len(self.places)).tolist() if i != own]
            for other in others[:1]:
                i, j = sorted((int(self.places[own]), int(self.places[other])))
                found.add((i, j))
        return found
