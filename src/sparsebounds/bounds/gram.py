"""A stronger bound for the squared loss: part of its curvature moved into the ridge.

On the features L that a node leaves (in, or open) the loss is w.G w/2 - c.w + constant, G the
Gram matrix of their columns. For a diagonal d with G - diag(d) positive semidefinite

    F(Xw) + sum ridge_i/2 w_i^2  =  [F(Xw) - sum d_i/2 w_i^2]  +  sum (ridge_i + d_i)/2 w_i^2,

the bracket is convex, and the larger ridge gives the relaxation less to gain. Its gradient at
coefficients w is g = X^T a - d w, a = F'(Xw), so that for every support of the node

    optimum >= -F*(a) + sum d_i w_i^2 / 2 - (the largest gain of a support, from g and ridge + d).

Features that are in have no relaxation to tighten: they lend their own ridge to G (d_i < 0), but
for a part that keeps the bound finite. Positive semidefinite is proved by a Cholesky factorisation
of G - diag(d) - c I in floating point, c larger than every rounding (Rump, 2006).
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import TINY, gamma, norm_up, sum_up, up
from sparsebounds.bounds.curvature import Curvature
from sparsebounds.bounds.dual import (
    GRAIN,
    WIDER,
    charged_conjugate,
    floor,
    lowered,
)
from sparsebounds.bounds.lower import best_sum_up, gathered_up
from sparsebounds.bounds.many import MORE, States
from sparsebounds.bounds.repair import repair
from sparsebounds.program import Program

KEPT = 0.1
"""The part of its ridge that a feature keeps when it is in."""


def full_shift(program: Program, state: States, shift: Vector) -> Vector:
    """The diagonal d: `shift` on the open features, what is lent on those that are in, else 0."""
    lent = -(1.0 - KEPT) * program.ridges
    diagonal: Vector = np.where(state > 0, lent, np.where(state == 0, shift, 0.0))
    return diagonal


class GramBounds:
    """Such bounds for the nodes of one program. Pass its curvature where that is at hand.

    With `claim`, bounds leave the room for rounding that claims do (`bounds.dual`).
    """

    def __init__(
        self, program: Program, curvature: Curvature | None = None, *, claim: bool = False
    ) -> None:
        self.program = program
        self._claim, self._wider = claim, WIDER if claim else 1.0
        self.curvature = Curvature(program) if curvature is None else curvature

    def bound(self, state: States, w: Vector, shift: Vector) -> float:
        """A proved lower bound over the supports of a node; -inf where the shift is too large.

        `w` are any coefficients that are 0 for features that are out; `shift` is at least 0 on the
        open features.
        """
        program = self.program
        live = np.flatnonzero(state >= 0)
        d = full_shift(program, state, shift)[live]
        ridge = program.ridges[live] + d
        ridge = ridge - 2.0**-50 * (program.ridges[live] + np.abs(d))
        possible = Curvature.known(program) and program.ball is None
        if not possible or np.any(ridge <= 0.0) or not self._convex(live, d):
            return -math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            conjugate, ceiling, scores, radius = self._dual(live, w)
            pull = scores - d * w[live]
            radius = radius + 2.0**-50 * (np.abs(scores) + np.abs(d * w[live]))
            radius = self._wider * radius
            signed = np.where(program.positive[live], -pull, np.abs(pull))
            reach = np.maximum(signed + radius * MORE, 0.0)
            price = program.prices[live] * (1.0 - 2.0**-50)
            groups = program.groups.part(live)
            gains = gathered_up(np.square(reach) / (2.0 * ridge) * MORE, groups) - price
            inside, opened = state[live] > 0, (state[live] == 0) & groups.lead
            room = int(np.count_nonzero(opened))
            if program.k is not None:
                taken = int(np.count_nonzero((state > 0) & program.free))
                if taken > program.k:
                    return math.inf
                room = min(room, program.k - taken)
            gain = up(sum_up(gains[inside]) + best_sum_up(gains[opened], 0, room))
            terms = 0.5 * d * np.square(w[live])
            moved = -sum_up(-terms) - 2.0**-50 * sum_up(np.abs(terms))
            size = abs(conjugate) + abs(moved) + abs(gain)
            grain = 2.0**-50 + (GRAIN if self._claim else 0.0)
            bound = -conjugate + moved - gain - grain * size - TINY
        bound = -math.inf if math.isnan(bound) else float(bound)
        if self._claim:
            ceiling = lowered(ceiling)
        return max(min(bound, ceiling), floor(program, self._wider))

    def _dual(self, live: Index, w: Vector) -> tuple[float, float, Vector, Vector]:
        """F*(a) rounded up and the bounds' ceiling, X^T a on the live features and a bound of its
        error, at a = F'(Xw).

        The float vector t is not exactly the gradient at w: what they differ by is charged.
        """
        program, used = self.program, np.flatnonzero(w)
        z, off = program.matrix.image(used, w[used])
        if program.offset is not None:
            z = z + program.offset
        raw = program.loss.gradient(program.y, z)
        t = repair(program, raw)
        root = np.sqrt(program.F.p) * MORE
        # z, its difference from y and, with an intercept, the mean that repair takes away.
        size = np.abs(z) + np.abs(program.y) + np.abs(t)
        slip = off + 2.0**-48 * size
        if program.fit_intercept:
            mean = float(np.sum(program.F.p * raw))
            whole = float(np.sum(program.F.p * (np.abs(raw) + slip))) * MORE
            shared = float(np.sum(program.F.p * slip)) * MORE + gamma(program.n + 64) * whole
            slip = slip + shared + np.abs(t - (raw - mean)) + 2.0**-48 * (np.abs(raw) + abs(mean))
        apart = norm_up(root * slip)
        elsewhere = 2.0 * slip if self._claim else None
        conjugate, ceiling = charged_conjugate(program, t, self._wider, elsewhere)
        target = program.F.target
        level = float(program.F.p @ target) if program.fit_intercept else 0.0
        spread = norm_up(root * (np.abs(target - level) + 2.0**-50 * np.abs(target)))
        sizes = norm_up(root * np.abs(t)) + spread * MORE + apart
        # Both gradients are balanced, so the level of the response counts by rounding alone.
        tilt = abs(float(program.F.p @ t)) + gamma(program.n + 8) * float(program.F.p @ np.abs(t))
        charge = (apart * sizes + 2.0 * abs(level) * tilt) * MORE
        conjugate = up(conjugate + self._wider * charge)
        scores, rounding = self.curvature.scores(program.weights * t, live)
        scores, rounding = scores / program.mass, rounding / program.mass
        radius = rounding * MORE + self.curvature.lengths[live] * apart * MORE + TINY
        return float(conjugate), ceiling, scores, radius

    def _convex(self, live: Index, d: Vector) -> bool:
        """Whether the Gram matrix less diag(d) is proved positive semidefinite."""
        room = self.curvature.room(live, d, self.curvature.units(live, d))
        return self.curvature.exceeds(live, d, self._wider * room)
