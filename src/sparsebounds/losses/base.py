"""What every loss knows about itself: loss(y, z), elementwise and without data.

A loss is a convex function of the prediction z for a fixed response y, but for those of
`losses.nonconvex`. Everything here is elementwise and written against the array API, so one
definition serves the solver on any device and the certificate on the host. The mean over samples,
weights and offsets live in `losses.mean`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, ClassVar

from sparsebounds._support.array import Array, namespace
from sparsebounds._support.errors import InputError, InputTypeError

ULPS = 16
"""Rounding allowance of `*_terms`: error <= ULPS * 2^-53 * terms + ULPS * 2^-1074.

The formulas below need at most a handful of operations, and NumPy's exp, log, log1p
and logaddexp are within 4 ulp.
"""


@dataclass(frozen=True)
class Loss(ABC):
    """A loss: value, derivatives and conjugate, each elementwise in (y, z).

    Derive from it to write your own; `testing.check_loss` says whether it keeps its promises.

    Attributes
    ----------
    name : str
        Name in the registry, as users pass it to `loss=`.
    two_class : bool
        Whether y must be -1 or +1.
    smoothness : float
        Upper bound of loss'' in z; NaN where there is none.
    convex : bool
        Whether the loss is convex in z; where not, it is a `NonConvexLoss` and has envelopes.
    residual : bool
        Whether it is a function of z - y: then y and the intercept may move together.
    self_concordant : bool
        Whether the third derivative in z is at most the second in size, and the second rises, then
        falls (or does one of both).
    portable : bool
        Whether it takes arrays of every library; else those of NumPy alone.

    See Also
    --------
    losses.NonConvexLoss : For losses that are not convex.

    Examples
    --------
    >>> loss = sb.losses.get_loss("poisson")
    >>> loss.name, loss.convex, loss.parameters()
    ('poisson', True, {})
    """

    name: ClassVar[str]
    two_class: ClassVar[bool] = False
    smoothness: ClassVar[float]
    convex: ClassVar[bool] = True
    residual: ClassVar[bool] = False
    self_concordant: ClassVar[bool] = False
    portable: ClassVar[bool] = True

    @abstractmethod
    def value(self, y: Array, z: Array) -> Array:
        """loss(y, z)."""

    @abstractmethod
    def gradient(self, y: Array, z: Array) -> Array:
        """d loss / dz, always inside `domain(y)`."""

    @abstractmethod
    def curvature(self, y: Array, z: Array) -> Array:
        """d^2 loss / dz^2; one generalised second derivative at a kink of the gradient."""

    @abstractmethod
    def conjugate(self, y: Array, b: Array) -> Array:
        """loss*(y, b) = sup_z bz - loss(y, z) for b inside `domain(y)`."""

    def domain(self, y: Array) -> tuple[Array, Array]:
        """The closed interval of b where loss*(y, b) is finite, all numbers; it contains 0."""
        return full_like(y, -float("inf")), full_like(y, float("inf"))

    def infimum(self, y: Array) -> Array:
        """inf_z loss(y, z) = -loss*(y, 0)."""
        return 0.0 - self.conjugate(y, 0.0 * y)

    @abstractmethod
    def sublevel(self, y: Array, excess: Array) -> tuple[Array, Array]:
        """An interval [lo, hi] that holds every z with loss(y, z) <= infimum(y) + excess."""

    @abstractmethod
    def value_terms(self, y: Array, z: Array) -> Array:
        """Sum of the magnitudes of the terms `value` adds up: its rounding scale (see ULPS)."""

    @abstractmethod
    def conjugate_terms(self, y: Array, b: Array) -> Array:
        """Sum of the magnitudes of the terms `conjugate` adds up (see ULPS)."""

    def clip(self, y: Array, b: Array) -> Array:
        """The point of `domain(y)` nearest to b."""
        xp = namespace(y, b)
        lo, hi = self.domain(y)
        return xp.minimum(xp.maximum(b, lo), hi)

    def rise(self, y: Array, width: Array) -> Array:
        """How much the loss between two predictions, `width` apart, can exceed it at both."""
        return 0.0 * width

    def check_response(self, y: Array) -> None:
        """Raise ValueError, in a sentence, where y is not a response this loss can take."""

    def check_intercept(self, y: Array) -> None:
        """Raise InputError, in a sentence, where an intercept has no finite best value."""
        if self.residual:
            return
        xp = namespace(y)
        lo, hi = self.sublevel(y, xp.ones_like(y))
        if bool(xp.any(xp.isfinite(lo))) and bool(xp.any(xp.isfinite(hi))):
            return
        what = "holds one class only" if self.two_class else "is all zero"
        raise InputError(
            f"y {what}, so the {self.name} loss has no finite minimiser with an intercept; "
            "add rows that differ, or pass fit_intercept=False."
        )

    def parameters(self) -> dict[str, float]:
        """The loss's own numbers, by the names its constructor takes."""
        return asdict(self)


def full_like(y: Array, value: float) -> Array:
    """An array like y, of one number."""
    return namespace(y).full_like(y, value)


def one_sided(y: Array, least: Array) -> tuple[Array, Array]:
    """The interval of z with yz >= least, for y = -1 or +1."""
    xp, unbounded = namespace(y), full_like(y, float("inf"))
    return xp.where(y > 0, least, -unbounded), xp.where(y > 0, unbounded, -least)


def checked_scale(name: str, value: Any, most: float = math.inf) -> float:
    """A scale in the units of y: a number above 0, at most `most`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputTypeError(f"{name}={value!r} must be a number, in the units of y.")
    scale = float(value)
    if not (math.isfinite(scale) and 0 < scale <= most):
        raise InputError(f"{name}={scale!r} must be a positive finite number, in the units of y.")
    return scale


def entropy(t: Array) -> Array:
    """t log t, and 0 at t = 0."""
    xp = namespace(t)
    positive = t > 0
    return xp.where(positive, t * xp.log(xp.where(positive, t, xp.ones_like(t))), 0.0 * t)
