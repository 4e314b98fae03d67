"""The smooth part of any convex loss, through z = A w + b.

The intercept is one more, unpenalised, coordinate of Newton's system.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from sparsebounds._support.array import HOST, Array, Home, Index, Vector
from sparsebounds._support.linear import gram, product
from sparsebounds.losses import Loss, MeanLoss
from sparsebounds.program import Program
from sparsebounds.relaxation.points import SmoothPoint, SmoothPoints
from sparsebounds.relaxation.smooth import WorkingPart

FLAT = 1e-6
"""Curvature granted where a loss has none (Huber's tails), relative to the most it can have."""

BALANCING, BALANCED = 12, 1e-15
"""Newton steps for an intercept, and the slope at which it is the best one."""


class GeneralPart(WorkingPart):
    """Any convex loss: derivatives through z = A w + b."""

    def __init__(self, program: Program, home: Home) -> None:
        super().__init__(program, home)
        self.has_intercept = program.fit_intercept
        self._F = program.F if home is HOST else _moved(program.F, home)
        self._squares = np.empty(0)
        self._last: tuple[SmoothPoint, Array] | None = None

    def add(self, columns: Array) -> None:
        super().add(columns)
        self._squares = np.append(self._squares, self._home.fetch(self._F.p @ columns**2))

    def part(self, index: Index) -> GeneralPart:
        part = copy.copy(self)
        part._store, part.size = self._home.rows(self._rows, index), len(index)
        part._squares = self._squares[index]
        return part

    def at(self, w: Vector, b: float) -> SmoothPoint:
        F, z = self._F, self._image(w) + b
        with np.errstate(over="ignore", invalid="ignore"):
            a = F.gradient(z)
            value = F.value(z)
        slope = float(self._home.xp.sum(a)) if self.has_intercept else 0.0
        return SmoothPoint(w, b, value, self._scores(a), slope, z)

    def at_many(self, w: Vector, b: Vector) -> SmoothPoints:
        home, F = self._home, self._F
        z = self._images(w) + home.bring(b)[:, None]
        if self.has_intercept:
            b, z = self._balanced(b, z)
        with np.errstate(over="ignore", invalid="ignore"):
            a, value = F.gradient(z), home.fetch(F.values(z))
        gradient = self._scores_many(a)
        slope = home.fetch(home.xp.sum(a, axis=1)) if self.has_intercept else np.zeros(len(w))
        return SmoothPoints(w, b, value, gradient, slope, z)

    def _scores(self, a: Array) -> Vector:
        """A^T a."""
        return self._home.fetch(product(self._rows, a))

    def _images(self, w: Vector) -> Array:
        """A w for every row of w, at home."""
        home, used = self._home, np.flatnonzero(np.any(w != 0.0, axis=0))
        return product(home.bring(w[:, used]), home.rows(self._rows, used))

    def _scores_many(self, a: Array) -> Vector:
        """A^T a for every row of a."""
        return self._home.fetch(product(a, self._rows.T))

    def metric(self, point: SmoothPoint) -> Vector:
        # The mean curvature in place of each row's own: a metric need not be exact.
        # Far down an exponential it is as small as the slope.
        total, fades = self._home.xp.sum, self.fades(point)
        slope = float(total(abs(self._F.gradient(point.z)))) if fades else np.inf
        return self._squares * max(float(total(self._bend(point))), min(slope, self._least))

    def magnitude(self, point: SmoothPoint) -> float:
        # The rounding of predictions counts as much as the slopes there.
        z: Array = point.z
        return abs(point.value) + float(abs(self._F.gradient(z)) @ abs(z))

    def fades(self, point: SmoothPoint) -> bool:
        return 0.0 < float(self._home.xp.sum(self._bend(point))) < self._least

    def metrics(self, points: SmoothPoints) -> Vector:
        assert points.z is not None
        bend = self._home.fetch(self._home.xp.sum(self._F.curvature(points.z), axis=1))
        return np.outer(np.maximum(bend, self._least), self._squares)

    @property
    def _least(self) -> float:
        """The curvature granted where there is none."""
        return least_bend(self.program.loss)

    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        rows, right = self._weighted(point, active)
        return self._home.fetch(gram(rows)), right

    def _weighted(self, point: SmoothPoint, active: Index) -> tuple[Array, Vector]:
        assert point.z is not None
        xp, bend, gradient = self._home.xp, self._bend(point), point.gradient[active]
        rows = self._home.rows(self._rows, active)
        if self.has_intercept:
            rows = xp.concat((rows, xp.ones_like(bend)[None, :]))
            gradient = np.append(gradient, point.slope)
        right = self._home.fetch(product(rows, bend * point.z)) - gradient
        return rows * xp.sqrt(bend), right

    def _balanced(self, b: Vector, z: Array) -> tuple[Vector, Array]:
        """Each row's best intercept by Newton's method: only then is a = F'(z) a dual vector."""
        F, home = self._F, self._home
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(BALANCING):
                slope, bend = map(home.fetch, F.sums(z))
                if not np.any(np.abs(slope) > BALANCED):
                    break
                step = slope / bend
                step = np.where(np.isfinite(step), np.clip(step, -2.0, 2.0), 0.0)
                b, z = b - step, z - home.bring(step)[:, None]
        return b, z

    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        assert point.z is not None
        assert other.z is not None
        start, step = point.z, other.z - point.z

        def derivative(t: float) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                slope = float(self._F.gradient(start + t * step) @ step)
            return np.inf if np.isnan(slope) else slope

        return derivative

    def predictions(self, w: Vector, b: float) -> Vector:
        return self._home.fetch(self._image(w)) + b

    def _bend(self, point: SmoothPoint) -> Array:
        """F''(z); that of the last point is kept."""
        if self._last is None or self._last[0] is not point:
            assert point.z is not None
            self._last = point, self._F.curvature(point.z)
        return self._last[1]


def _moved(F: MeanLoss, home: Home) -> MeanLoss:
    """F with its vectors brought home."""
    offset = None if F.offset is None else home.bring(F.offset)
    return MeanLoss(F.loss, home.bring(F.y), home.bring(F.p), offset)


def least_bend(loss: Loss) -> float:
    """The curvature granted where a loss has none."""
    return FLAT * (1.0 if np.isnan(loss.smoothness) else loss.smoothness)
