"""h(w) = min over u in [0, 1]^m of sum_i ridge_i/2 w_i^2/u_i + cost(u): what both penalties share.

u_i = 1 for the features inside the support and w_i = 0 for those outside it; the rest are free.
Where `positive`, w_i >= 0 is asked, and lengths are one-sided: max(0, s_i) in place of |s_i|.

With t_i = sqrt(ridge_i) |w_i| and a slope beta_i, a free feature costs beta_i t_i while
t_i < beta_i (the linear part, u_i = t_i/beta_i < 1) and a quadratic beyond (u_i = 1). The l0 form
gives each feature its beta_i; in the k form one beta makes the u_i sum to k, and depends on w.
Features inside the support are always on the quadratic part.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sparsebounds._support.array import Index, Vector

SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Slopes:
    """h at a point: its value, its gradient at the nonzeros and its kink at the zeros."""

    value: float
    gradient: Vector
    """dh/dw_i where w_i != 0, and 0 elsewhere."""

    threshold: Vector
    """|dF/dw_i| up to this keeps a zero w_i at zero."""

    beta: float
    """The slope of the k form; NaN in the l0 form, where each feature has its own."""


@dataclass(frozen=True)
class Pattern:
    """A smooth piece of h: sum over `active` of ridge/2 w^2 (quadratic) or a linear term."""

    active: Index
    sign: Vector
    """The sign each coordinate has on this piece; 0: either."""

    ridge: Vector
    """ridge_i on the quadratic part, 0 on the linear part."""

    linear: Vector
    """The constant gradient on the linear part (l0 form), else 0."""

    direction: Vector | None
    """k form: the gradient there is direction (direction.w) / share."""

    share: float


class Penalty(ABC):
    """A convex penalty on w with the features inside and outside the support told."""

    ridge: Any
    """The ridge weights, > 0: one number, or one per feature."""
    inside: Any
    """Features with u_i = 1."""
    outside: Any
    """Features with w_i = 0; none of them is inside."""
    positive: Any
    """Features with w_i >= 0."""

    def value(self, w: Vector) -> float:
        """h(w), +infinity where w is not allowed."""
        return self.slopes(w).value if self.allows(w) else math.inf

    @abstractmethod
    def price(self, u: Vector) -> float:
        """What allowed weights u cost."""

    def cost(self, u: Vector) -> float:
        """What the weights u cost, +infinity where they are not allowed."""
        return self.price(u)

    @abstractmethod
    def conjugate(self, s: Vector) -> float:
        """h*(s) = max over w of s.w - h(w)."""

    @abstractmethod
    def multiplier(self, s: Vector, ball: float) -> float:
        """The ridge eta, one for all features, that makes eta ball/2 + h*(s) nearly the least."""

    @abstractmethod
    def _slope(self, t: Vector) -> Any:
        """beta at lengths t."""

    @abstractmethod
    def _total(self, t: Vector, beta: Any, steep: Vector) -> float:
        """h at lengths t; steep_i is t_i on the quadratic part and beta_i on the linear part."""

    @abstractmethod
    def _landing(self, t: Vector, shift: Vector) -> Vector:
        """The weights u of a proximal step: clip(t_i/beta_i - shift_i, 0, 1) where free."""

    @abstractmethod
    def _line(self, pull: Vector, active: Index, full: int) -> tuple[Vector, Vector | None, float]:
        """(linear, direction, share) of a piece with `full` free features on the quadratic part.

        pull_i is sqrt(ridge_i) sign_i on the linear part of the active features, and 0 elsewhere.
        """

    @cached_property
    def root(self) -> Any:
        """sqrt(ridge)."""
        return np.sqrt(self.ridge)

    def with_ridge(self, ridge: Any) -> Self:
        """The same with another ridge."""
        return replace(self, ridge=ridge)  # type: ignore[type-var]

    def slopes(self, w: Vector) -> Slopes:
        """h and its derivatives at w, which must be allowed."""
        t = self.root * np.abs(w)
        beta = self._slope(t)
        # The slope is infinite where nothing more may be taken (k = 0): zeros stay zeros.
        steep = np.where(self.inside | (t == 0.0), t, np.maximum(t, beta))
        threshold = np.where(self.inside, 0.0, self.root * beta)
        gradient = self.root * steep * np.sign(w)
        one = beta if self._one_slope else math.nan
        return Slopes(self._total(t, beta, steep), gradient, threshold, one)

    def weights(self, w: Vector) -> Vector:
        """The u that attains h(w), for an allowed w: 1 inside, 0 where another w_i is 0."""
        t = self.root * np.abs(w)
        beta = self._slope(t)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(t < beta, t / beta, t > 0.0)
        return np.where(self.inside, 1.0, u)

    def pattern(self, q: Vector, step: Vector) -> Pattern:
        """The piece of h that a proximal step of lengths `step` from q lands on."""
        return self._piece(q, self._landed(q, step), self.inside)

    def _landed(self, q: Vector, step: Vector) -> Vector:
        """The weights u of that step."""
        t = self.root * self.reach(q)
        u = self._landing(t, np.maximum(step * self.ridge, SMALLEST))
        u = np.where(self.inside, 1.0, u)
        if self.positive is np.False_:
            return u
        return np.where(self.positive & (q <= 0.0), 0.0, u)

    def _piece(self, q: Vector, u: Vector, inside: Any) -> Pattern:
        active = np.flatnonzero(u > 0.0)
        full, held = u[active] == 1.0, taken(inside, active)
        # Inside the support either sign will do, unless one is asked for.
        sign = np.where(held & ~taken(self.positive, active), 0.0, np.sign(q[active]))
        pull = np.where(full, 0.0, taken(self.root, active) * sign)
        linear, direction, share = self._line(pull, active, int(np.count_nonzero(full & ~held)))
        ridge = np.where(full, taken(self.ridge, active), 0.0)
        return Pattern(active, sign, ridge, linear, direction, share)

    def allows(self, w: Vector) -> bool:
        """Whether w is zero outside and nonnegative where asked."""
        return not np.any((self.outside & (w != 0.0)) | (self.positive & (w < 0.0)))

    def reach(self, s: Vector) -> Vector:
        """The length of s_i along its allowed directions: |s_i|, max(0, s_i) or 0."""
        length = np.abs(s)
        if self.positive is not np.False_:
            length = np.where(self.positive, np.maximum(s, 0.0), length)
        return length if self.outside is np.False_ else np.where(self.outside, 0.0, length)

    def gains(self, s: Vector) -> Vector:
        """What each feature adds to h*(s) if it is inside: s_i^2/(2 ridge_i), less any price."""
        gains: Vector = 0.5 * np.square(self.reach(s) / self.root)
        return gains

    _one_slope: bool = True
    """Whether one beta serves all features."""

    def _validate(self) -> None:
        """Refuse a wrong ridge; a mask that is not given is False."""
        check_parameter(self.ridge, "ridge", zero=False)
        for name in ("inside", "outside", "positive"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.False_)


def taken(value: Any, index: Index) -> Any:
    """The entries of one number per feature; one number for all stays."""
    return value[index] if isinstance(value, np.ndarray) else value


def check_parameter(value: Any, name: str, *, zero: bool) -> None:
    """Refuse numbers that are not finite and positive (or zero, if allowed)."""
    least = most = value
    if isinstance(value, np.ndarray):
        least, most = (value.min(), value.max()) if value.size else (1.0, 1.0)
    if not ((least >= 0.0 if zero else least > 0.0) and most < math.inf):
        word = "nonnegative" if zero else "positive"
        raise ValueError(f"{name} must be {word} and finite: one number, or one per feature.")
