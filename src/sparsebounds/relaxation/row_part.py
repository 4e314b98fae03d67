"""H, the loss of a node for the truncated loss (`bounds.rows`), as Newton's method asks for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import Lent, RowBounds, States
from sparsebounds.relaxation.points import SmoothPoint
from sparsebounds.relaxation.smooth import Smooth

STEEP = 100.0
"""The curvature of the quadratic that keeps the intercept in its range."""


class RowPart(Smooth):
    """H at a node on the features left, with what is lent to it."""

    def __init__(self, bounds: RowBounds, state: States, lent: Lent) -> None:
        program = bounds.program
        self.has_intercept = program.fit_intercept
        live = bounds.live(state)
        self.rows = bounds.rows if len(live) == program.m else bounds.rows[live]
        self.loss = bounds.loss(state, lent)
        self._lends = lent.shares[live] * bounds.own[live]
        self._matrix: Vector | None = None
        """What features lend: a diagonal, or a matrix where they lend by supports."""

        if lent.sparse:
            lending = bounds.lending(state, lent)
            assert lending is not None
            self._matrix = lending.matrix
            self._lends = np.diagonal(self._matrix)
        self._p = program.F.p
        self._target = bounds.target
        self._low, self._high = bounds.range(state)
        self._eta, self._middle = lent.eta, lent.middle
        self._last: tuple[SmoothPoint, Vector] | None = None

    def at(self, w: Vector, b: float) -> SmoothPoint:
        z = w @ self.rows + b
        value, slope, bend = self.loss.at(z - self._target)
        a, lent = self._p * slope, self._lent(w)
        total = float(self._p @ value) + 0.5 * float(lent @ w)
        rise = 0.0
        if self.has_intercept:
            aside, beyond = b - self._middle, self._beyond(b)
            total += 0.5 * self._eta * aside**2 + 0.5 * STEEP * beyond**2
            rise = float(np.sum(a)) + self._eta * aside + STEEP * beyond
        point = SmoothPoint(w, b, total, self.rows @ a + lent, rise, z)
        self._last = point, self._p * bend
        return point

    def _lent(self, w: Vector) -> Vector:
        """The gradient of what is lent."""
        lent: Vector = self._lends * w if self._matrix is None else self._matrix @ w
        return lent

    def metric(self, point: SmoothPoint) -> Vector:
        diagonal: Vector = self._squares @ self._bend(point) + self._lends
        least = 1e-3 * (self._squares @ self._p + np.abs(self._lends))
        found: Vector = np.maximum(diagonal, least)
        return found

    @cached_property
    def _squares(self) -> Vector:
        return np.square(self.rows)

    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        assert point.z is not None
        bend, rows = self._bend(point), self.rows[active]
        gradient, lent = point.gradient[active], self._lent(point.w)[active]
        if self.has_intercept:
            rows = np.vstack((rows, np.ones(len(bend))))
            held = self._eta + STEEP * (self._beyond(point.b) != 0.0)
            gradient, lent = np.append(gradient, point.slope), np.append(lent, held * point.b)
        matrix, count = (rows * bend) @ rows.T, len(active)
        if self._matrix is None:
            np.einsum("ii->i", matrix)[:count] += self._lends[active]
        else:
            matrix[:count, :count] += self._matrix[np.ix_(active, active)]
        if self.has_intercept:
            matrix[count, count] += held
        return matrix, rows @ (bend * point.z) + lent - gradient

    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        assert point.z is not None
        assert other.z is not None
        step, rise = other.w - point.w, other.b - point.b
        r, change = point.z - self._target, other.z - point.z
        weighted = self._p * change
        lent = self._lent(step)
        bend = float(lent @ step) + self._eta * rise**2
        start = float(lent @ point.w) + self._eta * (point.b - self._middle) * rise

        def derivative(t: float) -> float:
            slope = float(weighted @ self.loss.slope(r + t * change)) + start + t * bend
            return slope + STEEP * self._beyond(point.b + t * rise) * rise

        return derivative

    def _beyond(self, b: float) -> float:
        return max(b - self._high, 0.0) - max(self._low - b, 0.0)

    def _bend(self, point: SmoothPoint) -> Vector:
        if self._last is None or self._last[0] is not point:
            self.at(point.w, point.b)
            assert self._last is not None
            return self._last[1]
        return self._last[1]
