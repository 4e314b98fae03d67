"""Bounds for the truncated loss: over the models of a node, whose rows cost at least l_i(r_i).

`bounds.row_loss` says what l_i is. So a node's loss is at least H(w, b) = sum p_i l_i(r_i), whose
curvature is at least M = A^T diag(p l'') A, with l'' = 1 for inliers, 0 for outliers, and
-theta/(1 - theta) in doubt. The ridge lends the diagonal L to it, or borrows where L < 0, and what
is known of the intercept, |b - middle| <= R, lends eta for eta R^2/2. Where M + L + eta is positive
semidefinite, the tangent plane at any (w, b) lies below, and what is left is separable: for every
support of the node

    optimum >= H - sum p_i t_i x_i.w - w.L w/2 - eta R^2/2 - (the largest gain of a support),

t the slopes l', with gains from X^T(p t) + L w and the ridge less L.
"""

from __future__ import annotations

import copy
import math
from functools import cached_property

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.rounding import TINY, gamma, up
from sparsebounds.bounds.dual import GRAIN, WIDER
from sparsebounds.bounds.enclosure import Outer
from sparsebounds.bounds.many import MORE, States
from sparsebounds.bounds.minorant import own_ridges
from sparsebounds.bounds.row_kinds import NodeLoss, has_rows, node_loss, scale_of
from sparsebounds.bounds.row_lending import Lending
from sparsebounds.bounds.row_loss import Lent, Spans, Switches
from sparsebounds.bounds.row_tangents import Tangent, Tilt, best_sums_up, has_factor, norms_up
from sparsebounds.program import Program

INSIDE = 63 / 64
"""The part of its ridge that a feature lends at most: where it is in."""


