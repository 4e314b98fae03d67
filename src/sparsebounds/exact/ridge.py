"""Nodes of the ridge forms: one product of matrices for all, Newton's method for those it leaves.

Every row w proves a bound by its dual vector a = F'(Xw). Most children are settled by the first
one, their parent's solution moved along one column of its inverse Hessian. The others run the
relaxation's Newton method until the bound closes the node, or it is clear that it will not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from sparsebounds._array import Index, Mask, Vector
from sparsebounds.bounds.many import States
from sparsebounds.exact.bounder import SETTLED, Bounded, Bounder, Shifted
from sparsebounds.exact.shift import Shifter
from sparsebounds.program import Program
from sparsebounds.relaxation.newton import newton, newton_point
from sparsebounds.relaxation.penalty import Pattern
from sparsebounds.relaxation.smooth import GramPart, SmoothPoint, SmoothPoints

QUICK, STEPS = 6, 40
"""Newton steps for many nodes at once, and with a line search for one."""

PROXIMAL = 1e-9
"""Keeps the systems of full steps regular."""


class RidgeBounder(Bounder):
    """k + ridge and l0 + ridge, every loss."""

    def __init__(self, program: Program, price: float) -> None:
        super().__init__(program, price)
        self.shifter = Shifter(program, self.columns)
        self.root = np.sqrt(program.ridges)
        self.kink = np.full(program.m, np.inf) if self.beta is None else self.root * self.beta

    def bound(self, state: States, w: Vector, b: Vector, cutoff: float, upper: float) -> Bounded:
        stored = np.where(state < 0, 0.0, w)
        points = self.smooth.at_many(stored, b)
        lower, gradient, b = self._values(state, points), points.gradient, points.b.copy()
        nodes = Bounded(state, stored, b, lower, gradient)
        hard = np.flatnonzero(lower < cutoff)
        if self.beta is not None and len(hard):
            hard = self._together(nodes, hard, points.take(hard), cutoff, upper)
        for i in hard.tolist():
            start = self.smooth.at(stored[i], float(b[i]))
            best = self._solve(state[i], start, cutoff, upper)
            stored[i], b[i] = best.w, best.b
        if len(hard):
            self._better(nodes, hard, self.smooth.at_many(stored[hard], b[hard]))
        return nodes

    def _together(
        self, nodes: Bounded, rows: Index, points: SmoothPoints, cutoff: float, upper: float
    ) -> Index:
        """Full Newton steps for many nodes at once; the rows that need more care are returned.

        The l0 forms only: there a zero that stays one is known by its own score.
        """
        left: list[Index] = []
        value = self._primal(nodes.state[rows], points)
        for _ in range(QUICK):
            room = np.minimum(upper - nodes.lower[rows], self.price)
            going = np.flatnonzero(value - nodes.lower[rows] > SETTLED * room)
            rows, value, points = rows[going], value[going], points.take(going)
            w, made = self._steps(nodes.state[rows], points)
            left.append(rows[~made])
            rows, value = rows[made], value[made]
            if len(rows) == 0:
                break
            points = self.smooth.at_many(w[made], points.b[made])
            closed = self._better(nodes, rows, points) >= cutoff
            new = self._primal(nodes.state[rows], points)
            worse = (new > value) & ~closed
            left.append(rows[worse])
            keep = np.flatnonzero(~(closed | worse))
            rows, value, points = rows[keep], new[keep], points.take(keep)
        return np.sort(np.concatenate((*left, rows)))

    def _steps(self, state: States, points: SmoothPoints) -> tuple[Vector, Mask]:
        """Full Newton steps on the pieces of h that proximal steps land on, and which were made."""
        program, metrics = self.program, self.smooth.metrics(points)
        w, made = np.zeros(points.w.shape), np.zeros(len(state), dtype=np.bool_)
        proximal = np.broadcast_to(PROXIMAL * metrics, w.shape)
        for i, pattern in enumerate(self._pieces(state, points.w, points.gradient, metrics)):
            self.steps += 1
            trial = newton_point(self.smooth, points.row(i), pattern, proximal[i])
            if trial is not None:
                w[i], made[i] = trial[0], True
        return np.where(program.positive, np.maximum(w, 0.0), w), made

    def _pieces(
        self, state: States, w: Vector, gradient: Vector, metrics: Vector
    ) -> Iterator[Pattern]:
        """Row by row, the piece of h that a proximal step lands on (l0 forms)."""
        assert self.beta is not None
        program, inside = self.program, state > 0
        step = 1.0 / np.maximum(metrics, 1e-290)
        q = w - step * gradient
        t = self.root * np.where(program.positive, np.maximum(q, 0.0), np.abs(q))
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(t > 0.0, t / self.beta, 0.0) - step * program.ridges
        active = (inside | ((state == 0) & (u > 0.0))) & ~(program.positive & (q <= 0.0))
        for i in range(len(state)):
            some = np.flatnonzero(active[i])
            held = inside[i, some]
            full = held | (u[i, some] >= 1.0)
            # Inside the support either sign will do, unless one is asked for.
            sign = np.where(held & ~program.positive[some], 0.0, np.sign(q[i, some]))
            linear = np.where(full, 0.0, self.kink[some] * sign)
            ridge = np.where(full, program.ridges[some], 0.0)
            yield Pattern(some, sign, ridge, linear, None, np.inf)

    def _better(self, nodes: Bounded, rows: Index, points: SmoothPoints) -> Vector:
        """Keep the points whose bounds are better than their nodes'; the nodes' bounds."""
        value = self._values(nodes.state[rows], points)
        up = np.flatnonzero(value > nodes.lower[rows])
        at = rows[up]
        nodes.w[at], nodes.b[at], nodes.lower[at] = points.w[up], points.b[up], value[up]
        nodes.gradient[at] = points.gradient[up]
        return nodes.lower[rows]

    def _primal(self, state: States, points: SmoothPoints) -> Vector:
        """The relaxed objective of each row (l0 forms)."""
        assert self.beta is not None
        t, beta = self.root * np.abs(points.w), self.beta
        whole = 0.5 * (t * t + beta * beta)
        cost = np.where((state > 0) | (t >= beta), whole, beta * t)
        value: Vector = points.value + np.sum(np.where(state < 0, 0.0, cost), axis=1)
        return value

    def fix(self, nodes: Bounded, upper: float) -> States:
        state, lower = nodes.state.copy(), nodes.lower[:, None]
        gains, opened = self._gains(nodes.gradient), nodes.state == 0
        if self.program.k is None:
            state[opened & (lower - np.minimum(gains, 0.0) > upper)] = -1
            state[opened & (lower + np.maximum(gains, 0.0) > upper)] = 1
            return state
        for i, room in enumerate(self.room(nodes.state)):
            features = np.flatnonzero(opened[i])
            row = gains[i, features]
            if room == 0:
                state[i, features] = -1
            elif room < len(row):
                place = len(row) - room
                ordered = np.partition(row, (place - 1, place))
                state[i, features[nodes.lower[i] + ordered[place] - row > upper]] = -1
                state[i, features[nodes.lower[i] + row - ordered[place - 1] > upper]] = 1
        return state

    def weights(self, nodes: Bounded, row: int) -> Vector:
        state, w = nodes.state[row], nodes.w[row]
        some = np.flatnonzero((state > 0) | ((state == 0) & (w != 0.0)))
        u = np.zeros(len(w))
        u[some] = self.penalty(state, self.program.ridges).part(some).weights(w[some])
        return u

    def children(self, nodes: Bounded, row: int) -> tuple[int, tuple[Vector, Vector]]:
        state = nodes.state[row]
        w = np.where(state < 0, 0.0, nodes.w[row])
        feature = self.splitting(state, self.weights(nodes, row), self._gains(nodes.gradient[row]))
        out, into = w.copy(), w.copy()
        if feature >= 0 and w[feature] != 0.0:
            self._move(nodes, row, w, feature, out, into)
        if feature >= 0:
            out[feature] = 0.0
        if self.program.positive.any():
            for start in (out, into):
                np.copyto(start, np.maximum(start, 0.0), where=self.program.positive)
        return feature, (out, into)

    def shift(self, nodes: Bounded, row: int, cutoff: float, upper: float) -> Shifted | None:
        state, smooth = nodes.state[row], self.smooth
        count = int(np.count_nonzero(state >= 0))
        slack = (upper - nodes.lower[row]) / self.price
        if not isinstance(smooth, GramPart) or not self.shifter.worthwhile(count, slack):
            return None
        u = self.weights(nodes, row)
        found = self.shifter.close(self, smooth, state, nodes.w[row], u, cutoff, upper)
        self.shifter.learn(found is not None)
        return found

    def _move(
        self, nodes: Bounded, row: int, w: Vector, feature: int, out: Vector, into: Vector
    ) -> None:
        """Along the column of the inverse Hessian that belongs to the feature: with it out, the
        other active features are optimal again; with it in, its price is paid already (l0 forms),
        so that only its ridge pulls."""
        point, pattern = self._piece(nodes, row, w)
        place = np.flatnonzero(pattern.active == feature)
        column = self._column(point, pattern, int(place[0])) if len(place) else None
        if column is None:
            return
        active, own = pattern.active, column[place[0]]
        out[active] -= w[feature] / own * column
        if self.beta is not None:
            ridge = float(self.program.ridges[feature])
            slope = np.sqrt(ridge) * self.beta[feature] * np.sign(w[feature])
            into[active] += (slope - ridge * w[feature]) / (1.0 + ridge * own) * column

    def _piece(self, nodes: Bounded, row: int, w: Vector) -> tuple[SmoothPoint, Pattern]:
        """A node's point, at w, and the piece of h there."""
        state, b = nodes.state[row], float(nodes.b[row])
        if isinstance(self.smooth, GramPart) and self.beta is not None:
            # Features put out since are 0 in w but not in the gradient: near enough for a start.
            point = SmoothPoint(w, b, np.nan, nodes.gradient[row], 0.0)
            metric = self.smooth.metric(point)
            return point, next(self._pieces(state[None], w[None], point.gradient[None], metric))
        point = self.smooth.at(w, b)
        diagonal = self.smooth.metric(point)
        step = np.where(diagonal > 1e-290, 1.0 / np.maximum(diagonal, 1e-290), 1.0)
        gradient = np.where(state < 0, 0.0, point.gradient)
        return point, self.penalty(state, self.program.ridges).pattern(w - step * gradient, step)

    def _column(self, point: SmoothPoint, pattern: Pattern, place: int) -> Vector | None:
        """One column of the inverse Hessian on a piece of h, features only."""
        count = len(pattern.active)
        matrix = self.smooth.system(point, pattern.active)[0].T
        diagonal = np.einsum("ii->i", matrix)
        diagonal += 1e-9 * np.abs(diagonal) + 1e-300
        diagonal[:count] += pattern.ridge
        if pattern.direction is not None:
            matrix[:count, :count] += np.outer(pattern.direction, pattern.direction / pattern.share)
        unit = np.zeros(len(matrix))
        unit[place] = 1.0
        _, column, failed = lapack.dposv(matrix, unit, lower=1, overwrite_a=1, overwrite_b=1)
        return None if failed or not column[place] > 0.0 else column[:count]

    def _solve(self, state: States, start: SmoothPoint, cutoff: float, upper: float) -> SmoothPoint:
        """Newton's method until the dual value settles the node one way or the other."""

        def enough(value: float, dual: float) -> bool:
            return dual >= cutoff or value - dual <= SETTLED * min(upper - dual, self.price)

        found = newton(
            self.smooth,
            self.penalty(state, self.program.ridges),
            start,
            1e-13 * self.scale,
            self.scale,
            most_steps=STEPS,
            closed=state < 0,
            enough=enough,
        )
        self.steps += found.steps
        return found.best

    def _gains(self, gradient: Vector) -> Vector:
        """reach^2/(2 ridge) - price for every feature."""
        program = self.program
        reach = np.where(program.positive, np.maximum(-gradient, 0.0), np.abs(gradient))
        gains: Vector = 0.5 * reach**2 / program.ridges - program.prices
        return gains

    def _values(self, state: States, points: SmoothPoints) -> Vector:
        """The dual value of each row, in plain floating point."""
        gains = self._gains(points.gradient)
        value = points.dual - np.sum(np.where(state > 0, gains, 0.0), axis=1)
        value = value - np.abs(points.slope) * (1.0 + np.abs(points.b))
        if self.program.k is None:
            best = np.sum(np.where(state == 0, np.maximum(gains, 0.0), 0.0), axis=1)
            return np.where(np.isnan(value - best), -np.inf, value - best)
        opened = np.where(state == 0, gains, 0.0)
        for i, room in enumerate(self.room(state)):
            row = opened[i]
            if room > 0:
                row = row if room >= len(row) else np.partition(row, -room)[-room:]
                value[i] -= float(np.sum(row))
        return np.where(np.isnan(value), -np.inf, value)
