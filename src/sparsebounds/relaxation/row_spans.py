"""Points that prove narrow spans of rows (`bounds.row_spans`).

The best upper end of row i is the largest x_i.w + b of all models up to the level. With tau its
multiplier it is proved at the minimum of the relaxation of a node less tau (x_i.w + b), where the
relaxation itself has risen to the level. Newton's method finds these minima for many rows in one
call, on the features that the node's own point uses: their part of the penalty is as it is there,
to second order. tau follows from how far the relaxation has risen. Ends are proved at any point, so
that single precision will do, and nothing depends on how near the minima are.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.bounds import Round, RowBounds, RowLoss
from sparsebounds.relaxation.rows import Node, node_penalty

Short: TypeAlias = Any
"""Arrays in single precision."""

FIRST, AGAIN = 7, 4
"""Newton steps for an end that is sought for the first time, and later."""

TURNS = 2
"""Steps after which tau is set anew, but for the last ones."""

TRIES = 3
"""Lengths of a step, at most."""

AT_ONCE = 1 << 17
"""Residuals at a time: about as many as a cache holds."""

SMALL = 1e-9
"""Curvature that every coefficient has."""

FEW = 60
"""Rows per coefficient that Newton's matrices are made of, at least: others are passed over."""


class Ends:
    """Where ends were found: upper ones of all rows and of the intercept, then lower ones."""

    def __init__(self, n: int, m: int) -> None:
        self.tau = np.zeros((2, n + 1))
        self.W, self.b = np.zeros((2, n + 1, m), dtype=np.float32), np.zeros((2, n + 1))

    def keep(self, found: Round) -> None:
        """Remember a round."""
        at = np.where(found.tau > 0.0, 0, 1), found.row
        self.tau[at], self.W[at], self.b[at] = np.abs(found.tau), found.W, found.b


def wanted(bounds: RowBounds, node: Node) -> tuple[Index, Vector]:
    """Rows and sides of the ends that would raise the losses of rows, or decide about them."""
    low, high = bounds.ends(node.state)
    loss, c = RowLoss(bounds.c, low, high, node.lent.theta), bounds.c
    r = bounds.residuals(node.w, node.b)
    upper: Mask = loss.doubt & ((high > c) | (r < -0.5 * c))
    lower: Mask = loss.doubt & ((low < -c) | (r > 0.5 * c))
    row = np.concatenate((np.flatnonzero(upper), np.flatnonzero(lower)))
    side = np.repeat([1.0, -1.0], [np.count_nonzero(upper), np.count_nonzero(lower)])
    order = np.argsort(row, kind="stable")
    row, side = row[order], side[order]
    if bounds.program.fit_intercept:
        row = np.concatenate(([bounds.program.n] * 2, row))
        side = np.concatenate(([1.0, -1.0], side))
    return row, side


