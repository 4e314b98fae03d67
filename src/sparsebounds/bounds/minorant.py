"""A small program whose objective lies below that of a larger one, for every model.

For the squared loss, with the intercept minimised out, F(w) = w.Q w/2 - c.w + kappa. Let D be a
diagonal and R a matrix of few rows with Q - D - R^T R >= spare U^-2 (U a diagonal of units), and s
a vector of as many rows. With r = c - R^T s

    F(w) - |R w - s|^2/2 - w.D w/2  >=  kappa - |s|^2/2 - sum_j (u_j r_j)^2 / (2 spare)  =  base

for every w, because w.(spare U^-2) w/2 - r.w is at least the last sum. So

    optimum  >=  base + optimum of the program with data (R, s) and the ridge  ridge + D,

which has as many rows as features, no intercept, and a larger ridge: its relaxation is tighter and
cheaper. A ball |w|^2 <= ball counts by a multiplier eta >= 0 as the ridge eta, and - eta ball/2.
Features may be left out first, where it is proved that no good model has them. For other losses all
this holds on a region of good models (`bounds.region`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import TINY, gamma, norm_up
from sparsebounds.bounds.curvature import Curvature
from sparsebounds.bounds.dual import WIDER
from sparsebounds.bounds.many import MORE
from sparsebounds.bounds.region import Region
from sparsebounds.groups import Stated
from sparsebounds.program import Program


def own_ridges(program: Program, eta: float) -> Vector:
    """The ridge of each feature; the multiplier of the ball, where there is one."""
    return program.ridges if program.ball is None else np.full(program.m, eta)


def posed_on(program: Program, factor: Vector, target: Vector, **size: Any) -> Program:
    """What a program asks of its features, asked of other rows, without an intercept.

    `size` is a ridge or a ball.
    """
    problem = program.problem
    size["groups"] = Stated(problem.groups)
    return Program(
        factor,
        target,
        k=problem.k,
        l0=problem.l0,
        positive=program.positive,
        always=problem.always.tolist(),
        never=problem.never.tolist(),
        **size,
    )


@dataclass(frozen=True, eq=False)
class Minorant:
    """The data of the small program: R times the root of its number of rows, s, and the ridge."""

    factor: Vector = field(repr=False)
    """Its columns: one per feature."""

    target: Vector = field(repr=False)
    """Its response."""

    ridge: Vector = field(repr=False)
    """ridge + D (or eta + D), one per feature, > 0."""

    eta: float = 0.0
    """The multiplier of the ball; 0 where there is none."""

    region: Region | None = field(default=None, repr=False)
    """Where it is a minorant: the region of the models up to a level; None: everywhere."""

    @property
    def level(self) -> float:
        """It says nothing about models beyond this."""
        return math.inf if self.region is None else self.region.level

    def curvature(self, reduced: Program, t: Vector, *, claim: bool = False) -> Curvature | None:
        """The curvature that it is below, of the larger program; None where there is none.

        t is a dual vector per sample, which a region needs.
        """
        if self.region is None:
            return Curvature(reduced)
        return self.region.curvature(reduced, t, claim=claim)

    def program(self, reduced: Program) -> Program:
        """The small program in the place of `reduced`, the larger one on the same features."""
        return posed_on(reduced, self.factor, self.target, ridge=self.ridge)

    def base(self, curvature: Curvature, *, claim: bool = False, proof: bool = True) -> float:
        """What is to be added to the small program's values; -inf where it is no minorant.

        `curvature` is that of the larger program. With `claim`, it leaves the room for rounding
        that claims do (`bounds.dual`). Without `proof` it is taken on trust that it is a minorant.
        """
        program, wider = curvature.program, WIDER if claim else 1.0
        own = own_ridges(program, self.eta)
        fits = self.ridge.shape == (program.m,) and self.factor.shape == (program.m, program.m)
        if not (fits and curvature.sound and self.eta >= 0.0 and np.all(self.ridge > 0)):
            return -math.inf
        live, d = np.arange(program.m), np.nextafter(self.ridge - own, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            unit = curvature.units(live, d)
            spare = curvature.room(live, d, unit)
            root = self.factor / math.sqrt(len(self.factor))
            if proof and not curvature.exceeds(live, d, (wider + 1.0) * spare, root):
                return -math.inf
            base = self._base(curvature, unit, spare, wider)
        return -math.inf if math.isnan(base) else base

    def _base(self, curvature: Curvature, unit: Vector, spare: float, wider: float) -> float:
        program, rows = curvature.program, len(self.factor)
        kappa, slope, unsure = curvature.linear(wider)
        inner = self.factor.T @ self.target / rows
        lengths = np.sqrt(np.sum(np.square(self.factor), axis=0) / rows) * MORE
        half = norm_up(self.target / math.sqrt(rows)) * MORE
        left = np.abs(slope - inner) + unsure + wider * 8.0 * gamma(rows + 16) * lengths * half
        lost = float(np.sum(np.square(unit * left))) * MORE / (2.0 * spare)
        gained = 0.5 * half * half * MORE
        if program.ball is not None:
            lost += 0.5 * self.eta * program.ball
        total = abs(kappa) + gained + lost
        return kappa - gained - lost - wider * 2.0**-48 * total - TINY
