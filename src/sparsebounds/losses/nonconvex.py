"""Non-convex losses, and what is proved about them from values and a bound of |loss''| alone.

A loss that is not convex enters a relaxation by its convex envelope on an interval [lo, hi], a box
that holds the predictions of every model that matters (`bounds.enclosure`). Two things are asked:

    envelope(y, lo, hi)          the envelope as a convex loss, for the solver
    supremum(y, t, lo, hi)       sup over the box of t z - loss(y, z), rounded to the safe side: the
                                 conjugate of the envelope, on which lower bounds rest

This class answers both for any loss with |loss''| <= smoothness: on a cell of width h such a loss
lies within smoothness h^2/8 of its chord (`losses.hull`). A loss of your own needs a name, a
smoothness, value and gradient, and to be 0 or more. No finite number of values could prove a bound
without such a constant. The library's losses know where they are convex (`losses.cores`), and their
envelopes are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.losses.base import Loss

if TYPE_CHECKING:
    from sparsebounds.losses.envelope import Envelope


@dataclass(frozen=True)
class NonConvexLoss(Loss):
    """A loss that is not convex in z. Everything is NumPy and elementwise in (y, z).

    `value` is 0 or more, and accurate to a few units in the last place of `value_terms`; at a kink
    `gradient` is one of its limits.

    Attributes
    ----------
    intercept : bool
        Whether an intercept makes sense.

    Examples
    --------
    >>> class Wave(sb.losses.NonConvexLoss):
    ...     name, smoothness = "wave", 1.0
    ...     def value(self, y, z):
    ...         return 2.0 * np.sin(0.5 * np.clip(z - y, -np.pi, np.pi)) ** 2
    ...     def gradient(self, y, z):
    ...         return np.sin(np.clip(z - y, -np.pi, np.pi))
    >>> sb.testing.check_loss(Wave(), np.array([0.0, 1.0]))
    """

    convex: ClassVar[bool] = False
    portable: ClassVar[bool] = False
    intercept: ClassVar[bool] = True

    def curvature(self, y: Any, z: Any) -> Any:
        """c >= 0 with loss(y, t) <= loss(y, z) + gradient(y, z) (t - z) + c/2 (t - z)^2.

        The curvature of a quadratic that majorizes the loss: the weights of reweighted least
        squares. (Exceptions, such as the quartic, need a line search.)
        """
        return np.full_like(z, self.smoothness)

    def second(self, y: Any, z: Any) -> Any:
        """d^2 loss / dz^2 where the loss is convex; used by envelopes that touch it there."""
        raise NotImplementedError(
            f"The {self.name} loss has no second derivative, which an envelope of lines and pieces "
            "of the loss asks for."
        )

    def infimum(self, y: Any) -> Any:
        return 0.0 * y

    def perfect(self, y: Any) -> Any:
        """Predictions of the least loss."""
        return y + 0.0

    def surrogates(self) -> list[Loss]:
        """Convex losses whose sparse models are good places to start from."""
        return []

    @property
    def height(self) -> float:
        """sup loss - inf loss, the same for every y; inf where the loss is unbounded."""
        return float("inf")

    def sublevel(self, y: Any, excess: Any) -> tuple[Any, Any]:
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def saturation(self, y: Any) -> tuple[Any, Any]:
        """An interval of z outside of which, on either side, the loss is constant."""
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def beyond(self, y: Any, z: Any, side: int) -> Any:
        """A lower bound of the loss over all predictions above z (side 1) or below it (-1)."""
        return self.infimum(y) + 0.0 * z

    def value_terms(self, y: Any, z: Any) -> Any:
        reach = np.abs(y) + np.abs(z)
        return np.abs(self.value(y, z)) + np.abs(self.gradient(y, z)) * reach

    def rise(self, y: Any, width: Any) -> Any:
        return 0.125 * self._bound() * width * width

    def envelope(self, y: Vector, lo: Vector, hi: Vector) -> Envelope:
        """A convex loss below this one on [lo, hi], row by row; nearly the largest one."""
        from sparsebounds.losses.hull import HullEnvelope

        return HullEnvelope.on(self, y, lo, hi, self._bound())

    def supremum(self, y: Vector, t: Vector, lo: Vector, hi: Vector) -> tuple[Vector, Vector]:
        """sup of t z - loss(y, z) over [lo, hi], and the terms its rounding is relative to."""
        from sparsebounds.losses.hull import supremum

        return supremum(self, y, t, lo, hi, self._bound())

    # On the whole line these losses have no conjugate but at 0 (a convex function that is bounded
    # is constant); those of the envelopes are what bounds are made of.

    def conjugate(self, y: Any, b: Any) -> Any:
        return np.where(b == 0.0, -self.infimum(y), np.inf)

    def conjugate_terms(self, y: Any, b: Any) -> Any:
        return np.abs(self.infimum(y)) + 0.0 * b

    def domain(self, y: Any) -> tuple[Any, Any]:
        return 0.0 * y, 0.0 * y

    def check_intercept(self, y: Any) -> None:
        if not self.intercept:
            raise InputError(
                f"The {self.name} loss is even in the prediction, which leaves an intercept no "
                "meaning; pass fit_intercept=False."
            )

    def _bound(self) -> float:
        if not (np.isfinite(self.smoothness) and self.smoothness > 0):
            raise InputError(
                f"The {self.name} loss has smoothness={self.smoothness!r}; set it to a bound of "
                "its absolute second derivative, or define envelope and supremum."
            )
        return float(self.smoothness)
