"""Drafts on columns of a tall matrix, which are not copied: a step is one pass over them.

A block of rows is read once for all supports. What is kept of a point are the sums that the next
step is made of, not predictions. Where a step is the last one, what it gains is half its decrement,
up to rounding: that saves a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.fitting.drafts import Drafted, Steps, Sums, Wanted, bends, padded
from sparsebounds.losses import MeanLoss
from sparsebounds.matrices import Matrix
from sparsebounds.program import Program

SETTLED, HOPE = 1e-7, 1.0
"""The decrement before the last step, relative to the objective: what the step gains is known to
the power 3/2 of it. And what may be left to gain, in decrements."""

FEW = 2
"""Supports whose own curvature is formed at once: they are sure to need it."""


class Bends(NamedTuple):
    """Second derivatives of the loss on some columns: those of the best intercept, the weighted
    means of the columns, and the sum of the weights."""

    hessian: Vector
    mean: Vector
    mass: float


@np.errstate(all="ignore")
def streamed(
    program: Program, matrix: Matrix, wanted: Wanted, near: Bends | None = None
) -> Drafted:
    """`drafted` for supports that are places in a tall matrix.

    Where there are `near` derivatives the first step is theirs. It tells most supports to be
    hopeless, and their own would take as long as the rest.
    """
    ridges, supports, w, b, limit = wanted
    places, real = padded(supports, max(1, max(map(len, supports), default=1)))
    columns, scale = matrix.unscaled
    unit = np.where(real, scale[places], 1.0)
    own, inner = np.where(real, ridges[places], 1.0) * unit**2, w[:, : places.shape[1]] / unit
    first = None
    if near is not None and len(supports) > FEW:
        c = np.where(real, near.mass * near.mean[places], 0.0) * unit
        H = near.hessian[places[:, :, None], places[:, None, :]]
        H = np.where(real[:, :, None] & real[:, None, :], H, 0.0)
        H = H * unit[:, :, None] * unit[:, None, :] + c[:, :, None] * c[:, None, :] / near.mass
        first = _rows_of(H, c, near.mass)
    stream = _Stream(program.F, program.fit_intercept, columns, supports, own, inner, b, first)
    found = stream.run(limit)
    return replace(found, w=found.w * unit)


class _Stream(Steps):
    """What is kept of a support at a point: H, g, c, mass and slope, in one row."""

    settled, hope = SETTLED, HOPE

    def __init__(
        self,
        F: MeanLoss,
        intercept: bool,
        matrix: Matrix,
        supports: Sequence[Index],
        ridges: Vector,
        w: Vector,
        b: Vector,
        first: Vector | None,
    ) -> None:
        self.F, self.matrix, self.supports, self.first = F, matrix, supports, first
        super().__init__(intercept, ridges, w, b)
        self.first, self.own = None, first is None
        """`own`: whether steps are by the supports' own derivatives."""

    def at(self, some: Index, w: Vector, b: Vector) -> tuple[Vector, Vector]:
        size, supports = self.ridges.shape[1], [self.supports[i] for i in some]
        used = np.unique(np.concatenate(supports))
        inside = [np.searchsorted(used, support) for support in supports]
        kept = np.zeros((len(some), size**2 + 2 * size + 2)) if self.first is None else self.first
        sums, value = _sums_in(kept, size), np.zeros(len(some))
        every, slopes = np.zeros((len(some), len(used))), np.zeros((len(some), len(used)))
        for i, places in enumerate(inside):
            every[i, places] = w[i, : len(places)]
        for rows, block in self.matrix.row_blocks(used):
            F, z = self.F.within(rows), every @ block.T
            z += b[:, None]
            value += F.values(z)
            a = F.gradient(z)
            slopes += a @ block
            sums.slope[:] += np.sum(a, axis=1)
            if self.first is None:
                bend = bends(F, z)
                sums.mass[:] += np.sum(bend, axis=1)
                for i, places in enumerate(inside):
                    columns, count = block.take(places, axis=1), len(places)
                    sums.c[i, :count] += bend[i] @ columns
                    sums.H[i, :count, :count] += (columns * bend[i][:, None]).T @ columns
        for i, places in enumerate(inside):
            sums.g[i, : len(places)] = slopes[i, places]
        return kept, value + 0.5 * np.einsum("ij,ij,ij->i", self.ridges[some], w, w)

    def sums(self, some: Index) -> Sums:
        return _sums_in(self.kept[some], self.ridges.shape[1])

    def limits(self, limit: Vector) -> Vector:
        # The best of them by now is what others have to beat.
        best = float(np.fmax.reduce(np.where(np.isfinite(limit), limit - self.value, 0.0)))
        return limit - max(best, 0.0)

    def ended(self, left: Index, step: Vector, rise: Vector, last: Vector) -> Mask:
        near, self.own = np.isfinite(last) & self.own, True
        self.w[left[near]] += step[near]
        self.b[left[near]] += rise[near]
        self.value[left[near]] -= 0.5 * last[near]
        return near


def _rows_of(H: Vector, c: Vector, mass: float) -> Vector:
    """Such rows, without slopes."""
    count, size = c.shape
    kept = np.zeros((count, size**2 + 2 * size + 2))
    sums = _sums_in(kept, size)
    sums.H[:], sums.c[:], sums.mass[:] = H, c, mass
    return kept


def _sums_in(kept: Vector, size: int) -> Sums:
    """The parts of such rows."""
    H, rest = kept[:, : size**2].reshape(len(kept), size, size), kept[:, size**2 :]
    return Sums(H, rest[:, :size], rest[:, size:-2], rest[:, -2], rest[:, -1])
