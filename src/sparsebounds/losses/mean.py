"""The data term F(z) = sum_i p_i loss(y_i, z_i + o_i), p_i = s_i / sum(s).

A weighted mean, so a weight of 2 is a row written twice. Its conjugate is
F*(a) = sum_i p_i loss*(y_i, a_i / p_i) - a.o.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Array, Index, namespace
from sparsebounds.losses.base import Loss

BLOCK = 1 << 14
"""Rows whose terms are summed at a time: vectors of so many stay in the cache."""


@dataclass(frozen=True)
class MeanLoss:
    """The data term F: a weighted mean of a loss.

    Parameters
    ----------
    loss : Loss
        The loss.
    y : array
        Its responses.
    p : array
        Their shares, which sum to 1.
    offset : array, optional
        Added to the predictions.

    Notes
    -----
    F(z) = sum_i p_i loss(y_i, z_i + o_i), and F*(a) = sum_i p_i loss*(y_i, a_i / p_i) - a.o.

    Examples
    --------
    >>> F = sb.losses.MeanLoss(sb.losses.Squared(), np.array([1.0, 3.0]), np.array([0.5, 0.5]))
    >>> F.value(np.zeros(2)), F.best_constant()
    (2.5, 2.0)
    """

    loss: Loss
    y: Array
    p: Array
    offset: Array | None = None

    @property
    def target(self) -> Array:
        """What z is compared with: the responses, less the offset."""
        return self.y if self.offset is None else self.y - self.offset

    def value(self, z: Array) -> float:
        """F(z)."""
        return self._mean(self.loss.value(self.y, self._shifted(z)))

    def values(self, z: Array) -> Array:
        """F(z) for every row of z."""
        values = self.loss.value(self.y, self._shifted(z))
        return namespace(values).sum(self.p * values, axis=-1)

    def of(self, some: Index) -> MeanLoss:
        """The terms of some rows of y and p, which have one per row of z."""
        return MeanLoss(self.loss, self.y[some], self.p[some], self.offset)

    def within(self, rows: slice) -> MeanLoss:
        """The terms of some rows of the data."""
        offset = None if self.offset is None else self.offset[rows]
        return MeanLoss(self.loss, self.y[rows], self.p[rows], offset)

    def gradient(self, z: Array) -> Array:
        """a = F'(z), a point of dom F*."""
        return self.p * self.loss.gradient(self.y, self._shifted(z))

    def curvature(self, z: Array) -> Array:
        """The diagonal of F''(z)."""
        return self.p * self.loss.curvature(self.y, self._shifted(z))

    def sums(self, z: Array) -> tuple[Array, Array]:
        """The sums of F'(z) and of the diagonal of F''(z) for every row of z, block by block."""
        xp, n, slope, bend = namespace(z), len(self.y), 0.0, 0.0
        for rows in (slice(i, i + BLOCK) for i in range(0, n, BLOCK)):
            F, here = self.within(rows), z[:, rows]
            slope = slope + xp.sum(F.gradient(here), axis=1)
            bend = bend + xp.sum(F.curvature(here), axis=1)
        return slope, bend

    def conjugate(self, a: Array) -> float:
        """F*(a) for a in dom F*."""
        value = self._mean(self.loss.conjugate(self.y, a / self.p))
        if self.offset is not None:
            value -= float(namespace(a).sum(a * self.offset))
        return value

    def clip(self, a: Array) -> Array:
        """The nearest point of dom F*."""
        return self.p * self.loss.clip(self.y, a / self.p)

    @property
    def infimum(self) -> float:
        """inf_z F(z) = -F*(0)."""
        return self._mean(self.loss.infimum(self.y))

    def best_constant(self) -> float:
        """argmin_b F(b, ..., b), by Newton steps kept inside a bracket that bisection shrinks.

        For a non-convex loss the best of local minima from many starts.
        """
        if not self.loss.convex:
            return best_local_constant(self)
        xp = namespace(self.y)
        if self.loss.two_class and self.offset is None and len(self.y) > 2:
            # Rows of one class are alike.
            shares = xp.stack([xp.sum(xp.where(self.y == y, self.p, 0.0)) for y in (-1.0, 1.0)])
            both = xp.asarray([-1.0, 1.0], dtype=self.y.dtype)
            return MeanLoss(self.loss, both, shares).best_constant()
        lo, hi, b, reach = -math.inf, math.inf, 0.0, 64.0
        for iteration in range(400):
            z = xp.full_like(self.y, b)
            slope = float(xp.sum(self.gradient(z)))
            if slope == 0.0:
                return b
            lo, hi = (lo, b) if slope > 0 else (b, hi)
            bend = float(xp.sum(self.curvature(z)))
            # Far up an exponential Newton's steps are 1 each: now and then another kind is taken.
            step = b - slope / bend if bend > 0 and iteration % 8 != 7 else math.nan
            if abs(step - b) <= 4e-16 * abs(b):
                return b
            # Far down an exponential they are much too long: without a bracket, `reach` at most.
            open_end = math.isinf(lo) or math.isinf(hi)
            if not lo < step < hi or (open_end and abs(step - b) > reach):
                if open_end:
                    step = b - math.copysign(reach, slope)
                    reach *= 16.0
                else:
                    step = 0.5 * (lo + hi)
            if not lo < step < hi:
                return b
            b = step
        return b

    def _shifted(self, z: Array) -> Array:
        return z if self.offset is None else z + self.offset

    def _mean(self, values: Array) -> float:
        return float(namespace(values).sum(self.p * values))


STARTS, STEPS, FAR = 101, 60, 40.0


def best_local_constant(F: MeanLoss) -> float:
    """The best local minimum of b -> F(b, ..., b) found from quantiles of the response."""
    starts = np.unique(np.append(np.quantile(F.target, np.linspace(0.0, 1.0, STARTS)), 0.0))
    if F.loss.two_class:
        middle = 0.0 if F.offset is None else -float(np.mean(F.offset))
        starts = np.concatenate((np.linspace(-2.0, 2.0, STARTS), [-FAR, FAR])) + middle
    values = np.array([F.value(np.full_like(F.y, b)) for b in starts])
    best, least = float(starts[np.argmin(values)]), float(np.min(values))
    b = best
    for _ in range(STEPS):
        z = np.full_like(F.y, b)
        bend = float(np.sum(F.curvature(z)))
        if not bend > 0.0:
            break
        b -= float(np.sum(F.gradient(z))) / bend
        value = F.value(np.full_like(F.y, b))
        if not value < least:
            break
        best, least = b, value
    return best
