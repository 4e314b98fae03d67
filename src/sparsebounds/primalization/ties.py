"""Relaxed w -> (u, v) with w = D(u) v, u the cheapest weights for this w: where ties come from.

With a multiplier beta (k forms, l0 + ball), or beta_i = sqrt(2 l0_i) (l0 + ridge):

    k + ridge     u_i = min(1, sqrt(ridge_i) |w_i| / beta)     beta such that sum u = k
    l0 + ridge    u_i = min(1, sqrt(ridge_i) |w_i| / beta_i)
    k + ball      u_i = min(1, |w_i| / beta)                   beta such that sum u = k
    l0 + ball     u_i = min(1, |w_i| / (beta sqrt(2 l0_i)))    beta such that sum_i w_i^2/u_i = ball

So the features with 0 < u_i < 1, the tied ones, have v_i = w_i/u_i of one known size, and what the
program charges for u_i (its share of k, its l0 and ridge, its part of the ball) is a multiple of
one cost c_i: 1 in the k forms, l0_i in the l0 forms. A change of u on the tied features that leaves
z = Xw + b alone and does not raise c.u is feasible and does not raise the relaxed objective. This
holds for any w: it need not be optimal.

A group has one u, its length in the place of sqrt(ridge_i) |w_i|, and one column, the sum of x_i
v_i over its features: it is as tied as a single feature is, and stands at its first one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Vector, nonzeros
from sparsebounds.primalization.centred import centred
from sparsebounds.program import Program


@dataclass(frozen=True)
class TiedPoint:
    """A relaxed point (w, b) with its cheapest weights, and its tied columns."""

    program: Program
    w: Vector
    b: float
    u: Vector
    value: float
    """The relaxed objective at (w, u, b)."""

    tied: Index
    """Groups with 0 < u < 1, by their first columns."""

    size: Vector
    """ridge_i/2 v_i^2, summed over each of them; 0 in the ball forms."""

    cost: Vector
    """c on the tied features."""

    columns: Vector
    """x_i v_i for the tied groups, less their weighted means where there is an intercept."""

    means: Vector
    """The means taken away."""

    lengths: Vector
    """The norms of these columns: what small is relative to."""

    largest: float
    """The largest |w_i x_i| of all features, centred alike."""

    def moved(self, u: Vector) -> tuple[Vector, float]:
        """(w, b) with other weights on the tied groups, b following so that z need not."""
        return self.weighted(u)[0], self.b - float(self.means @ (u - self.u[self.tied]))

    def weighted(self, u: Vector) -> tuple[Vector, Vector]:
        """(w, u) of all features with other weights on the tied groups."""
        ratio, weights = np.ones(len(self.w)), self.u.copy()
        ratio[self.tied], weights[self.tied] = u / self.u[self.tied], u
        groups = self.program.groups
        return self.w * groups.spread(ratio), groups.spread(weights)

    def excess(self, u: Vector) -> float:
        """What rounding the fractional of these weights up, v_i to u_i v_i, adds to the objective.

        A price is paid in full, l0_i (1 - u_i) more, and the ridge only for (u_i v_i)^2.
        """
        program, i = self.program, self.tied
        price = program.prices[i] * (1.0 - u)
        price = price - self.size * u * (1.0 - u)
        return float(np.sum(price[u > 0]))


def tied_point(program: Program, w: Vector, b: float) -> TiedPoint:
    """The relaxed point at (w, b); w is scaled into the ball where no weights put it there."""
    w = _into_ball(program, w)
    u = cheapest_weights(program, w)
    w = np.where(u > 0.0, w, 0.0)  # no budget, or too small for a float
    support = nonzeros(w)
    block = program.matrix.columns(support)
    value = program.F.value(block @ w[support] + b) + relaxed_cost(program, w, u)
    places, images = images_of(program, support, block, w[support] / u[support])
    part = centred(program, images)
    fractional = u[places] < 1.0
    tied = places[fractional]
    cost = np.ones(len(tied)) if program.l0 is None else program.prices[tied]
    size = np.zeros(program.m)
    if program.ball is None:
        size[support] = 0.5 * program.ridges[support] * np.square(w[support] / u[support])
    return TiedPoint(
        program=program,
        w=w,
        b=b,
        u=u,
        value=value,
        tied=tied,
        size=program.groups.gather(size)[tied],
        cost=cost,
        columns=part.columns[:, fractional],
        means=part.means[fractional],
        lengths=part.lengths[fractional],
        largest=float(np.max(part.lengths * u[places], initial=0.0)),
    )


def images_of(program: Program, support: Index, block: Vector, v: Vector) -> tuple[Index, Vector]:
    """The groups of a support, by their first columns, and the sum of x_i v_i over each."""
    if program.groups.leaders is None:
        return support, block * v
    places, group = np.unique(program.groups.leaders[support], return_inverse=True)
    images = np.zeros((program.n, len(places)))
    np.add.at(images.T, group, (block * v).T)
    return places, images


def relaxed_cost(program: Program, w: Vector, u: Vector) -> float:
    """Everything but F in the relaxed objective: sum_i ridge_i/2 w_i^2/u_i + l0_i u_i."""
    support = nonzeros(w)
    cost = float(program.prices @ u)
    if program.ball is None:
        cost += 0.5 * float(program.ridges[support] @ (w[support] ** 2 / u[support]))
    return cost


def cheapest_weights(program: Program, w: Vector) -> Vector:
    """The u above: those of the penalty h, at the ridge for which they fill the ball."""
    if program.ball is None:
        # Features at 0 have the weight 0 unless they are always in.
        few = program.groups.whole(np.union1d(nonzeros(w), program.problem.always))
        u = np.zeros(program.m)
        u[few] = program.penalty(few).weights(w[few])
        return u
    ridge = 1.0
    if program.k is None:
        beta = np.sqrt(2.0 * program.prices)
        length = np.where(program.always, 0.0, program.penalty(ridge=1.0).lengths(w))
        room = program.ball - float(np.sum(w[program.always] ** 2))
        ridge = min(max(_ball_slope(length, beta, room), 1e-150), 1e150) ** -2.0
    return program.penalty(ridge=ridge).weights(w)


def _ball_slope(size: Vector, beta: Vector, ball: float) -> float:
    """The s with sum_i size_i max(size_i, s beta_i) = ball: 0 where only size_i itself fits.

    size_i^2/u_i is size_i^2 while s <= size_i/beta_i and s beta_i size_i beyond: increasing and
    piecewise linear in s.
    """
    priced = (size > 0.0) & (beta > 0.0)
    full = float(np.sum(size[~priced] ** 2))
    size, beta = size[priced], beta[priced]
    ends = size / beta
    order = np.argsort(ends)
    size, beta, ends = size[order], beta[order], ends[order]
    rising = np.concatenate(([0.0], np.cumsum(size * beta)))
    flat = full + np.concatenate((np.cumsum((size**2)[::-1])[::-1], [0.0]))
    # At the end of each piece: those before it rise, those from it on are flat.
    reached = int(np.count_nonzero(flat[:-1] + rising[:-1] * ends <= ball))
    if reached == 0:
        return 0.0
    return max((ball - float(flat[reached])) / float(rising[reached]), float(ends[reached - 1]))


def _into_ball(program: Program, w: Vector) -> Vector:
    if program.ball is None:
        return w
    u = np.ones(program.m) if program.k is None else cheapest_weights(program, w)
    support = nonzeros(w)
    size = float(np.sum(w[support] ** 2 / u[support]))
    return w if size <= program.ball else w * math.sqrt(program.ball / size)
