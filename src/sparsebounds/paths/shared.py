"""Lower bounds for the whole path from all of its dual vectors.

One dual vector a bounds the optimum of every budget at once. With R_j(a) the gain of the best j
features, S_j / (2 ridge) or sqrt(ball S_j),

    p(k)  >= c_a(k),              c_a(j) = -F*(a) - R_j(a)
    p(l0) >= min_j max_a [ c_a(j) + l0 j ]

because a support has exactly j features for one j, and R_j grows with j. Every a found anywhere on
the path is used at every point of it. c_a(k) is at least the tangent max_l0 [D(a; l0) - l0 k], as
S_k = min_l0 [l0 k + sum_i max(0, q_i - l0)]: tangents in k add nothing. A chord between the bounds
at two k's is no lower bound: p** is convex in k, and so lies below its chords.

Only c_a at the cells is kept of a vector: the budgets asked for; with prices 0, 1, ..., J - 1 and
"J or more", bounded by l0 J plus c_a at all features.

The bound of a point is rounded down to 44 bits: far below any tolerance, and far above what the
order of a sum can change, so that evaluating it again gives the same number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import down
from sparsebounds.bounds import (
    ROOT,
    WIDER,
    DualPoint,
    Node,
    budget_curve,
    fewest_ranges,
    floor,
    null_up,
)
from sparsebounds.certificates import Certificate, Leaf, leaf_claim
from sparsebounds.program import Program

MOST_CELLS = 4096
"""J at most."""

WORTH = 1e-9
"""Improvements below this, relative to the null objective, are not worth a pass over X."""


BITS = 44
"""Bits of a point's bound, the first being that of max(|bound|, |null|)."""


def coarse(program: Program, lower: float) -> float:
    """A bound rounded down to 44 bits, but not below the least loss."""
    scale = max(abs(lower), abs(program.null))
    grid = math.ldexp(1.0, math.frexp(scale)[1] - BITS) if math.isfinite(scale) else 0.0
    # Next to 0 there are no bits to round.
    rounded = math.floor(lower / grid) * grid if grid > 0.0 else lower
    return min(lower, max(rounded, floor(program, WIDER)))


class SharedBounds:
    """The dual vectors of a path, each with its curve c_a on the cells."""

    def __init__(self, program: Program, budgets: list[int] | None) -> None:
        """`budgets` are those of a path in k; None: a path in l0."""
        self._flat = program.with_budget(0)
        self._free = int(np.count_nonzero(program.free))
        self._worth = WORTH * max(abs(program.null), program.rounding)
        self._by_price = budgets is None
        last = min(self._free, MOST_CELLS)
        cells = range(last + 1) if budgets is None else [min(k, self._free) for k in budgets]
        self._cells = np.array(cells, dtype=np.int64)
        self.duals: list[Vector] = []
        self.curves: list[Vector] = []
        """c_a of each dual vector on the cells, by which leaves are chosen.

        The leaves' bound is then evaluated from the vectors themselves (`better`), so these may
        come from a file.
        """

        self._proved: list[Vector] = []
        """The same, but where they come from a file no more than the data prove: `lower` rests on
        them alone."""

    def add(self, point: DualPoint) -> None:
        """One more dual vector."""
        curve = self.curve(point)
        self.restore([point.t], [curve], [curve])

    def curve(self, point: DualPoint) -> Vector:
        """c_a on the cells."""
        curve = budget_curve(self._flat, point)
        values = curve[self._cells]
        if self._by_price:
            values[-1] = curve[-1]
        return values

    def restore(
        self, duals: Sequence[Vector], curves: Sequence[Vector], proved: Sequence[Vector]
    ) -> None:
        """Dual vectors of a walk that is taken up, and what is proved of their curves."""
        self.duals += duals
        self.curves += curves
        self._proved += proved

    def lower(self, program: Program) -> float:
        """The best bound for a program of the path."""
        return float(np.min(np.max(self._bounds(program, self._proved), axis=0)))

    def better(self, program: Program, known: Certificate) -> Certificate:
        """The certificate, with a better proof if all dual vectors together give it."""
        bounds = self._bounds(program, self.curves)
        if not np.min(np.max(bounds, axis=0)) > known.lower + self._worth:
            return known
        duals: list[int] = []
        leaves = []
        for low, high, row in fewest_ranges(bounds):
            if row not in duals:
                duals.append(row)
            node = ROOT
            if self._by_price:
                last = high == len(self._cells) - 1
                node = Node(low=low, high=self._free if last else high)
            leaves.append(Leaf(node, duals.index(row)))
        vectors = tuple(self.duals[row] for row in duals)
        lower = leaf_claim(program, vectors, leaves)
        if not lower > known.lower:
            return known
        return replace(known, lower=lower, duals=vectors, leaves=tuple(leaves), tree=None)

    def _bounds(self, program: Program, curves_of: Sequence[Vector]) -> Vector:
        """One row per dual vector; one column for a budget, or one per cell for a price."""
        curves = np.stack(curves_of)
        if program.k is not None:
            # Budgets beyond all features ask no more than all of them.
            place = int(np.searchsorted(self._cells, min(program.k, self._free)))
            return curves[:, place : place + 1]
        assert isinstance(program.l0, float)
        with np.errstate(invalid="ignore"):
            bounds = down(curves + down(program.l0 * self._cells))
        return np.minimum(bounds, null_up(program))
