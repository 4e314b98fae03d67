"""The best curvature of rows where open features lend by supports (`bounds.row_lending`).

The relaxed value is concave in the curvatures kappa of the rows in doubt, and so is what is left of
each ridge. With a~_i = a_O + G_OJ N^-1 a_J for row i, K rises by p_i a~_i a~_i^T per unit of
kappa_i. The ascent is that of `relaxation.row_shares`, with the barrier

    log det N + sum log(what is left of the ridges) + sum log kappa_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Vector
from sparsebounds.bounds import INSIDE, Lending, Lent, RowBounds, States
from sparsebounds.relaxation.diagonal import supergradient
from sparsebounds.relaxation.row_diagonal import all_pairs, woodbury
from sparsebounds.relaxation.rows import AMPLE, ENOUGH, MOST, OPEN, Node, node_penalty, relaxed_node

START, SHRINK = 0.7, 0.6
"""The part of the ridges that the ascent begins with, and what it falls by until that is inside."""

AGAIN = 0.95
"""The part of a good curvature that the ascent begins with."""

STEPS = 8
"""Steps of Newton's method on the way, at most: the next x goes on from there."""

SOFT = 0.05
"""How far from the last of the largest |K_jl| the next ones count in part, in units of it."""


@dataclass(frozen=True, eq=False)
class Inside:
    """What the barrier knows of a point inside."""

    lending: Lending
    left: Vector
    """Of the ridges of open features, in units of them; smooth, and at most what is left."""

    chosen: Vector
    """The slopes of what leaves each ridge in the entries of K."""