class Reaching:
    """The relaxation of a node around its point, to be tilted.

    Residuals are in units of c, columns have mean square 1, and values are in units of c^2.
    """

    def __init__(self, bounds: RowBounds, node: Node, level: float) -> None:
        program, state, c = bounds.program, node.state, bounds.c
        self.bounds, self.node, self.n = bounds, node, program.n
        self.gap = max(level - node.value, level - node.lower) / c**2
        live, lends = bounds.live(state), bounds.lends(state, node.lent)
        assert lends is not None
        w, kept = node.w[live], (bounds.own - lends)[live]
        penalty = node_penalty(bounds, state, live).with_ridge(kept)
        used = (w != 0.0) | (state[live] > 0)
        self.used = live[used]
        kept = np.where(penalty.weights(w) >= 1.0, kept, 0.0)[used]
        lending = bounds.lending(state, node.lent) if node.lent.sparse else None
        bend = np.diag(lends[self.used]) if lending is None else lending.matrix[np.ix_(used, used)]
        bend, A, p = bend + np.diag(kept), bounds.rows[self.used], program.F.p
        if program.fit_intercept:
            A = np.vstack((A, np.ones(self.n)))
            bend = np.pad(bend, ((0, 1), (0, 1)))
            bend[-1, -1] = node.lent.eta
        size = np.sqrt(np.square(A) @ p)
        self.unit = c / np.where(size > 0.0, size, 1.0)
        """What a coefficient is in, per unit of its own."""

        A, scale = A * (self.unit / c)[:, None], self.unit / c
        bend = bend * scale * scale[:, None] + SMALL * np.eye(len(A))
        self.bend = bend.astype(np.float32)
        parts: list[Any] = [part / c for part in bounds.ends(state)]
        self.parts = [part.astype(np.float32) for part in (*parts, node.lent.theta)]
        self.loss = RowLoss(1.0, *self.parts)
        self.r: Short = (bounds.residuals(node.w, node.b) / c).astype(np.float32)
        value, self.slope, curvature = self.loss.at(self.r)
        matrix = (A * (p * np.maximum(curvature, 0.0))) @ A.T
        matrix += bend + 1e-3 * np.eye(len(A))
        self.inverse = np.linalg.inv(matrix)
        self.A, self.weighted = A.astype(np.float32), (A * p).T.astype(np.float32)
        self.p, self.value = p.astype(np.float32), float(p @ value)
        self._few(A, p)

    def _few(self, A: Vector, p: Vector) -> None:
        """The rows that Newton's matrices are made of, and the products of their entries."""
        skip = max(1, self.n // (FEW * max(len(A), 1)))
        self.some = np.arange(0, self.n, skip)
        self.places = np.tril_indices(len(A))
        first, second = self.places
        pairs = (A[first][:, self.some] * A[second][:, self.some]) * (p[self.some] * skip)
        self.pairs = np.ascontiguousarray(pairs.T, dtype=np.float32)
        self.fewer = RowLoss(1.0, *(part[self.some] for part in self.parts))

    @np.errstate(all="ignore")
    def found(self, row: Index, side: Vector, ends: Ends) -> Round:
        """Points for these ends, from where they were the last time."""
        node, count, c = self.node, len(self.used), self.bounds.c
        at = np.where(side > 0.0, 0, 1), row
        X = self._directions(row) * side[:, None]
        start = X @ self.inverse
        cold = np.sqrt(2.0 * self.gap / np.maximum(np.einsum("ij,ij->i", start, X), 1e-300))
        known = ends.tau[at] > 0.0
        tau = np.where(known, ends.tau[at] / c, cold)
        last = ends.W[at][:, self.used] - node.w[self.used]
        if self.bounds.program.fit_intercept:
            last = np.column_stack((last, ends.b[at] - node.b))
        v = np.where(known[:, None], last / self.unit, cold[:, None] * start).astype(np.float32)
        X, steps = X.astype(np.float32), AGAIN if known.all() else FIRST
        step = max(8, AT_ONCE // self.n)
        for first in range(0, len(row), step):
            some = slice(first, first + step)
            tau[some], v[some] = self._minima(X[some], tau[some], v[some], steps)
        change = v * self.unit
        W = np.repeat(node.w[None], len(row), axis=0)
        W[:, self.used] += change[:, :count]
        b = node.b + np.sum(change[:, count:], axis=1)
        W = W.astype(np.float32).astype(np.float64)
        sound = np.isfinite(tau) & (tau > 0.0) & np.all(np.isfinite(W), axis=1) & np.isfinite(b)
        found = Round(node.lent, row, tau * side * c, W, b, side * np.inf).part(sound)
        ends.keep(found)
        return found

    def _directions(self, row: Index) -> Vector:
        """x_i and 1, in the coordinates of this relaxation."""
        found, some = np.zeros((len(row), len(self.A))), row < self.n
        found[some] = self.A[:, row[some]].T
        if self.bounds.program.fit_intercept:
            found[:, -1] = 1.0
        return found

    def _minima(self, X: Short, tau: Short, v: Short, steps: int) -> tuple[Short, Short]:
        """Newton's method with lengths of steps from the slopes at both ends."""
        moved = v @ self.A
        for step in range(steps):
            if step % TURNS == (0 if steps == AGAIN else 1) and step < steps - 1:
                risen = np.maximum(self._risen(v, moved), 1e-9 * self.gap)
                part = np.clip(np.sqrt(self.gap / risen), 0.25, 4.0)
                tau = tau * part
                scale = part.astype(np.float32)[:, None]
                v, moved = v * scale, moved * scale
            gradient = self._gradient(v, moved, X, tau)
            move = -self._solved(moved, gradient)
            fall, length = np.einsum("ij,ij->i", move, gradient), np.ones(len(v), dtype=np.float32)
            change = move @ self.A
            for _ in range(TRIES):
                other, there = v + length[:, None] * move, moved + length[:, None] * change
                end = np.einsum("ij,ij->i", move, self._gradient(other, there, X, tau))
                far = end > 0.5 * np.abs(fall)
                if not far.any():
                    break
                shorter = length * np.abs(fall) / (np.abs(fall) + np.maximum(end, 1e-30))
                length = np.where(far, np.maximum(shorter, 0.1 * length), length)
            v, moved = v + length[:, None] * move, moved + length[:, None] * change
        return tau, v

    def _gradient(self, v: Short, moved: Short, X: Short, tau: Short) -> Short:
        slope = self.loss.slope(self.r + moved)
        slope -= self.slope
        found: Short = slope @ self.weighted + v @ self.bend - tau.astype(np.float32)[:, None] * X
        return found

    def _risen(self, v: Short, moved: Short) -> Short:
        """How far the relaxation has risen at v."""
        value = self.loss.at(self.r + moved)[0]
        risen: Short = value @ self.p - self.value - moved @ (self.p * self.slope)
        return risen + 0.5 * np.einsum("ij,ij->i", v @ self.bend, v)

    def _solved(self, moved: Short, gradient: Short) -> Short:
        """H^-1 gradient, each with its own H."""
        curvature = self.fewer.at((self.r + moved)[:, self.some])[2]
        matrix = np.empty((len(moved), len(self.A), len(self.A)), dtype=np.float32)
        first, second = self.places
        matrix[:, first, second] = matrix[:, second, first] = curvature @ self.pairs
        matrix += self.bend
        try:
            found: Short = np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            found = gradient @ self.inverse.astype(np.float32)
        return found
