"""Bounds for many nodes: one product of matrices for all, Newton's method for those it leaves.

A node is the relaxation with features fixed in (quadratic penalty, price paid) or out (w_i = 0).
Every row w proves a bound by its dual vector a = F'(Xw); most children are settled by the first,
their parent's solution moved along one column of its inverse Hessian (`children`). The others run
the relaxation's Newton method until the bound closes the node, or it is clear that it will not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sparsebounds._array import Index, Vector
from sparsebounds.exact.tree import States
from sparsebounds.program import Program
from sparsebounds.relaxation.newton import newton
from sparsebounds.relaxation.penalty import WorkingPenalty
from sparsebounds.relaxation.smooth import SmoothPoint, SmoothPoints, smooth_part

SETTLED = 0.1
"""A node that stays open is solved until its own gap is this part of what is left to prove."""

STEPS = 40


@dataclass(frozen=True)
class Bounded:
    """Nodes after bounding: one row each."""

    state: States
    w: Vector
    b: Vector
    lower: Vector
    gradient: Vector
    """X^T a at the dual vector of `lower`."""

    def take(self, rows: Index) -> Bounded:
        """Some of the nodes."""
        return Bounded(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


class RidgeBounder:
    """The ridge forms on the columns that are left, for every loss."""

    def __init__(self, program: Program, price: float) -> None:
        self.program = program
        self.smooth = smooth_part(program)
        self.smooth.add(program.matrix.columns(np.arange(program.m)))
        self.scale = max(abs(program.null), 1e-300)
        self.price = price
        """What a feature costs, about: the unit of what branching gains."""

        self.beta = None if program.l0 is None else np.sqrt(2.0 * program.prices)
        self.steps = 0

    def bound(
        self, state: States, w: Vector, b: Vector, cutoff: float, upper: float
    ) -> Bounded:
        """Bounds of at least `cutoff` where that is possible at little cost, else good ones."""
        w = np.where(state < 0, 0.0, rounded(w))
        points = self.smooth.at_many(w, b)
        lower = self._values(state, points)
        gradient = points.gradient
        hard = np.flatnonzero(lower < cutoff)
        if len(hard):
            w, b = w.copy(), b.copy()
            for i in hard:
                w[i], b[i] = self._solve(state[i], points.row(i), cutoff, upper)
            again = self.smooth.at_many(w[hard], b[hard])
            value = self._values(state[hard], again)
            lower, gradient = lower.copy(), gradient.copy()
            lower[hard], gradient[hard] = value, again.gradient
        return Bounded(state, w, b, lower, gradient)

    def _solve(
        self, state: States, start: SmoothPoint, cutoff: float, upper: float
    ) -> tuple[Vector, float]:
        def enough(value: float, dual: float) -> bool:
            return dual >= cutoff or value - dual <= SETTLED * min(upper - dual, self.price)

        found = newton(
            self.smooth,
            self.penalty(state),
            start,
            1e-13 * self.scale,
            self.scale,
            most_steps=STEPS,
            closed=state < 0,
            enough=enough,
        )
        self.steps += found.steps
        return rounded(found.best.w), found.best.b

    def penalty(self, state: States) -> WorkingPenalty:
        """h at a node; features that are out must be kept at 0."""
        program, inside = self.program, state > 0
        k = None
        if program.k is not None:
            k = max(0, program.k - int(np.count_nonzero(inside & program.free)))
        return WorkingPenalty(program.ridges, self.beta, k, inside, program.positive)

    def gains(self, gradient: Vector) -> Vector:
        """What each feature gains the bound's adversary: reach^2/(2 ridge) - price."""
        program = self.program
        reach = np.where(program.positive, np.maximum(-gradient, 0.0), np.abs(gradient))
        gains: Vector = 0.5 * reach**2 / program.ridges - program.prices
        return gains

    def _values(self, state: States, points: SmoothPoints) -> Vector:
        """The dual value of each row."""
        gains = self.gains(points.gradient)
        value = points.dual - np.sum(np.where(state > 0, gains, 0.0), axis=1)
        value = value - np.abs(points.slope)
        if self.program.k is None:
            return value - np.sum(np.where(state == 0, np.maximum(gains, 0.0), 0.0), axis=1)
        opened = np.where(state == 0, gains, 0.0)
        for i, room in enumerate(self._room(state)):
            if room > 0:
                row = opened[i]
                value[i] -= row.sum() if room >= len(row) else np.partition(row, -room)[-room:].sum()
        return value

    def _room(self, state: States) -> Index:
        counted = np.count_nonzero((state > 0) & self.program.free, axis=1)
        return np.maximum(int(self.program.k or 0) - counted, 0)

    def fix(self, nodes: Bounded, upper: float) -> States:
        """States with the features fixed that the bound decides."""
        state, lower = nodes.state.copy(), nodes.lower[:, None]
        gains, opened = self.gains(nodes.gradient), nodes.state == 0
        if self.program.k is None:
            state[opened & (lower - np.minimum(gains, 0.0) > upper)] = -1
            state[opened & (lower + np.maximum(gains, 0.0) > upper)] = 1
            return state
        for i, room in enumerate(self._room(nodes.state)):
            features = np.flatnonzero(opened[i])
            row = gains[i, features]
            if room == 0:
                state[i, features] = -1
            elif room < len(row):
                ordered = np.partition(row, (len(row) - room - 1, len(row) - room))
                last, first = ordered[len(row) - room], ordered[len(row) - room - 1]
                state[i, features[nodes.lower[i] + last - row > upper]] = -1
                state[i, features[nodes.lower[i] + row - first > upper]] = 1
        return state

    def children(self, state: States, w: Vector, b: float) -> tuple[int, Vector, Vector]:
        """The feature to split on, and where to start with it out, and in; -1 where none is left.

        The largest u below 1. Moving along the column of the inverse Hessian that belongs to it
        keeps the other active features optimal to second order.
        """
        penalty = self.penalty(state)
        w = np.where(state < 0, 0.0, w)
        u = np.where(state == 0, penalty.weights(w), 0.0)
        partial = (u > 0.0) & (u < 1.0 - 1e-9)
        point = self.smooth.at(w, b)
        if not partial.any():
            left = np.flatnonzero(state == 0)
            if len(left) == 0:
                return -1, w, w
            feature = int(left[np.argmax(self.gains(point.gradient)[left])])
            out = w.copy()
            out[feature] = 0.0
            return feature, out, w
        feature = int(np.argmax(np.where(partial, u, 0.0)))
        gradient = np.where(state < 0, 0.0, point.gradient)
        diagonal = self.smooth.metric(point)
        step = np.where(diagonal > 1e-290, 1.0 / np.maximum(diagonal, 1e-290), 1.0)
        pattern = penalty.pattern(w - step * gradient, step)
        place = np.flatnonzero(pattern.active == feature)
        out, into = w.copy(), w.copy()
        out[feature] = 0.0
        if len(place) == 0:
            return feature, out, into
        active, count = pattern.active, len(pattern.active)
        matrix, _ = self.smooth.system(point, active)
        matrix = np.array(matrix, order="F")
        matrix.flat[:: len(matrix) + 1] += 1e-9 * np.abs(np.diagonal(matrix)) + 1e-300
        matrix.flat[: count * len(matrix) : len(matrix) + 1] += pattern.ridge
        if pattern.direction is not None:
            matrix[:count, :count] += np.outer(pattern.direction, pattern.direction / pattern.share)
        unit = np.zeros(len(matrix))
        unit[place[0]] = 1.0
        _, column, failed = lapack.dposv(matrix, unit, lower=1)
        if failed or not column[place[0]] > 0.0:
            return feature, out, into
        own = column[place[0]]
        out = w.copy()
        out[active] -= w[feature] / own * column[:count]
        out[feature] = 0.0
        if self.beta is not None:
            ridge = float(self.program.ridges[feature])
            slope = np.sqrt(ridge) * self.beta[feature] * np.sign(w[feature])
            into[active] += (slope - ridge * w[feature]) / (1.0 + ridge * own) * column[:count]
        for start in (out, into):
            np.copyto(start, np.maximum(start, 0.0), where=self.program.positive)
        return feature, out, into


def rounded(w: Vector) -> Vector:
    """w in float32, as it is stored."""
    return w.astype(np.float32).astype(np.float64)
