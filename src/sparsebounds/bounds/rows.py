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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.rounding import TINY, gamma, norm_up, sum_up, up
from sparsebounds.bounds.dual import GRAIN, WIDER
from sparsebounds.bounds.enclosure import enclosed
from sparsebounds.bounds.lower import best_sum_up
from sparsebounds.bounds.many import MORE, States
from sparsebounds.bounds.minorant import own_ridges
from sparsebounds.bounds.row_loss import Lent, RowLoss, Switches
from sparsebounds.bounds.row_smooth import SmoothRowLoss
from sparsebounds.losses import ResidualLoss, Truncated
from sparsebounds.program import Program

INSIDE = 63 / 64
"""The part of its ridge that a feature lends at most: where it is in."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """A bound, but for what open features gain."""

    total: float
    size: float
    grain: float
    kept: States
    """The states of the features left."""

    gains: Vector

    def less(self, gain: float) -> float:
        """The bound, where they gain so much."""
        size = self.size + abs(self.total) + abs(gain)
        return self.total - gain - self.grain * size - TINY


Outer: TypeAlias = tuple[tuple[float, float], float]
"""A range of the intercept, and a lower bound on the models that it leaves out."""


def outer_range(
    program: Program, level: float, boxes: Sequence[Vector] = (), *, claim: bool = False
) -> Outer:
    """The intercepts of models whose objective is at most `level`, as these dual vectors cut them.

    See `bounds.enclosure`.
    """
    if not program.fit_intercept:
        return (0.0, 0.0), math.inf
    box = enclosed(program, level, boxes, WIDER if claim else 1.0).box
    assert box is not None
    return box.intercept, box.ceiling


class RowBounds:
    """Such bounds for the nodes of one program, with intercepts in the range `outer`.

    `eta` is the multiplier of the ball. With `claim`, bounds leave the room for rounding that
    claims do (`bounds.dual`).
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
        assert isinstance(program.loss, ResidualLoss)
        self.c = program.loss.c
        self.own = own_ridges(program, eta)
        self.rows = np.ascontiguousarray(program.matrix.columns(np.arange(program.m)).T)
        """X, one feature per row."""

        self.ball = 0.0 if program.ball is None else up(0.5 * up(eta * program.ball))
        self._convex: dict[int, tuple[Lent, States, Mask]] = {}

    @staticmethod
    def known(program: Program) -> bool:
        """Whether there are such bounds for a program."""
        loss = program.loss
        smooth = isinstance(loss, ResidualLoss) and math.isfinite(loss.dip)
        single = program.groups.single and program.matrix.elementwise
        return (smooth or isinstance(loss, Truncated)) and single

    def residuals(self, w: Vector, b: float) -> Vector:
        """r = z - y, as computed."""
        program, used = self.program, np.flatnonzero(w)
        target = program.y if program.offset is None else program.y - program.offset
        residuals: Vector = w[used] @ self.rows[used] + b - target
        return residuals

    def loss(self, state: States, lent: Lent) -> RowLoss | SmoothRowLoss:
        """The rows' losses at a node."""
        loss = self.program.loss
        if isinstance(loss, ResidualLoss) and not isinstance(loss, Truncated):
            return SmoothRowLoss(loss, lent.theta)
        return RowLoss(self.c, *self.switches.sides(state), lent.theta)

    def live(self, state: States) -> Index:
        """The features that a model of the node may have."""
        kept = state[: self.program.m]
        return np.flatnonzero(kept >= 0 if self.room(state) > 0 else kept > 0)

    def bound(self, state: States, w: Vector, b: float, lent: Lent) -> float:
        """A proved lower bound over the models of a node: 0 where H is not proved convex.

        `w` and `b` are any coefficients: also of features that no model of the node has.
        """
        room = self.room(state)
        outer, ceiling = self.outer
        low, high = self.switches.range(state, outer)
        above, below = self.switches.sides(state)
        if room < 0 or low > high or np.any((above > 0) & (below > 0)):
            return math.inf
        if not self._proved(state, w, b, lent):
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            tangent = self._tangent(state, w, b, lent)
            opened = tangent.gains[tangent.kept == 0]
            found = tangent.less(best_sum_up(opened, 0, room))
        # No row costs less than nothing.
        return 0.0 if math.isnan(found) else max(min(found, ceiling), 0.0)

    def forced(self, state: States, w: Vector, b: float, lent: Lent) -> tuple[Index, Vector]:
        """The open features, and bounds over the models of a node that have them."""
        room, ceiling = self.room(state), self.outer[1]
        features = self.opened(state)
        if room <= 0:
            return features, np.full(len(features), math.inf)
        if not self._proved(state, w, b, lent):
            return features, np.zeros(len(features))
        with np.errstate(over="ignore", invalid="ignore"):
            tangent = self._tangent(state, w, b, lent)
            opened = tangent.gains[tangent.kept == 0]
            others = best_sum_up(opened, 0, room - 1)
            found = np.array([tangent.less(up(others + gain)) for gain in opened])
        return features, np.minimum(np.where(np.isnan(found), -math.inf, found), ceiling)

    def _sound(self, b: float, lent: Lent) -> bool:
        theta, shares, eta = lent.theta, lent.shares, lent.eta
        if b != 0.0 and not self.program.fit_intercept:
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

    def _tangent(self, state: States, w: Vector, b: float, lent: Lent) -> Tangent:
        program, wider, n = self.program, self._wider, self.program.n
        p, y, rows = program.F.p, program.y, self.loss(state, lent)
        used = np.flatnonzero(w)
        z, off = program.matrix.image(used, w[used])
        target = y if program.offset is None else y - program.offset
        r = z + b - target
        aside = np.abs(y) if program.offset is None else np.abs(y) + np.abs(program.offset)
        # What the residual may be off by, then the slope, then the value.
        moved = off + 2.0**-50 * (np.abs(z) + abs(b) + aside) + TINY
        value, t, _ = rows.at(r)
        slip = rows.bend * (2.0 * moved + 2.0**-46 * (rows.unsaturated(r) + self.c))
        slip = slip + 2.0**-46 * np.abs(t)
        lost = (np.abs(t) + slip) * moved * 2.0 + 2.0**-44 * rows.sizes(r)
        lost = lost + slip * np.abs(z) + np.abs(t) * off
        value = value + rows.pushed(r)
        terms = p * (value - t * z)
        size = float(np.sum(p * (np.abs(value) + np.abs(t * z))))
        wrong = float(np.sum(p * lost)) * MORE + 2.0 * gamma(n + 32) * size
        # The gradient on the features left, and its error.
        live = self.live(state)
        own, lends = self.own[live], lent.shares[live] * self.own[live]
        weighted = p * t
        scores = self.rows[live] @ weighted + lends * w[live]
        apart = norm_up(np.sqrt(p) * slip) + 2.0 * gamma(n + 32) * norm_up(np.sqrt(p) * t)
        radius = self._lengths[live] * apart * MORE
        radius = wider * (radius + 2.0**-48 * (np.abs(scores) + np.abs(lends * w[live])) + TINY)
        signed = np.where(program.positive[live], -scores, np.abs(scores))
        reach = np.maximum(signed + radius * MORE, 0.0)
        price = program.prices[live] * (1.0 - 2.0**-50)
        ridge = (own - lends) * (1.0 - 2.0**-50) - 2.0**-50 * own
        gains = np.square(reach) / (2.0 * ridge) * MORE - price
        gains[np.isnan(gains)] = np.inf
        kept = state[live]
        held = sum_up(gains[kept > 0])
        squares = 0.5 * lent.shares[used] * self.own[used] * np.square(w[used])
        lend, lent_size = float(np.sum(squares)), float(np.sum(np.abs(squares)))
        wrong += 2.0 * gamma(len(used) + 32) * lent_size
        b_range = self.switches.range(state, self.outer[0])
        paid, unsure = self._intercept(b, lent, b_range, weighted, p * slip)
        total = float(np.sum(terms)) - lend - held - paid - self.ball
        size += lent_size + abs(held) + abs(paid) + self.ball
        grain = wider * 2.0**-48 + (GRAIN if self._claim else 0.0)
        return Tangent(total - wider * (wrong + unsure), size, grain, kept, gains)

    def _intercept(
        self, b: float, lent: Lent, b_range: tuple[float, float], weighted: Vector, slip: Vector
    ) -> tuple[float, float]:
        """What the intercept costs, and what that may be off by."""
        if not self.program.fit_intercept:
            return 0.0, 0.0
        (low, high), eta, middle = b_range, lent.eta, lent.middle
        far = max(abs(low - middle), abs(high - middle))
        lean = eta * (b - middle)
        slope = float(np.sum(weighted)) + lean
        unsure = float(np.sum(slip)) + 2.0 * gamma(self.program.n + 32) * float(
            np.sum(np.abs(weighted))
        )
        unsure = (unsure + 2.0**-48 * abs(lean)) * max(abs(low - b), abs(high - b)) * MORE
        paid = -min(slope * (low - b), slope * (high - b))
        lends = 0.5 * eta * (far * far - (b - middle) * (b - middle))
        # Differences are rounded relative to their terms.
        reach = abs(low) + abs(high) + abs(middle) + abs(b)
        scale = eta * reach * reach + abs(slope) * reach
        return paid + lends, unsure + 2.0**-46 * scale

    @cached_property
    def _lengths(self) -> Vector:
        squares = np.square(self.rows) @ self.program.F.p
        lengths: Vector = np.sqrt(squares) * (1.0 + 2.0 * gamma(self.program.n + 32)) + TINY
        return lengths

    def _proved(self, state: States, w: Vector, b: float, lent: Lent) -> bool:
        """Whether H is proved convex at a node along the features left and those of w.

        Deciding about rows only adds curvature: one proof serves the nodes below it.
        """
        if not self._sound(b, lent):
            return False
        span: Mask = w != 0.0
        span[self.live(state)] = True
        known, rows = self._convex.get(id(lent)), state[self.program.m :][: 2 * self.program.n]
        if known is not None:
            _, before, wider = known
            if np.all((before == rows) | (before == 0)) and not np.any(span & ~wider):
                return True
        with np.errstate(over="ignore", invalid="ignore"):
            # With all rows in doubt there is less curvature, but also less rounding of large rows.
            blank = np.zeros_like(state)
            blank[: self.program.m] = state[: self.program.m]
            features = np.flatnonzero(span)
            sound = any(self._factors(one, lent, features) for one in (state, blank))
        if sound:
            self._convex[id(lent)] = lent, rows, span
        return sound

    def matrix(self, state: States, lent: Lent, features: Index) -> tuple[Vector, Vector]:
        """M + L + eta on some features (and b, last), and the sizes that its diagonal adds."""
        program, A = self.program, self.rows[features]
        if program.fit_intercept:
            A = np.vstack((A, np.ones(program.n)))
        weights = program.F.p * self.loss(state, lent).least
        lends = lent.shares[features] * self.own[features]
        if program.fit_intercept:
            lends = np.append(lends, lent.eta)
        matrix = (A * weights) @ A.T
        np.einsum("ii->i", matrix)[:] += lends
        return matrix, np.square(A) @ np.abs(weights) + np.abs(lends)

    def _factors(self, state: States, lent: Lent, features: Index) -> bool:
        """Whether M + L + eta less more than every rounding has a Cholesky factor (Rump, 2006)."""
        matrix, size = self.matrix(state, lent, features)
        count, n = len(size), self.program.n
        if count == 0:
            return True
        if not np.all(np.isfinite(matrix)):
            return False
        unit = np.exp2(-np.round(0.5 * np.log2(np.where(size > 0.0, size, 1.0))))
        square = np.square(unit)
        trace = float(np.sum(size * square)) * MORE
        spare = (4.0 * gamma(n + 64) + 16.0 * gamma(count + 32)) * trace
        spare += (n + count + 8) * TINY * float(np.sum(square))
        matrix = (matrix * unit * unit[:, None]).T
        np.einsum("ii->i", matrix)[:] -= self._wider * spare
        factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        return int(failed) == 0 and bool(np.all(np.isfinite(np.diagonal(factor))))
