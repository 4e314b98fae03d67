"""Which diagonal D to move from the squared loss into the ridge, and the minorant that it gives.

L(D), the relaxation's value with Q - D and ridge + D, is concave in D, and (w_j^2/u_j - w_j^2)/2 at
the relaxed point is a supergradient. Its maximum over the D with Q - D psd is approached from
inside, by Newton steps on L(D) + mu (log det(Q - D) + sum log D_j) with L as it is to first order,
while mu falls.

For a search that splits, a D that is the best at the root is a poor one: it is 0 on the features
that the root's relaxation has decided, and their turn comes in the nodes below. There the maximum
of log det(Q - D) + sum log D_j serves, scaled to the boundary: all features have their share.

Features lend a part of their own ridge to Q, so that D_j may be below 0: dependent columns leave
room then. Above, Q is with what is lent, and D_j with what feature j lent: both are positive.
Features always in have no relaxation to tighten, and lend nearly all of their ridge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from sparsebounds._support.array import Vector
from sparsebounds.bounds import WIDER, Curvature, Minorant, own_ridges
from sparsebounds.penalties import Penalty
from sparsebounds.program import Program
from sparsebounds.relaxation.gram_part import GramPart
from sparsebounds.relaxation.newton import newton

SPARED = 1e-3
"""The part of the largest diagonal that is kept back: a singular matrix has no factor."""

START = 0.7
"""Where the ascent begins: about this part of the way to the boundary."""

POWERS, SHORT = 8, 0.9
"""Steps of the power method to where the boundary is, and the part that they reach, about."""

CLOSE = 20.0
"""From a diagonal that is nearly the best, the barrier begins at so many times where it ends."""

LENT, LENT_SEARCH, LENT_INSIDE = 0.9, 0.2, 0.99
"""The part of its ridge that a feature lends: at the root, for a search, and where always in."""

SINGULAR = 1e-9
"""A pivot this small next to its diagonal entry is that of a singular matrix."""

MOST_STEPS = 30
"""Newton steps to the centre at most."""

MOST_VALUES = 40
"""Relaxations in one ascent at most."""

SHRUNK, SHORTEST, SHORTER = 0.1, 0.01, 0.4
"""An entry keeps this part of itself in a step at least; the smallest part of a step that is tried;
and each part that is tried next to the one before, the first next to what the last step took."""

WORTHWHILE, NEXT = 0.3, 0.3
"""A step that gains less than this part of the barrier's share is the last with that barrier; and
what part of it the next one is."""

SETTLED = 2e-5
"""What the barrier may be off by, relative to the value, where the ascent ends."""


@dataclass(frozen=True)
class Room:
    """Q with what features lend to it, in which diagonals D + lent > 0 are sought."""

    gram: Vector
    lent: Vector

    @classmethod
    def of(cls, curvature: Curvature, own: Vector, share: float) -> Room:
        """`own` is the ridge of each feature, and `share` the part that it lends."""
        lent = np.where(curvature.program.always, LENT_INSIDE, share) * own
        return cls(curvature.gram + np.diag(lent), lent)

    def start(self) -> tuple[Vector, Vector] | None:
        """A part of the conditional variances 1/diag(Q^-1), and the Cholesky factor of Q - D there.

        None where Q is singular.
        """
        factor = self.factor(np.zeros(len(self.lent)))
        if factor is None:
            return None
        pivots = np.square(np.diagonal(factor))
        if np.any(pivots <= SINGULAR * np.diagonal(self.gram)):
            return None
        inverse = _inverse(factor)
        d = 1.0 / np.diagonal(inverse)
        return self._factored(d / _stretched(inverse, np.sqrt(d)), (START, 0.5 * START))

    def begun(self, near: Vector | None) -> tuple[Vector, Vector] | None:
        """Where an ascent begins, and the Cholesky factor of Q - D there; None: Q is singular."""
        if near is not None:
            near = np.maximum(near + self.lent, 0.01 * self.lent)
            begun = self._factored(near, (1.0, 0.95, 0.85, START))
            if begun is not None:
                return begun
        return self.start()

    def _factored(self, d: Vector, parts: Sequence[float]) -> tuple[Vector, Vector] | None:
        """The first of these parts of D that leaves Q - D a Cholesky factor, and the factor."""
        for part in parts:
            factor = self.factor(part * d)
            if factor is not None:
                return part * d, factor
        return None

    def factor(self, d: Vector) -> Vector | None:
        """The Cholesky factor of Q - D; None where there is none."""
        matrix = np.array(self.gram, order="F")
        np.einsum("ii->i", matrix)[:] -= d
        factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        return None if failed else np.asarray(factor)


@np.errstate(all="ignore")
def central_diagonal(curvature: Curvature, own: Vector) -> Vector | None:
    """The diagonal for a search; None where Q is singular. `own` is the ridge of each feature."""
    room = Room.of(curvature, own, LENT_SEARCH)
    begun = room.start()
    if begun is None:
        return None
    d, factor = begun
    for _ in range(MOST_STEPS):
        inverse = _inverse(factor)
        slope = 1.0 / d - np.diagonal(inverse)
        step = _newton_step(inverse, d, slope)
        length, gain = _inside(d, step), float(slope @ step)
        other = room.factor(d + length * step)
        while other is None and length > 1e-6:
            length *= 0.5
            other = room.factor(d + length * step)
        if other is None or gain < 1e-3:
            break
        d, factor = d + length * step, other
    whole = room.factor(np.zeros(len(d)))
    assert whole is not None
    return (1.0 - SPARED) * _to_boundary(_inverse(whole), d) - room.lent


@np.errstate(all="ignore")
def best_diagonal(
    program: Program,
    smooth: GramPart,
    curvature: Curvature,
    start: Vector,
    enough: Callable[[float], bool],
    ridge: float | None = None,
    within: float = 0.0,
    near: Vector | None = None,
) -> tuple[float, Vector, Vector]:
    """(value, D, w): nearly the largest value of the relaxation over all D, and where it is.

    `smooth` holds all features of the program, `start` is its relaxed solution, `ridge` stands in
    for a ball. A value that is `enough`, or within about `within` of the largest, ends the work.
    `near` is the best diagonal of a loss that is about as curved, and a little less.
    """
    w, penalty, scale = start, program.penalty(ridge=ridge), abs(program.null)
    own = own_ridges(program, ridge or 0.0)
    room = Room.of(curvature, own, LENT)

    def relaxed(d: Vector) -> tuple[float, Vector, Vector]:
        part = smooth.curbed(slice(None), d - room.lent)
        more = penalty.with_ridge(own + d - room.lent)
        found = newton(part, more, part.at(w, 0.0), 1e-5 * scale, scale, most_steps=60)
        return found.dual, found.best.w, supergradient(more, found.best.w)

    begun = room.begun(near)
    if begun is None:
        return -math.inf, np.zeros(program.m), w
    d, factor = begun
    value, w, up = relaxed(d)
    best = (value, d, w)
    mu = max(float(up @ d), 1e-12 * scale) / program.m
    if near is not None:
        mu = min(mu, CLOSE * within / program.m)
    barrier = _barrier(factor, d)
    values, last = 1, 1.0
    while values < MOST_VALUES and not enough(best[0]):
        if mu * program.m <= max(SETTLED * abs(best[0]), within):
            break
        inverse = _inverse(factor)
        slope = up / mu + (1.0 / d - np.diagonal(inverse))
        step = _newton_step(inverse, d, slope)
        merit, gain, length = value + mu * barrier, 0.0, min(1.0, last / SHORTER)
        while length > SHORTEST and not gain > 0.0:
            # Each entry stays positive by itself: one that vanishes does not hold up the others.
            trial = np.maximum(d + length * step, SHRUNK * d)
            other = room.factor(trial)
            if other is not None:
                found, at, towards = relaxed(trial)
                values += 1
                height = _barrier(other, trial)
                gain = found + mu * height - merit
                if gain > 0.0:
                    value, w, up, d, factor, barrier = found, at, towards, trial, other, height
                    last = length
            length *= SHORTER
        if value > best[0]:
            best = (value, d, w)
        if not gain > WORTHWHILE * mu * program.m:
            mu *= NEXT
    value, d, w = best
    return value, d - room.lent, w


@np.errstate(all="ignore")
def minorant_at(curvature: Curvature, diagonal: Vector, eta: float = 0.0) -> Minorant | None:
    """The minorant with this diagonal, or a part of it; None where Q itself is near singular."""
    program, live = curvature.program, np.arange(curvature.program.m)
    own = own_ridges(program, eta)
    _, slope, _ = curvature.linear()
    for part in (1.0, 1.0 - SPARED, 0.9, 0.5, 0.0):
        ridge = own + part * diagonal
        d = np.nextafter(ridge - own, np.inf)
        unit = curvature.units(live, d)
        spare = 2.0 * (WIDER + 1.0) * curvature.room(live, d, unit)
        matrix = np.array(curvature.gram * unit * unit[:, None], order="F")
        np.einsum("ii->i", matrix)[:] -= d * np.square(unit) + spare
        factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1, clean=1)
        if failed:
            continue
        target, failed = lapack.dtrtrs(factor, slope * unit, lower=1)
        if failed or not np.all(np.isfinite(target)):
            continue
        root = math.sqrt(program.m)
        return Minorant(np.asfortranarray(factor.T / unit) * root, target * root, ridge, eta)
    return None


def supergradient(penalty: Penalty, w: Vector) -> Vector:
    """(w_j^2/u_j - w_j^2)/2: what a larger ridge of each feature gains."""
    u = penalty.weights(w)
    some = u > 0.0
    found = np.zeros(len(w))
    found[some] = 0.5 * np.square(w[some]) * (1.0 / u[some] - 1.0)
    return found


def _newton_step(inverse: Vector, d: Vector, slope: Vector) -> Vector:
    """The Newton step for a function of this slope and the barrier's curvature."""
    hessian = np.square(inverse)
    np.einsum("ii->i", hessian)[:] += 1.0 / np.square(d)
    step: Vector = lapack.dposv(hessian, slope, lower=1)[1]
    return step


