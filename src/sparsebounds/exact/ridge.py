"""Nodes of the ridge forms: one product of matrices for all, Newton's method for those it leaves.

Every row w proves a bound by its dual vector a = F'(Xw). Most children are settled by the first
one, their parent's solution moved along one column of its inverse Hessian. The others run the
relaxation's Newton method until the bound closes the node, or it is clear that it will not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.deadline import NEVER, Deadline, TimeUp
from sparsebounds.bounds import Curvature, Exhaustion, States, TooMany, Tried
from sparsebounds.certificates import MOST_TRIED, Shift
from sparsebounds.exact.bounder import SETTLED, Bounded, Bounder, Split
from sparsebounds.exact.diagonal import DiagonalSearch
from sparsebounds.exact.piece import Piece
from sparsebounds.penalties import L0Ridge
from sparsebounds.program import Program
from sparsebounds.relaxation import GramPart, SmoothPoint, SmoothPoints, newton, newton_point

Found = TypeVar("Found")

QUICK, STEPS = 6, 40
"""Newton steps for many nodes at once, and with a line search for one."""

PROBES, LIKELY = 8, 0.75
"""A chain splits on so many features at most. For each, one child must be expected to raise the
bound by this part of what is left to prove."""

TRIED, PER_PAIR = 2e6, 2.0
"""Operations that trying all supports of a node may take: some nodes' worth. At the root also so
many for each pair of features, whose products take more, if there is room for them."""

SQUARES, ROOM = 56.0, 5e8
"""Bytes for each pair of features that trying holds at most, and those that it may hold unasked."""

GRANTED, NODE = 0.25, 1e5
"""With groups it may take more: this part of the operations on all nodes so far. A node takes about
NODE operations and the square of the number of features. Without groups a split takes less."""

PASSES = 4.0
"""Operations on a node's supports for each that `Exhaustion.effort` counts."""

LISTED = 2000
"""Supports of a node that are listed at most; nodes that have more of interest are split."""

SELDOM = 64
"""Supports are tried while at most one node in so many had too many of them after all."""

PROXIMAL = 1e-9
"""Keeps the systems of full steps regular."""


def most_tried(columns: int, space: float) -> float:
    """Operations that trying all supports may take at the root, among so many features.

    `space` are the bytes that it may hold.
    """
    pairs = float(columns) ** 2
    return max(TRIED, min(PER_PAIR * pairs, MOST_TRIED)) if SQUARES * pairs <= space else TRIED


