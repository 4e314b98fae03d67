"""Which diagonal to move from the loss into the ridge at a node, and the bound that it gives.

With M the Gram matrix on the features left (in-features lend their ridge), 1/diag(M^-1) are the
conditional variances of the open features: the most that each alone could give. They are taken in
proportions that favour the features the relaxation is undecided about, as much as keeps M - diag(d)
positive definite (a power iteration, checked by a factorisation). The relaxation with the larger
ridge is then solved as any other. It pays where few features are left, and on data of full rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas, lapack

from sparsebounds._support.array import Mask, Vector
from sparsebounds.bounds import KEPT, Curvature, GramBounds, States, full_shift
from sparsebounds.certificates import Shift
from sparsebounds.exact.bounder import SETTLED, Bounder
from sparsebounds.program import Program
from sparsebounds.relaxation import newton

if TYPE_CHECKING:
    from sparsebounds.relaxation import GramPart

FEW = 0.5
"""Shifts are tried where the features left are fewer than this part of the number of rows."""

LITTLE = 0.1
"""Nodes with less to prove than this part of a feature's price are left to splitting."""

EVEN = 0.2
"""The share of its conditional variance that a decided feature gives, next to an undecided one."""

SPARED = 1e-3
"""The part of the largest shift that is kept back, so that rounding cannot make it too large."""

NEARLY = 1e-8
"""A pivot this small next to its diagonal entry is that of a singular matrix."""

PATIENCE = 12
"""Failures in excess of twice the successes after which no shift is tried any more."""


class DiagonalSearch:
    """Finds the shifts that close nodes of one search, as long as that pays."""

    def __init__(self, program: Program, curvature: Curvature | None) -> None:
        self.program = program
        self.failures = 0
        self._proofs = None if curvature is None else GramBounds(program, curvature, claim=True)

    def worthwhile(self, count: int, slack: float) -> bool:
        """Whether to try with so many features left and so many prices to prove."""
        few = 0 < count < FEW * self.program.n
        return few and slack > LITTLE and self.failures <= PATIENCE

    def learn(self, closed: bool) -> None:
        """Take note of a success or a failure."""
        self.failures = max(self.failures - 2, -PATIENCE) if closed else self.failures + 1

    def close(
        self,
        bounder: Bounder,
        smooth: GramPart,
        state: States,
        w: Vector,
        u: Vector,
        cutoff: float,
        upper: float,
    ) -> tuple[Shift, float] | None:
        """A shift and its bound, if that is proved to reach the cutoff."""
        assert self._proofs is not None
        live = np.flatnonzero(state >= 0)
        inside, ridge = state[live] > 0, self.program.ridges[live]
        lent = np.where(inside, (1.0 - KEPT) * ridge, 0.0)
        matrix = smooth.curbed(live, -lent).gram
        shift = _diagonal(matrix.T, ~inside, w[live], u[live])
        if shift is None:
            return None
        diagonal = np.zeros(self.program.m)
        diagonal[live[~inside]] = shift
        d = full_shift(self.program, state, diagonal)[live]
        part = smooth.curbed(live, d)
        penalty = bounder.penalty(state, features=live).with_ridge(ridge + d)

        def enough(value: float, dual: float) -> bool:
            # No bound can exceed the value: where that is below the cutoff, the node stays open.
            settled = value - dual <= SETTLED * min(upper - dual, bounder.price)
            return dual >= cutoff or value < cutoff or settled

        found = newton(
            part,
            penalty,
            part.at(np.where(state < 0, 0.0, w)[live], 0.0),
            1e-13 * bounder.scale,
            bounder.scale,
            most_steps=40,
            enough=enough,
        )
        bounder.steps += found.steps
        if found.dual < cutoff:
            return None
        best = np.zeros(self.program.m)
        best[live] = found.best.w
        proved = self._proofs.bound(state, best, diagonal)
        return (Shift.of(best, diagonal), proved) if proved >= cutoff else None


def _diagonal(matrix: Vector, opened: Mask, w: Vector, u: Vector) -> Vector | None:
    """The shift of the open features; None where the matrix, in Fortran order, is near singular."""
    size = np.diagonal(matrix)
    if not opened.any() or np.any(size <= 0.0):
        return None
    factor, failed = lapack.dpotrf(matrix, lower=1)
    if failed or float(np.min(np.square(np.diagonal(factor)) / size)) < NEARLY:
        return None
    inverse, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        return None
    undecided = np.zeros(len(w))
    some = opened & (u > 0.0)
    undecided[some] = np.square(w[some]) * (1.0 / np.fmax(u[some], 1e-9) - 1.0)
    most = float(np.max(undecided))
    share = np.minimum(1.0, undecided / most + EVEN) if most > 0.0 else np.ones(len(w))
    variance = np.where(opened, share / np.diagonal(inverse), 0.0)
    root = np.sqrt(variance)
    vector = opened.astype(np.float64)
    for _ in range(8):
        vector = root * blas.dsymv(1.0, inverse, root * vector, lower=1)
        largest = float(np.linalg.norm(vector))
        vector /= largest
    for part in (0.97, 0.9, 0.7, 0.4):
        trial = np.array(matrix, order="F")
        np.einsum("ii->i", trial)[:] -= part / largest * variance
        if lapack.dpotrf(trial, lower=1, overwrite_a=1)[1] == 0:
            kept: Vector = (1.0 - SPARED) * part / largest * variance[opened]
            return kept
    return None