def _inside(d: Vector, step: Vector) -> float:
    """The length of a step, at most 1, that keeps d positive."""
    shrinking = step < 0.0
    return float(np.min(-0.9 * d[shrinking] / step[shrinking], initial=1.0))


def _stretched(inverse: Vector, root: Vector) -> float:
    """Nearly the largest eigenvalue of inverse_ij root_i root_j, by steps of the power method.

    These come to a part of it, which is made up for.
    """
    x, value = np.cos(np.arange(len(root))), 1.0
    for _ in range(POWERS):
        y = root * blas.dsymv(1.0, inverse, root * x, lower=1)
        value = float(x @ y) / float(x @ x)
        x = y / np.linalg.norm(y)
    return value / SHORT


def _to_boundary(inverse: Vector, d: Vector) -> Vector:
    """The multiple of d with which Q - D is singular."""
    root = np.sqrt(d)
    return d / float(np.linalg.eigvalsh(root[:, None] * inverse * root)[-1])


def _inverse(factor: Vector) -> Vector:
    """The inverse of a matrix with this Cholesky factor, on and below the diagonal."""
    lower: Vector = lapack.dpotri(factor, lower=1)[0]
    return lower


def _barrier(factor: Vector, d: Vector) -> float:
    return 2.0 * float(np.sum(np.log(np.diagonal(factor)))) + float(np.sum(np.log(d)))