class RowBounds:
    """Such bounds for the nodes of one program, with intercepts in the range `outer`.

    `eta` is the multiplier of the ball, and `spans` say what is known of the rows of some nodes.
    With `claim`, bounds leave the room for rounding that claims do (`bounds.dual`).
    """

    def __init__(
        self,
        program: Program,
        switches: Switches,
        outer: Outer,
        *,
        eta: float = 0.0,
        claim: bool = False,
    ) -> None:
        self.program, self.switches, self.outer = program, switches, outer
        self._claim, self._wider = claim, WIDER if claim else 1.0
        self.c = scale_of(program.loss)
        self.own = own_ridges(program, eta)
        self.rows = np.ascontiguousarray(program.matrix.columns(np.arange(program.m)).T)
        """X, one feature per row."""

        self.target: Vector = program.F.target
        self.spans: tuple[Spans, ...] = ()
        self.ball = 0.0 if program.ball is None else up(0.5 * up(eta * program.ball))
        self._convex: dict[int, tuple[Lent, Vector, Mask]] = {}
        self._lending: tuple[Lent, bytes, Lending | None] | None = None

    def with_spans(self, *spans: Spans) -> RowBounds:
        """The same, with other spans."""
        other = copy.copy(self)
        other.spans = spans
        return other

    @staticmethod
    def known(program: Program) -> bool:
        """Whether there are such bounds for a program."""
        return has_rows(program.loss) and program.groups.single and program.matrix.elementwise

    def residuals(self, w: Vector, b: float) -> Vector:
        """r = z - y, as computed."""
        used = np.flatnonzero(w)
        residuals: Vector = w[used] @ self.rows[used] + b - self.target
        return residuals

    def range(self, state: States) -> tuple[float, float]:
        """The intercepts of a node."""
        low, high = self.switches.range(state, self.outer[0])
        for spans in self.spans:
            if spans.hold(state):
                low, high = max(low, spans.range[0]), min(high, spans.range[1])
        return low, high

    def ends(self, state: States) -> tuple[Vector, Vector]:
        """The least and the largest residuals of a node's rows."""
        above, below = self.switches.sides(state)
        low = np.where(above > 0, self.c, np.where(below < 0, -self.c, -np.inf))
        high = np.where(below > 0, -self.c, np.where(above < 0, self.c, np.inf))
        for spans in self.spans:
            if spans.hold(state):
                low, high = np.maximum(low, spans.low), np.minimum(high, spans.high)
        return low, high

    def loss(self, state: States, lent: Lent) -> NodeLoss:
        """The rows' losses at a node."""
        return node_loss(self.program.loss, self.program.y, self.ends(state), lent.theta)

    def live(self, state: States) -> Index:
        """The features that a model of the node may have."""
        kept = state[: self.program.m]
        return np.flatnonzero(kept >= 0 if self.room(state) > 0 else kept > 0)

    def empty(self, state: States) -> bool:
        """Whether a node is known to have no model."""
        (first, last), (low, high) = self.range(state), self.ends(state)
        return self.room(state) < 0 or first > last or bool(np.any(low > high))

    def bound(
        self, state: States, w: Vector, b: float, lent: Lent, scope: States | None = None
    ) -> float:
        """A proved lower bound over the models of a node: 0 where H is not proved convex.

        `w` and `b` are any coefficients: also of features that no model of the node has. H is that
        of the node `scope`, above this one, where it is given; the models are still this one's.
        """
        if self.empty(state):
            return math.inf
        found = float(self.bounds(state, w[None], np.array([b]), lent, scope=scope)[0])
        # No row costs less than nothing.
        return 0.0 if math.isnan(found) else max(min(found, self.outer[1]), 0.0)

    def bounds(
        self,
        state: States,
        W: Vector,
        b: Vector,
        lent: Lent,
        tilt: Tilt | None = None,
        scope: States | None = None,
    ) -> Vector:
        """Such bounds at several points, of the objective or of what a tilt makes of it.

        -inf where H is not proved convex.
        """
        above = state if scope is None else scope
        if not self._sound(b, lent):
            return np.full(len(W), -np.inf)
        rows = self.loss(above, lent)
        if not self._proved(rows, above, np.any(W != 0.0, axis=0), lent):
            return np.full(len(W), -np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            tangent = self._tangent(rows, above, state, W, b, lent, tilt)
            return tangent.less(best_sums_up(tangent.opened(), self.room(state)))

    def forced(self, state: States, w: Vector, b: float, lent: Lent) -> tuple[Index, Vector]:
        """The open features, and bounds over the models of a node that have them."""
        room, ceiling = self.room(state), self.outer[1]
        features = self.opened(state)
        if room <= 0:
            return features, np.full(len(features), math.inf)
        if not self._sound(np.array([b]), lent):
            return features, np.zeros(len(features))
        rows = self.loss(state, lent)
        if not self._proved(rows, state, w != 0.0, lent):
            return features, np.zeros(len(features))
        with np.errstate(over="ignore", invalid="ignore"):
            tangent = self._tangent(rows, state, state, w[None], np.array([b]), lent)
            opened = tangent.opened()
            others = best_sums_up(opened, room - 1)
            found = tangent.less(up(others + opened[0]))
        return features, np.minimum(np.where(np.isnan(found), -math.inf, found), ceiling)

    def lending(self, state: States, lent: Lent) -> Lending | None:
        """What open features lend by supports; None where it does not make H convex."""
        key, last = state[: self.program.m].tobytes(), self._lending
        if last is not None and last[0] is lent and last[1] == key:
            return last[2]
        live = self.live(state)
        own, program = self.own[live], self.program
        with np.errstate(all="ignore"):
            found = Lending.of(
                self.rows[live],
                state[live] > 0,
                own,
                lent.shares[live] * own,
                lent.eta if program.fit_intercept else None,
                program.F.p * (lent.theta / (1.0 - lent.theta)),
                self.room(state),
                self._wider,
            )
        if found is not None and not np.all(found.lends[found.open] <= INSIDE * own[found.open]):
            found = None
        self._lending = lent, key, found
        return found

    def lends(self, state: States, lent: Lent) -> Vector | None:
        """What leaves the ridge of each feature that is left; None where H is not convex then."""
        lends: Vector = lent.shares * self.own
        if lent.sparse:
            found = self.lending(state, lent)
            if found is None:
                return None
            lends[self.live(state)] = found.lends
        return lends

    def _sound(self, b: Vector, lent: Lent) -> bool:
        theta, shares, eta = lent.theta, lent.shares, lent.eta
        if np.any(b != 0.0) and not self.program.fit_intercept:
            return False
        inside = np.all((theta >= 0.0) & (theta < 1.0))
        lends = np.all((shares > -np.inf) & (shares <= INSIDE)) and 0.0 <= eta < math.inf
        return bool(inside and lends and math.isfinite(lent.middle))

    def opened(self, state: States) -> Index:
        """The features that are neither in nor out."""
        return np.flatnonzero(state[: self.program.m] == 0)

    def room(self, state: States) -> int:
        """How many open features a model may have."""
        kept, program = state[: self.program.m], self.program
        opened = int(np.count_nonzero(kept == 0))
        if program.k is None:
            return opened
        taken = int(np.count_nonzero((kept > 0) & program.free))
        return min(opened, program.k - taken) if taken <= program.k else -1

    def _image(self, W: Vector) -> tuple[Vector, Vector]:
        """X w for each row w of W, and what it may be off by."""
        used = np.flatnonzero(np.any(W != 0.0, axis=0))
        rows, W = self.rows[used], W[:, used]
        roundings = self.program.matrix.entry_roundings
        size = np.abs(W)
        # Underflow: of each product, and of each entry before it meets its coefficient.
        lost = (len(used) + 4 + roundings * np.sum(size, axis=1)) * TINY
        off = (size @ np.abs(rows)) * (gamma(len(used) + 8 + roundings) * MORE)
        return W @ rows, off + lost[:, None]

    def _tangent(
        self,
        rows: NodeLoss,
        above: States,
        state: States,
        W: Vector,
        b: Vector,
        lent: Lent,
        tilt: Tilt | None = None,
    ) -> Tangent:
        """The tangent planes of the loss of the node `above`, for the models of one below it."""
        program, wider, n = self.program, self._wider, self.program.n
        p, y = program.F.p, program.y
        z, off = self._image(W)
        r = z + b[:, None] - self.target
        aside = np.abs(y) if program.offset is None else np.abs(y) + np.abs(program.offset)
        moved = off + 2.0**-50 * (np.abs(z) + np.abs(b)[:, None] + aside) + TINY
        value, t, lost, slip = rows.below(r, moved)
        lost = lost + slip * np.abs(z) + np.abs(t) * off
        size = (np.abs(value) + np.abs(t * z)) @ p
        total = (value - t * z) @ p
        wrong = (lost @ p) * MORE + 2.0 * gamma(n + 32) * size
        # The gradient on the features left, and its error.
        live, paid = self.live(state), self.lends(above, lent)
        assert paid is not None
        own, lends, weighted = self.own[live], paid[live], p * t
        # What a diagonal adds at a point: by supports, that of features that are in.
        held_in = above[: program.m] > 0
        under = np.where(held_in, W, 0.0) if lent.sparse else W
        added = lends * under[:, live]
        scores, terms = weighted @ self.rows[live].T + added, np.abs(added)
        if tilt is not None:
            pull = np.zeros(scores.shape)
            some = tilt.row < n
            pull[some] = self.rows[np.ix_(live, tilt.row[some])].T * tilt.tau[some, None]
            scores, terms = scores - pull, terms + np.abs(pull)
        root = np.sqrt(p)
        apart = norms_up(root * slip) + 2.0 * gamma(n + 32) * norms_up(root * t)
        radius = self._lengths[live] * apart[:, None] * MORE
        if lent.sparse:
            open_ = ~held_in[live]
            pull, pull_off, square, square_off = self._pull(above, W, lent)
            scores[:, open_] += (p * pull) @ self.rows[live[open_]].T
            apart = norms_up(root * pull_off) + 2.0 * gamma(n + 32) * norms_up(root * pull)
            radius[:, open_] += self._lengths[live[open_]] * apart[:, None] * MORE
            total, wrong, size = total - square, wrong + square_off, size + square
        radius = wider * (radius + 2.0**-48 * (np.abs(scores) + terms) + TINY)
        signed = np.where(program.positive[live], -scores, np.abs(scores))
        reach = np.maximum(signed + radius * MORE, 0.0)
        price = program.prices[live] * (1.0 - 2.0**-50)
        ridge = (own - lends) * (1.0 - 2.0**-50) - 2.0**-50 * own
        gains = np.square(reach) / (2.0 * ridge) * MORE - price
        gains[np.isnan(gains)] = np.inf
        kept = state[live]
        inside = gains[:, kept > 0]
        held = np.sum(inside, axis=1)
        squares = 0.5 * (lent.shares * self.own) * np.square(under)
        lend, lent_size = np.sum(squares, axis=1), np.sum(np.abs(squares), axis=1)
        held_size = np.sum(np.abs(inside), axis=1)
        wrong += 2.0 * gamma(program.m + 32) * (lent_size + held_size)
        paid, unsure = self._intercept(above, b, lent, weighted, p * slip, tilt)
        size = size + lent_size + held_size + np.abs(paid) + self.ball
        grain = wider * 2.0**-48 + (GRAIN if self._claim else 0.0)
        total = total - lend - held - paid - self.ball - wider * (wrong + unsure)
        return Tangent(total, size, grain, kept, gains)

    def _pull(self, state: States, W: Vector, lent: Lent) -> tuple[Vector, Vector, Vector, Vector]:
        """What lending by supports adds at points: K u as slopes of rows, u.K u/2, with errors."""
        lending = self.lending(state, lent)
        assert lending is not None
        z, off = self._image(np.where(state[: self.program.m] > 0, 0.0, W))
        moved, moved_off, square, square_off = lending.pull(z, off)
        kappa = lent.theta / (1.0 - lent.theta)
        pull = kappa * moved
        off = kappa * moved_off * MORE + 2.0**-48 * np.abs(pull) + TINY
        return pull, off, 0.5 * square, 0.5 * square_off

    def _intercept(
        self,
        state: States,
        b: Vector,
        lent: Lent,
        weighted: Vector,
        slip: Vector,
        tilt: Tilt | None,
    ) -> tuple[Vector, Vector]:
        """What the intercept costs, and what that may be off by."""
        if not self.program.fit_intercept:
            return np.zeros(len(b)), np.zeros(len(b))
        (low, high), eta, middle = self.range(state), lent.eta, lent.middle
        far = max(abs(low - middle), abs(high - middle))
        lean = eta * (b - middle)
        tau = np.zeros(len(b)) if tilt is None else tilt.tau
        slope = np.sum(weighted, axis=1) + lean - tau
        unsure = np.sum(slip, axis=1)
        unsure = unsure + 2.0 * gamma(self.program.n + 32) * np.sum(np.abs(weighted), axis=1)
        unsure = unsure + 2.0**-48 * (np.abs(lean) + np.abs(tau))
        unsure = unsure * np.maximum(np.abs(low - b), np.abs(high - b)) * MORE
        # The plane begins at b, where a tilt has tau b.
        paid = tau * b - np.minimum(slope * (low - b), slope * (high - b))
        lends = 0.5 * eta * (far * far - (b - middle) * (b - middle))
        # Differences are rounded relative to their terms.
        reach = abs(low) + abs(high) + abs(middle) + np.abs(b)
        scale = eta * reach * reach + (np.abs(slope) + np.abs(tau)) * reach
        return paid + lends, unsure + 2.0**-46 * scale

    @cached_property
    def _lengths(self) -> Vector:
        squares = np.square(self.rows) @ self.program.F.p
        lengths: Vector = np.sqrt(squares) * (1.0 + 2.0 * gamma(self.program.n + 32)) + TINY
        return lengths

    def _proved(self, rows: NodeLoss, state: States, used: Mask, lent: Lent) -> bool:
        """Whether H is proved convex at a node along the features left and those of its points.

        To know more of rows only adds curvature: one proof serves the nodes below it.
        """
        if lent.sparse:
            return self.lending(state, lent) is not None
        span: Mask = used.copy()
        span[self.live(state)] = True
        known = self._convex.get(id(lent))
        if known is not None:
            _, before, wider = known
            if np.all(before <= rows.least) and not np.any(span & ~wider):
                return True
        with np.errstate(over="ignore", invalid="ignore"):
            # With all rows in doubt there is less curvature, but also less rounding of large rows.
            blank = np.minimum(rows.least, -lent.theta / (1.0 - lent.theta))
            features = np.flatnonzero(span)
            for least in (rows.least, blank):
                if self._factors(least, lent, features):
                    self._convex[id(lent)] = lent, least, span
                    return True
        return False

    def matrix(self, least: Vector, lent: Lent, features: Index) -> tuple[Vector, Vector]:
        """M + L + eta on some features (and b, last), and the sizes that its diagonal adds.

        `least` are the least curvatures of the rows.
        """
        program, A = self.program, self.rows[features]
        lends = lent.shares[features] * self.own[features]
        if program.fit_intercept:
            A, lends = np.vstack((A, np.ones(program.n))), np.append(lends, lent.eta)
        weights = program.F.p * least
        matrix = (A * weights) @ A.T
        np.einsum("ii->i", matrix)[:] += lends
        return matrix, np.square(A) @ np.abs(weights) + np.abs(lends)

    def _factors(self, least: Vector, lent: Lent, features: Index) -> bool:
        return has_factor(*self.matrix(least, lent, features), self.program.n, self._wider)