class RidgeBounder(Bounder):
    """k + ridge and l0 + ridge, every loss."""

    def __init__(self, program: Program, price: float, deadline: Deadline = NEVER) -> None:
        super().__init__(program, price, deadline)
        gram = self.smooth.gram if isinstance(self.smooth, GramPart) else None
        curvature = None if gram is None else Curvature(program, gram=gram)
        self.diagonals = DiagonalSearch(program, curvature)
        self._exhaustion = None if curvature is None else Exhaustion(curvature, claim=True)
        self.fruitless = 0
        """Nodes whose supports were too many after all."""

        self._h = h = program.penalty()
        self.priced = isinstance(h, L0Ridge)
        """Whether this is an l0 form."""

        self.kink = np.full(program.m, h.root * h.beta if isinstance(h, L0Ridge) else np.inf)

    def bound(self, state: States, w: Vector, b: Vector, cutoff: float, upper: float) -> Bounded:
        points = self.smooth.at_many(w, b)
        lower = self._values(state, points)
        nodes = Bounded(state, w.copy(), points.b.copy(), lower, points.gradient)
        hard = np.flatnonzero(lower < cutoff)
        if len(hard) == 0:
            return nodes
        points = points.take(hard)
        # A dual vector may come from any w; a solution has its out-features at 0.
        stray = (state[hard] < 0) & (points.w != 0.0)
        if stray.any():
            points = self.smooth.at_many(np.where(stray, 0.0, points.w), points.b)
            self._better(nodes, hard, points)
        if self.priced:
            hard = self._together(nodes, hard, points, cutoff, upper)
        for i in hard.tolist():
            start = self.smooth.at(np.where(state[i] < 0, 0.0, nodes.w[i]), float(nodes.b[i]))
            best = self._solve(state[i], start, cutoff, upper)
            self._better(
                nodes, np.array([i]), self.smooth.at_many(best.w[None], np.array([best.b]))
            )
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
            # A node without open features will not be split: it is solved exactly, or never.
            opened = np.any(nodes.state[rows] == 0, axis=1)
            room = np.where(opened, np.minimum(upper - nodes.lower[rows], self.price), 0.0)
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
        many = self._many(state)
        step = many.even(1.0 / np.maximum(metrics, 1e-290))
        pieces = many.patterns(points.w - step * points.gradient, step)
        for i, pattern in enumerate(pieces):
            self.steps += 1
            size = len(pattern.active) ** 2
            self.deadline.require(newton=size)
            with self.deadline.timed("newton", size):
                trial = newton_point(self.smooth, points.row(i), pattern, proximal[i])
            if trial is not None:
                w[i], made[i] = trial[0], True
        return np.where(program.positive, np.maximum(w, 0.0), w), made

    def _many(self, state: States) -> L0Ridge:
        """h at many nodes, one row each (l0 forms)."""
        found = self.program.penalty(inside=state > 0, outside=state < 0)
        assert isinstance(found, L0Ridge)
        return found

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
        value: Vector = points.value + np.sum(self._many(state).costs(points.w), axis=1)
        return value

    def fix(self, nodes: Bounded, upper: float) -> States:
        state, lower = nodes.state.copy(), nodes.lower[:, None]
        gains, groups = self._gains(nodes.gradient), self.program.groups
        opened = (nodes.state == 0) & groups.lead
        if self.program.k is None:
            state[opened & (lower - np.minimum(gains, 0.0) > upper)] = -1
            state[opened & (lower + np.maximum(gains, 0.0) > upper)] = 1
            return groups.spread(state)
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
        return groups.spread(state)

    def weights(self, nodes: Bounded, row: int) -> Vector:
        state, w = nodes.state[row], nodes.w[row]
        some = np.flatnonzero((state > 0) | ((state == 0) & self.program.groups.held(w != 0.0)))
        u = np.zeros(len(w))
        u[some] = self.penalty(state, features=some).weights(w[some])
        return u

    def split(self, nodes: Bounded, row: int, cutoff: float) -> Split | None:
        piece = self._piece(nodes, row)
        if piece is None or not self.priced:
            return self._halves(nodes, row, piece)
        # The undecided features in the order of their weights, while one child of each is likely
        # to be closed.
        out, into = piece.gains()
        order = np.argsort(-np.abs(piece.w) * piece.ridge / np.fmax(piece.kink, 1e-300))
        order = order[into[order] > 0.0][:PROBES]
        need = LIKELY * max(cutoff - float(nodes.lower[row]), 0.0)
        short = np.flatnonzero(np.maximum(out, into)[order] < need)
        order = order[: short[0]] if len(short) else order
        if len(order) == 0:
            return self._halves(nodes, row, piece)
        sides = np.where(into[order] >= out[order], 1, -1)
        return self._chain(nodes, row, piece, order, sides)

    def _halves(self, nodes: Bounded, row: int, piece: Piece | None) -> Split | None:
        """Two children: the feature of largest weight in, and out."""
        state = nodes.state[row]
        feature = self.splitting(state, self.weights(nodes, row), self._gains(nodes.gradient[row]))
        if feature < 0:
            return None
        if piece is not None and feature in piece.pattern.active:
            place = np.flatnonzero(piece.pattern.active == feature)
            return self._chain(nodes, row, piece, place, np.array([1]))
        w = np.where(state < 0, 0.0, nodes.w[row])
        return Split(np.array([feature]), np.array([1]), np.stack((w, self.closed(w, feature))))

    def _chain(self, nodes: Bounded, row: int, piece: Piece, places: Index, sides: Index) -> Split:
        """Splits on features of a piece, and where its solution moves."""
        none, active = np.zeros(0, dtype=np.int64), piece.pattern.active
        starts = np.zeros((len(places) + 1, self.program.m))
        for i, (place, side) in enumerate(zip(places, sides, strict=True)):
            one = np.array([place])
            if side < 0:
                starts[i, active] = piece.moved(none, one)
            else:
                # In the k forms all features share one kink: what a single one gains is unknown.
                starts[i, active] = piece.moved(one, none) if self.priced else piece.w
        starts[-1, active] = piece.moved(places[sides < 0], places[sides > 0])
        starts = np.where(self.program.positive, np.maximum(starts, 0.0), starts)
        return Split(active[places], sides, starts)

    @property
    def memory(self) -> tuple[int, int, int]:
        return self.steps, self.diagonals.failures, self.fruitless

    @memory.setter
    def memory(self, memory: tuple[int, int, int]) -> None:
        self.steps, self.diagonals.failures, self.fruitless = memory

    def shift(
        self, nodes: Bounded, row: int, cutoff: float, upper: float
    ) -> tuple[Shift, float] | None:
        state, smooth = nodes.state[row], self.smooth
        count = int(np.count_nonzero(state >= 0))
        slack = (upper - nodes.lower[row]) / self.price
        if not isinstance(smooth, GramPart) or not self.diagonals.worthwhile(count, slack):
            return None
        # A few factorisations, or products, of the whole.
        self.deadline.require(product=2.0 * count**3)
        u = self.weights(nodes, row)
        found = self.diagonals.close(self, smooth, state, nodes.w[row], u, cutoff, upper)
        self.diagonals.learn(found is not None)
        return found

    def exhaust(self, state: States, nodes: int) -> Tried | None:
        found = self._tried(state, nodes, lambda exhaustion: exhaustion.search(state))
        if found is not None:
            self.trying += found.operations
        return found

    def listed(self, state: States, level: float, nodes: int) -> tuple[States, Vector] | None:
        def below(exhaustion: Exhaustion) -> tuple[States, Vector] | None:
            return exhaustion.below(state, level, LISTED)

        return self._tried(state, nodes, below)

    def _tried(
        self, state: States, nodes: int, what: Callable[[Exhaustion], Found | None]
    ) -> Found | None:
        """What trying all supports of a node gives, after so many nodes; None: too many."""
        exhaustion = self._exhaustion
        if exhaustion is None or SELDOM * self.fruitless > nodes:
            return None
        granted = 0.0
        if not self.program.groups.single:
            if self.trying > self.allowed * nodes:
                return None
            granted = GRANTED * nodes * (NODE + float(self.program.m) ** 2)
        effort = exhaustion.effort(state)
        most = TRIED if nodes > 1 else most_tried(self.program.m, self.space)
        if effort > max(most, min(granted, MOST_TRIED)) or self.deadline.late(tried=effort):
            return None
        self.trying += PASSES * effort
        try:
            return what(exhaustion)
        except TooMany:
            self.fruitless += 1
            return None

    def _piece(self, nodes: Bounded, row: int) -> Piece | None:
        """The piece of h at a node's solution; None for groups, whose pieces are curved."""
        if not self.program.groups.single:
            return None
        state, b, program = nodes.state[row], float(nodes.b[row]), self.program
        w = np.where(state < 0, 0.0, nodes.w[row])
        if isinstance(self.smooth, GramPart):
            # Features put out since are 0 in w but not in the gradient: near enough for a start.
            point = SmoothPoint(w, b, np.nan, nodes.gradient[row], 0.0)
        else:
            point = self.smooth.at(w, b)
        metric = self.smooth.metric(point)
        step = 1.0 / np.maximum(metric, 1e-290)
        pattern = self.penalty(state).pattern(w - step * point.gradient, step)
        active, count = pattern.active, len(pattern.active)
        self.deadline.require(newton=2 * count**2)
        matrix, right = self.smooth.system(point, active)
        right[:count] -= pattern.linear
        diagonal = np.einsum("ii->i", matrix)
        diagonal += PROXIMAL * np.abs(diagonal) + 1e-300
        diagonal[:count] += pattern.ridge
        if pattern.direction is not None:
            matrix[:count, :count] += np.outer(pattern.direction, pattern.direction / pattern.share)
        return Piece.of(pattern, matrix.T, right, program.ridges[active], self.kink[active])

    def _solve(self, state: States, start: SmoothPoint, cutoff: float, upper: float) -> SmoothPoint:
        """Newton's method until the dual value settles the node one way or the other."""

        opened = bool(np.any(state == 0))

        def enough(value: float, dual: float) -> bool:
            settled = value - dual <= SETTLED * min(upper - dual, self.price)
            return dual >= cutoff or (opened and settled)

        found = newton(
            self.smooth,
            self.penalty(state),
            start,
            1e-13 * self.scale,
            self.scale,
            most_steps=STEPS,
            deadline=self.deadline,
            enough=enough,
        )
        self.steps += found.steps
        if found.cut:
            raise TimeUp  # a bound that is cut short may be below that of the node it comes from
        self.deadline.require()
        return found.best

    def _gains(self, gradient: Vector) -> Vector:
        """reach^2/(2 ridge) - price for every feature."""
        return self._h.gains(-gradient)

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
