"""The penalty on the working set, as Newton's method sees it.

With t_i = sqrt(ridge_i) |w_i| and a slope beta, a free feature costs beta t_i while t_i < beta
(the linear part, u_i = t_i / beta < 1) and a quadratic beyond (u_i = 1). In the l0 forms beta_i =
sqrt(2 l0_i) is given; in the k forms one beta makes the u_i sum to k, and depends on w:

    l0    h(w) = sum_i beta_i t_i  (linear),  (t_i^2 + beta_i^2)/2  (quadratic)
    k     h(w) = sum_i t_i max(t_i, beta)/2,  beta = (sum of t_i, linear) / (k - number quadratic)

Features inside the support are quadratic always. The ball's forms are these with ridge = eta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebounds._array import Index, Mask, Vector
from sparsebounds.penalties.selection import slope, split


@dataclass(frozen=True)
class Slopes:
    """h at a point: its value, its gradient at the nonzeros and its kink at the zeros."""

    value: float
    gradient: Vector
    """dh/dw_i where w_i != 0, and 0 elsewhere."""

    threshold: Vector
    """|dF/dw_i| up to this keeps a zero w_i at zero."""

    beta: float
    """The slope of the k form; NaN in the l0 forms, where each feature has its own."""


@dataclass(frozen=True)
class Pattern:
    """A smooth piece of h: sum over `active` of ridge/2 w^2 (quadratic) or a linear term."""

    active: Index
    sign: Vector
    """The sign each coordinate has on this piece; 0: either."""

    ridge: Vector
    """ridge_i on the quadratic part, 0 on the linear part."""

    linear: Vector
    """The constant gradient on the linear part (l0 forms), else 0."""

    direction: Vector | None
    """k form: the gradient there is direction (direction.w) / share."""

    share: float


@dataclass(frozen=True)
class WorkingPenalty:
    """h on the working set: one of `beta` (l0 forms) and `k`."""

    ridge: Vector
    beta: Vector | None
    k: int | None
    inside: Mask
    positive: Mask

    @cached_property
    def root(self) -> Vector:
        """sqrt(ridge)."""
        root: Vector = np.sqrt(self.ridge)
        return root

    def part(self, index: Index) -> WorkingPenalty:
        """h on some of the features, where the others are 0."""
        beta = None if self.beta is None else self.beta[index]
        return WorkingPenalty(
            self.ridge[index], beta, self.k, self.inside[index], self.positive[index]
        )

    def slopes(self, w: Vector) -> Slopes:
        """h and its derivatives at w, which must obey the signs."""
        root = self.root
        t = root * np.abs(w)
        if self.beta is not None:
            beta, mean = self.beta, math.nan
            free = np.where(t < beta, beta * t, 0.5 * (t * t + beta * beta))
            cost = np.where(self.inside, 0.5 * (t * t + beta * beta), free)
            steep = np.where(self.inside, t, np.maximum(t, beta))
            value = float(np.sum(cost))
        else:
            mean = self.slope_of(t)
            beta = np.full(len(w), mean)
            # The slope is infinite where nothing more may be taken (k = 0): zeros stay zeros.
            steep = np.where(self.inside | (t == 0.0), t, np.maximum(t, mean))
            value = 0.5 * float(np.sum(t * steep))
        threshold = np.where(self.inside, 0.0, root * beta)
        gradient = np.where(t > 0, root * steep * np.sign(w), 0.0)
        return Slopes(value, gradient, threshold, mean)

    def slope_of(self, t: Vector) -> float:
        """beta of the k form at lengths t."""
        free = np.where(self.inside, 0.0, t)
        if self.k == 0:
            return math.inf
        return slope(free, int(self.k or 0))

    def weights(self, w: Vector) -> Vector:
        """The u that attains h(w)."""
        t = self.root * np.abs(w)
        beta = self.beta if self.beta is not None else np.full(len(w), self.slope_of(t))
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(t < beta, t / beta, (t > 0).astype(np.float64))
        return np.where(self.inside, 1.0, u)

    def conjugate(self, s: Vector) -> float:
        """h*(s)."""
        reach = np.where(self.positive, np.maximum(s, 0.0), np.abs(s))
        gains = 0.5 * (reach / self.root) ** 2
        if self.beta is not None:
            extra = gains - 0.5 * self.beta**2
            return float(np.sum(np.where(self.inside, extra, np.maximum(extra, 0.0))))
        free = gains[~self.inside]
        total = float(np.sum(gains[self.inside]))
        count = min(int(self.k or 0), len(free))
        if count == 0:
            return total
        return total + float(np.sum(np.partition(free, len(free) - count)[len(free) - count :]))

    def pattern(self, q: Vector, step: Vector) -> Pattern:
        """The piece of h that a proximal step of lengths `step` from q lands on."""
        root = self.root
        reach = np.where(self.positive, np.maximum(q, 0.0), np.abs(q))
        t, shift = root * reach, np.maximum(step * self.ridge, np.finfo(float).tiny)
        if self.beta is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(self.beta > 0, t / self.beta, np.where(t > 0, np.inf, 0.0))
            u = np.clip(ratio - shift, 0.0, 1.0)
        else:
            shares = split(np.where(self.inside, 0.0, t), shift, int(self.k or 0))
            u = np.zeros(len(q))
            u[shares.index] = shares.u
        u[self.inside] = 1.0
        if self.beta is None and np.count_nonzero((u == 1.0) & ~self.inside) >= int(self.k or 0):
            # Full features use up the budget: what rounding leaves to others is no share of it.
            u[u < 1.0] = 0.0
        active = np.flatnonzero((u > 0) & ~(self.positive & (q <= 0)))
        full = u[active] == 1.0
        # Inside the support either sign will do, unless one is asked for.
        sign = np.where(self.inside & ~self.positive, 0.0, np.sign(q))[active]
        direction, share = None, math.inf
        linear = np.zeros(len(active))
        if self.beta is not None:
            linear = np.where(full, 0.0, (root * self.beta)[active] * sign)
        elif not np.all(full):
            direction = np.where(full, 0.0, root[active] * sign)
            counted = int(np.count_nonzero(full & ~self.inside[active]))
            share = float(int(self.k or 0) - counted)
        ridge = np.where(full, self.ridge[active], 0.0)
        return Pattern(active, sign, ridge, linear, direction, share)
