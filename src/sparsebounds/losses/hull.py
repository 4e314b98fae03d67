"""Envelopes and suprema from values alone, for losses with |loss''| <= bound.

On a cell of width h the loss lies within bound h^2/8 of its chord. So the lower hull of values on a
grid, less that, is a convex lower bound; and t z - loss(y, z) exceeds its values at the ends of a
cell by at most that, which lets cells be discarded or halved until the supremum is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import U
from sparsebounds.losses.envelope import Envelope
from sparsebounds.losses.nonconvex import NonConvexLoss

CELLS = 512
"""Cells of the grid an envelope is made on."""

FIRST, LEVELS, ENOUGH, MOST = 64, 40, 1e-13, 500_000
"""Cells the search for a supremum starts with, the most halvings, its relative accuracy, and the
most cells that it keeps."""


@dataclass(frozen=True)
class HullEnvelope(Envelope):
    """A quadratic spline through the lower hull's slopes, shifted down by what is not known."""

    heights: Vector
    """The hull at the grid points, one row per sample."""

    shift: Vector

    @classmethod
    def on(
        cls, loss: NonConvexLoss, y: Vector, lo: Vector, hi: Vector, bound: float
    ) -> HullEnvelope:
        """The envelope on [lo, hi]."""
        grid = lo[:, None] + (hi - lo)[:, None] * (np.arange(CELLS + 1) / CELLS)
        values = loss.value(y[:, None], grid)
        heights = np.stack([_lower_hull(row) for row in values])
        h = (hi - lo) / CELLS
        # The spline rounds each corner off from above, by h/8 times the change of slope.
        corners = np.max(np.diff(heights, n=2, axis=1), axis=1) / 8.0
        rounding = 64.0 * U * np.max(loss.value_terms(y[:, None], grid), axis=1)
        shift = bound * h * h / 8.0 + np.maximum(corners, 0.0) + rounding
        return cls(loss, lo, hi, heights, shift)

    def inside(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        h = (self.hi - self.lo) / CELLS
        safe = np.where(h > 0.0, h, 1.0)
        place = np.clip((z - self.lo) / safe, 0.0, CELLS)
        # Between the middles of cells j and j + 1 the slope goes from one to the other.
        j = np.clip(np.floor(place - 0.5).astype(np.int64), 0, CELLS - 2)
        row = np.arange(len(self.lo))
        a, b, c = (self.heights[row, j + i] for i in range(3))
        first, last = b - a, c - b
        share = np.clip(place - (j + 0.5), 0.0, 1.0)
        past = place - (j + 0.5) - share  # the half cells at both ends of the box
        value = 0.5 * (a + b) + first * share + 0.5 * (last - first) * share**2
        slope = first + (last - first) * share
        value = value + slope * past - self.shift
        bend = np.where(past == 0.0, (last - first) / safe**2, 0.0)
        return value, slope / safe, bend


def supremum(
    loss: NonConvexLoss, y: Vector, t: Vector, lo: Vector, hi: Vector, bound: float
) -> tuple[Vector, Vector]:
    """A float at least sup of t z - loss(y, z) over [lo, hi], nearly attained; and its terms."""
    row = np.repeat(np.arange(len(y)), FIRST)
    width = np.repeat((hi - lo) / FIRST, FIRST)
    start = np.repeat(lo, FIRST) + width * np.tile(np.arange(FIRST), len(y))

    def at(i: Index, z: Vector) -> Vector:
        found: Vector = t[i] * z - loss.value(y[i], z)
        return found

    terms = np.abs(t) * np.maximum(np.abs(lo), np.abs(hi))
    terms = terms + loss.value_terms(y, lo) + loss.value_terms(y, hi)
    best = np.maximum(t * lo - loss.value(y, lo), t * hi - loss.value(y, hi))
    top = best.copy()
    for level in range(LEVELS):
        end = np.minimum(start + width, hi[row])
        left, right = at(row, start), at(row, end)
        ends = np.maximum(left, right)
        np.maximum.at(best, row, ends)
        # A few units in the last place wider: the ends are rounded.
        ceiling = ends + 0.126 * bound * width * width
        np.maximum.at(terms, row, loss.value_terms(y[row], end) + np.abs(t[row] * end))
        open_ = ceiling > best[row] + ENOUGH * terms[row]
        # Along a line of slope t no cell can be discarded: then enough is enough.
        last = level == LEVELS - 1 or np.count_nonzero(open_) > MOST
        done = np.ones_like(open_) if last else ~open_
        np.maximum.at(top, row[done], ceiling[done])
        if last or not np.any(open_):
            break
        row, start, width = row[open_], start[open_], 0.5 * width[open_]
        row = np.concatenate((row, row))
        start, width = np.concatenate((start, start + width)), np.concatenate((width, width))
    return np.maximum(best, top), terms


def _lower_hull(values: Vector) -> Vector:
    """The largest convex sequence below `values`, on a uniform grid."""
    kept: list[int] = []
    for j, value in enumerate(values.tolist()):
        while len(kept) > 1:
            i, m = kept[-2], kept[-1]
            if (values[m] - values[i]) * (j - i) >= (value - values[i]) * (m - i):
                kept.pop()
            else:
                break
        kept.append(j)
    return np.interp(np.arange(len(values)), kept, values[kept])
