"""Nodes of the ball forms: one scalar search for the ball's multiplier each.

A dual vector is worth the bound of `node_bounds`, which takes the best multiplier by itself; so
bounds and fixings are those of the proof, to the last bit.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.bounds import States
from sparsebounds.exact.bounder import SETTLED, Bounded, Bounder, Split
from sparsebounds.relaxation import solve_ball


class BallBounder(Bounder):
    """k + ball and l0 + ball, every loss."""

    def bound(self, state: States, w: Vector, b: Vector, cutoff: float, upper: float) -> Bounded:
        stored, b = np.where(state < 0, 0.0, w), b.copy()
        lower = self.proved(stored, b, state).lower
        for i in np.flatnonzero(lower < cutoff):
            gap = SETTLED * min(upper - cutoff, self.price)
            better, level = self._solve(state[i], stored[i], float(b[i]), gap)
            value = self.proved(better[None], np.array([level]), state[i][None]).lower[0]
            if value > lower[i]:
                stored[i], b[i], lower[i] = better, level, value
        gradient = self.smooth.at_many(stored, b).gradient
        return Bounded(state, stored, b, lower, gradient)

    def fix(self, nodes: Bounded, upper: float) -> States:
        state = nodes.state.copy()
        if len(state):
            bounds = self.proved(nodes.w, nodes.b, nodes.state)
            with np.errstate(invalid="ignore"):
                state[(nodes.state == 0) & (bounds.inside > upper)] = -1
                state[(nodes.state == 0) & (bounds.outside > upper)] = 1
        return self.program.groups.spread(state)

    def weights(self, nodes: Bounded, row: int) -> Vector:
        state = nodes.state[row]
        assert self.program.ball is not None
        penalty = self.penalty(state, 1.0)
        eta = penalty.multiplier(-nodes.gradient[row], self.program.ball)
        return penalty.with_ridge(eta).weights(np.where(state < 0, 0.0, nodes.w[row]))

    def split(self, nodes: Bounded, row: int, cutoff: float) -> Split | None:
        state, w = nodes.state[row], nodes.w[row]
        feature = self.splitting(state, self.weights(nodes, row), np.abs(nodes.gradient[row]))
        if feature < 0:
            return None
        starts = np.stack((w, self.closed(w, feature)))
        return Split(np.array([feature]), np.array([1]), starts)

    def _solve(self, state: States, w: Vector, b: float, gap: float) -> tuple[Vector, float]:
        """The Lagrangian's minimiser at the best multiplier found."""
        assert self.program.ball is not None
        live = np.flatnonzero(state >= 0)
        part, penalty = self.smooth.part(live), self.penalty(state, 1.0, live)
        start = part.at(w[live], b)
        eta = penalty.multiplier(-start.gradient, self.program.ball)
        tolerance = max(gap, 1e-13 * self.scale)
        found = solve_ball(
            part,
            penalty,
            start,
            eta,
            self.program.ball,
            tolerance,
            self.scale,
            deadline=self.deadline,
        )
        self.steps += found.steps
        self.deadline.require()
        better = np.zeros(self.program.m)
        better[live] = found.dual.point.w
        return better, found.dual.point.b