class SupportAscent:
    """x = kappa of the rows in doubt: what is sought at a node."""

    def __init__(
        self, bounds: RowBounds, state: States, most_eta: float, start: Lent | None
    ) -> None:
        program = bounds.program
        self.bounds, self.state, self.eta = bounds, state, AMPLE
        self.middle = 0.5 * sum(bounds.range(state))
        self.live = bounds.live(state)
        self.shares = np.full(program.m, INSIDE)
        self.nothing = Lent.nothing(program.n, program.m)
        self.doubt = np.flatnonzero(bounds.loss(state, self.nothing).doubt)
        self.p = program.F.p[self.doubt]
        self.unit = np.sqrt(bounds.own[self.live[state[self.live] == 0]])
        self._start = start
        self._lent: tuple[Vector, Lent] | None = None
        self._risen: tuple[Inside, tuple[Vector, Vector]] | None = None
        """The last of these that were asked for, with what for: each is asked for twice."""

        size = len(self.doubt)
        self.work = 2.0 * len(self.live) ** 2 * program.n
        self.work += 2.0 * len(self.live) * size * min(size, len(self.live))
        """Operations of a step, about."""

        if program.fit_intercept:
            # Were the intercept known, the rows could have this curvature: it need not lend more.
            x = self.start()
            most = 0.0 if x is None else float(np.max(x, initial=0.0))
            self.eta, self._lent = min(most_eta, ENOUGH * most), None

    def lent(self, x: Vector) -> Lent:
        """What is lent at x."""
        if self._lent is None or self._lent[0] is not x:
            theta = np.zeros(self.bounds.program.n)
            theta[self.doubt] = x / (1.0 + x)
            lent = Lent.stored(theta, self.shares, self.eta, self.middle, sparse=True)
            self._lent = x, lent
        return self._lent[1]

    def start(self) -> Vector | None:
        """A point inside; None where rows in doubt may have no curvature."""
        if self._start is not None and self._start.sparse:
            theta = self._start.theta[self.doubt]
            x = AGAIN * np.maximum(theta / (1.0 - theta), 1e-3 * float(np.max(theta, initial=0.0)))
        else:
            x = np.full(len(self.doubt), START * float(np.mean(self.bounds.own)))
        for _ in range(60):
            if self.barrier(x) is not None:
                return x
            x = x * SHRINK
        return None

    def relaxed(self, x: Vector, w: Vector, b: float, spare: float = 0.0) -> Node:
        most, lent = STEPS if spare > 0.0 else MOST, self.lent(x)
        return relaxed_node(self.bounds, self.state, w, b, lent, tight=1e-5, spare=spare, most=most)

    def barrier(self, x: Vector) -> tuple[float, Inside] | None:
        """Its height and what it knows there; None outside."""
        if not np.all(x > 0.0):
            return None
        lending = self.bounds.lending(self.state, self.lent(x))
        if lending is None:
            return None
        open_ = np.flatnonzero(lending.open)
        K = lending.matrix[np.ix_(open_, open_)] / self.unit / self.unit[:, None]
        sums, chosen = _smooth_sums(K, self.bounds.room(self.state) - 1)
        left = OPEN - sums
        if not np.all(left > 0.0):
            return None
        height = float(np.sum(np.log(left)) + np.sum(np.log(x)))
        if len(lending.root):
            height -= 2.0 * float(np.linalg.slogdet(lending.root)[1])
        return height, Inside(lending, left, chosen)

    def slope(self, node: Node, inside: Inside) -> Vector:
        """A supergradient of the relaxed value."""
        bounds, lending = self.bounds, inside.lending
        r = bounds.residuals(node.w, node.b)
        share = node.lent.theta[self.doubt]
        rows = bounds.loss(self.state, node.lent).rise(r)[self.doubt] * np.square(1.0 - share)
        kept = bounds.own[self.live] - lending.lends
        penalty = node_penalty(bounds, self.state, self.live).with_ridge(kept)
        w = node.w[self.live]
        price = (supergradient(penalty, w) + 0.5 * np.square(w))[lending.open]
        rising, rises = self._rises(inside)
        moved = (w[lending.open] * self.unit) @ rising
        slope: Vector = self.p * (rows + 0.5 * np.square(moved))
        slope -= (price * np.square(self.unit)) @ rises
        return slope

    def _rises(self, inside: Inside) -> tuple[Vector, Vector]:
        """a~ of the rows in doubt, scaled, and the slopes of what leaves each ridge."""
        if self._risen is not None and self._risen[0] is inside:
            return self._risen[1]
        lending = inside.lending
        some = lending.rows[lending.open]
        cross = (some * lending.weights) @ lending.held.T @ lending.root @ lending.root.T
        rising = (some[:, self.doubt] + cross @ lending.held[:, self.doubt]) / self.unit[:, None]
        found = rising, (inside.chosen @ rising) * rising * self.p
        self._risen = inside, found
        return found

    def step(self, inside: Inside, x: Vector, pull: Vector) -> tuple[Vector, float]:
        """The Newton step of the barrier with a linear term of slope `pull`, and its decrement."""
        lending = inside.lending
        parts = [self._rises(inside)[1] / inside.left[:, None]]
        slope = pull + 1.0 / x - np.sum(parts[0], axis=0)
        if len(lending.held):
            v = (lending.root.T @ lending.held[:, self.doubt]) * np.sqrt(self.p)
            slope -= np.einsum("ij,ij->j", v, v)
            parts.append(all_pairs(v))
        Z = np.vstack(parts) * x
        scaled = slope * x
        if len(Z) < len(x):
            step = woodbury(Z, scaled)
        else:
            whole = Z.T @ Z
            np.einsum("ii->i", whole)[:] += 1.0
            step = lapack.dposv(whole, scaled, lower=1)[1]
        return step * x, math.sqrt(max(float(step @ scaled), 0.0))


def _smooth_sums(K: Vector, most: int) -> tuple[Vector, Vector]:
    """K_jj and at least the `most` largest |K_jl|, in a smooth way; and the slopes in K."""
    sums, chosen, count = np.diagonal(K).copy(), np.eye(len(K)), len(K)
    most = min(most, count - 1)
    if most <= 0:
        return sums, chosen
    others = np.abs(K)
    np.einsum("ii->i", others)[:] = 0.0
    if most == count - 1:
        return sums + np.sum(others, axis=1), np.sign(K) * (1.0 - chosen) + chosen
    ends = np.partition(others, (count - most - 1, count - most), axis=1)
    last = 0.5 * (ends[:, count - most - 1] + ends[:, count - most])
    above = others - last[:, None]
    root = np.sqrt(np.square(above) + np.square(SOFT * last)[:, None])
    np.einsum("ii->i", above)[:] = -np.diagonal(root)
    sums += most * last + 0.5 * np.sum(above + root, axis=1)
    return sums, chosen + 0.5 * (1.0 + above / root) * np.sign(K)
