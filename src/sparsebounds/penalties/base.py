"""h(w) = min over u in [0, 1]^m of sum_i ridge_i/2 w_i^2/u_i + cost(u): what both penalties share.

u_i = 1 for the features inside the support and w_i = 0 for those outside it; the rest are free.
Where `positive`, w_i >= 0 is asked, and lengths are one-sided: max(0, s_i) in place of |s_i|.
Features of one group share one u.

With t = sqrt(sum of ridge_i w_i^2 over a group), sqrt(ridge_i) |w_i| for a single feature, and a
slope beta, a free group costs beta t while t < beta (the linear part, u = t/beta < 1) and a
quadratic beyond (u = 1). The l0 form gives each group its beta; in the k form one beta makes the u
of the groups sum to k, and depends on w. Features inside the support are always on the quadratic
part. What there is one of per group stands at its first column (`penalties.groups`).

The linear part of a group is a cone, with curvature across its direction. With d the gradient of t,
its Hessian is beta/t (R - d d^T) = (R - d d^T)/u, R the diagonal of ridges: 0 for a single feature.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.penalties.groups import Groups

SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Slopes:
    """h at a point: its value, its gradient at the nonzeros and its kink at the zeros.

    Attributes
    ----------
    value : float
        h(w).
    gradient : array
        dh/dw_i where w_i != 0, and 0 elsewhere.
    kink : array
        The slope of h in the length t of a group whose w is 0, at its first column; else 0.
    beta : float
        The slope of the k form; NaN in the l0 form, where each feature has its own.

    Examples
    --------
    >>> sb.penalties.L0Ridge(0.5, 1.0).slopes(np.array([2.0, 0.0])).gradient.tolist()
    [2.0, 0.0]
    """

    value: float
    gradient: Vector
    kink: Vector
    beta: float


@dataclass(frozen=True)
class Pattern:
    """A smooth piece of h: sum over `active` of ridge/2 w^2 (quadratic) or a linear term.

    Attributes
    ----------
    active : array of int
        The features that are not 0 on it.
    sign : array
        The sign each coordinate has on this piece; 0: either, as in a group of several.
    ridge : array
        ridge_i/u on the quadratic part, and on the linear part of groups; 0 for single features.
    linear : array
        The constant gradient on the linear part (l0 form), else 0.
    direction : array or None
        k form: the gradient there is direction (direction.w) / share.
    share : float
        k form: the budget that the linear part shares.
    blocks : tuple of tuple[array of int, array]
        (places, -d d^T/u) of groups on the linear part, a row per group; `ridge` has the rest.
    cone : array or None
        d there.

    Examples
    --------
    >>> piece = sb.penalties.L0Ridge(0.5, 1.0).pattern(np.array([5.0, 0.1]), np.ones(2))
    >>> piece.active.tolist(), piece.ridge.tolist()
    ([0], [1.0])
    """

    active: Index
    sign: Vector
    ridge: Vector
    linear: Vector
    direction: Vector | None
    share: float

    blocks: tuple[tuple[Index, Vector], ...] = ()
    cone: Vector | None = None

    @property
    def curved(self) -> bool:
        """Whether every coordinate has curvature of its own, and none a sign to keep."""
        return bool(np.all(self.ridge > 0.0)) and not np.any(self.sign)

    def turned(self, w: Vector, now: Vector) -> Mask:
        """Which coordinates belong to a group on the linear part that w turns around.

        Groups that are 0 `now` may turn.
        """
        wrong = np.zeros(len(w), dtype=np.bool_)
        assert self.cone is not None
        for places, _ in self.blocks:
            back = np.sum(w[places] * self.cone[places], axis=1) < 0.0
            wrong[places[back & np.any(now[places] != 0.0, axis=1)]] = True
        return wrong


class Penalty(ABC):
    """A convex penalty on w with the features inside and outside the support told.

    Attributes
    ----------
    ridge : array or number
        The ridge weights, > 0: one number, or one per feature.
    inside : mask
        Features with u_i = 1.
    outside : mask
        Features with w_i = 0; none of them is inside.
    positive : mask
        Features with w_i >= 0.
    groups : Groups
        Features that share one u.

    Examples
    --------
    >>> penalty = sb.Program(np.eye(2), [1.0, 2.0], k=1, ridge=1.0).penalty()
    >>> isinstance(penalty, sb.penalties.Penalty), penalty.conjugate(np.array([1.0, 2.0]))
    (True, 2.0)
    """

    ridge: Any
    inside: Any
    outside: Any
    positive: Any
    groups: Groups

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
        """(linear, direction, share) of a piece with `full` free groups on the quadratic part.

        pull is d, sqrt(ridge_i) sign_i for a single feature, on the linear part of the active
        features, and 0 elsewhere.
        """

    @cached_property
    def root(self) -> Any:
        """sqrt(ridge)."""
        return np.sqrt(self.ridge)

    @cached_property
    def _all_free(self) -> bool:
        """Whether no feature is inside: then masks of these need not be applied."""
        return not np.any(self.inside)

    def with_ridge(self, ridge: Any) -> Self:
        """The same with another ridge."""
        return replace(self, ridge=ridge)  # type: ignore[type-var]

    def lengths(self, s: Vector) -> Vector:
        """t = sqrt(sum of ridge_i s_i^2) of each group, at its first column."""
        return self.groups.lengths(self.root * np.abs(s))

    def slopes(self, w: Vector) -> Slopes:
        """h and its derivatives at w, which must be allowed."""
        t = self.lengths(w)
        beta = self._slope(t)
        steep, zero = np.maximum(t, beta), t == 0.0
        if not self._all_free:
            steep, zero = np.where(self.inside, t, steep), zero & ~self.inside
        # The slope is infinite where nothing more may be taken (k = 0): zeros stay zeros.
        steep[zero] = 0.0
        kink = np.where(zero, beta, 0.0)
        if self.groups.single:
            gradient = self.root * steep * np.sign(w)
        else:
            ratio = self.groups.spread(steep / np.where(t > 0.0, t, 1.0))
            gradient, kink = self.ridge * w * ratio, np.where(self.groups.lead, kink, 0.0)
        one = beta if self._one_slope else math.nan
        return Slopes(self._total(t, beta, steep), gradient, kink, one)

    def weights(self, w: Vector) -> Vector:
        """The u that attains h(w), for an allowed w: 1 inside, 0 where all w of a group are 0."""
        t = self.lengths(w)
        beta = self._slope(t)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(t < beta, t / beta, t > 0.0)
        return np.where(self.inside, 1.0, self.groups.spread(u))

    def pattern(self, q: Vector, step: Vector) -> Pattern:
        """The piece of h that a proximal step from q, of `even` lengths, lands on."""
        return self._piece(*self._landed(q, step), self.inside)

    def even(self, step: Vector) -> Vector:
        """Steps at most as long, with the same step ridge for all features of a group.

        Columns are the last axis; one row for many stays one.
        """
        if self.groups.single:
            return step
        lengths: Vector = self.groups.least(step * self.ridge) / self.ridge
        return lengths

    def _landed(self, q: Vector, step: Vector) -> tuple[Vector, Vector]:
        """(w, u): where that step lands, in directions, and its weights.

        With s = step ridge, a feature lands at w_i = q_i u/(u + s_i), where the length of q_i/(u +
        s_i) over its group is beta, u between 0 and 1. As s is the same within a group (`even`), u
        = t/beta - s.
        """
        t, shift = self.root * self.reach(q), np.maximum(step * self.ridge, SMALLEST)
        if self.groups.single:
            u = self._landing(t, shift)
        else:
            u = self.groups.spread(self._landing(self.groups.lengths(t), shift))
        if not self._all_free:
            u = np.where(self.inside, 1.0, u)
        if self.positive is np.False_:
            return q, u
        return q, np.where(self.positive & (q <= 0.0), 0.0, u)

    def _piece(self, q: Vector, u: Vector, inside: Any) -> Pattern:
        active = np.flatnonzero(u > 0.0)
        full, held = u[active] == 1.0, taken(inside, active)
        ridge = taken(self.ridge, active)
        if self.groups.single:
            # Inside the support either sign will do, unless one is asked for.
            sign = np.where(held & ~taken(self.positive, active), 0.0, np.sign(q[active]))
            pull = np.where(full, 0.0, taken(self.root, active) * sign)
            line = self._line(pull, active, int(np.count_nonzero(full & ~held)))
            return Pattern(active, sign, np.where(full, ridge, 0.0), *line)
        groups, bend = self.groups.part(active), 1.0 / u[active]
        t = np.sqrt(groups.spread(groups.gather(ridge * np.square(q[active]))))
        # The gradient of the length of a group.
        pull = np.where(full, 0.0, ridge * q[active] / np.where(t > 0.0, t, 1.0))
        either = ~taken(self.positive, active) & (held | ~groups.alone)
        sign, cone = np.where(either, 0.0, np.sign(q[active])), ~full & ~groups.alone
        line = self._line(pull, active, int(np.count_nonzero(full & ~held & groups.lead)))
        blocks = tuple(
            (places, -bend[places[:, :1, None]] * pull[places][:, :, None] * pull[places][:, None])
            for places in groups.by_size(cone)
        )
        ridge = np.where(full | cone, ridge * bend, 0.0)
        return Pattern(active, sign, ridge, *line, blocks, pull)

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
        """What each group adds to h*(s) if it is inside: sum s_i^2/(2 ridge_i), less any price."""
        gains: Vector = 0.5 * np.square(self.reach(s) / self.root)
        return self.groups.gather(gains)

    _one_slope: bool = True
    """Whether one beta serves all features."""

    def _validate(self) -> None:
        """Refuse a wrong ridge; a mask that is not given is False, groups are single."""
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
