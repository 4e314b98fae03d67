"""Losses, found by name in `REGISTRY` (convex) or `NONCONVEX`."""

from __future__ import annotations

import difflib
from dataclasses import replace

from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds.losses.base import ULPS as ULPS
from sparsebounds.losses.base import Loss
from sparsebounds.losses.envelope import Box, Envelope
from sparsebounds.losses.logistic import Logistic
from sparsebounds.losses.logistic import log_chances as log_chances
from sparsebounds.losses.margin import Ramp, Sigmoid
from sparsebounds.losses.mean import MeanLoss
from sparsebounds.losses.nonconvex import NonConvexLoss
from sparsebounds.losses.phase import Amplitude, Quartic
from sparsebounds.losses.poisson import Poisson
from sparsebounds.losses.quadratic import Huber, Squared, SquaredHinge
from sparsebounds.losses.residual import ResidualLoss as ResidualLoss
from sparsebounds.losses.robust import Cauchy, GemanMcClure, Truncated, Tukey, Welsch

REGISTRY: dict[str, type[Loss]] = {
    cls.name: cls for cls in (Squared, Logistic, Poisson, Huber, SquaredHinge)
}
"""Every convex loss by the name users pass to `loss=`."""

NONCONVEX: dict[str, type[NonConvexLoss]] = {
    cls.name: cls
    for cls in (Truncated, Tukey, GemanMcClure, Welsch, Cauchy, Ramp, Sigmoid, Quartic, Amplitude)
}
"""Every non-convex loss, likewise."""


def get_loss(loss: str | Loss, c: float | None = None) -> Loss:
    """The loss with that name, or the instance itself.

    Parameters
    ----------
    loss : str or Loss
        A name of `REGISTRY` or `NONCONVEX`, or an instance.
    c : float, optional
        The scale that a robust loss is to have, in the units of y.

    Returns
    -------
    Loss
        The instance.

    Raises
    ------
    ValueError, TypeError
        Where there is no such loss, or it has no c; the sentence lists those there are.

    Examples
    --------
    >>> sb.losses.get_loss("truncated", c=2.0)
    Truncated(c=2.0)
    """
    if c is not None:
        own = get_loss(loss)
        if not isinstance(own, ResidualLoss):
            known = ", ".join(n for n, kind in NONCONVEX.items() if issubclass(kind, ResidualLoss))
            raise InputError(f"The {own.name} loss has no c; leave it out, or pass one of {known}.")
        return replace(own, c=c)
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, type) and issubclass(loss, Loss):
        name = loss.__name__
        raise InputTypeError(f"loss={name} is a class; pass an instance, such as {name}().")
    known_losses: dict[str, type[Loss]] = REGISTRY | NONCONVEX
    if isinstance(loss, str) and loss in known_losses:
        return known_losses[loss]()
    known = ", ".join(repr(name) for name in (*sorted(REGISTRY), *sorted(NONCONVEX)))
    near = difflib.get_close_matches(str(loss), known_losses, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InputError(
        f"loss={loss!r} is not a loss{hint}; pass one of {known}, or an instance such as "
        "sparsebounds.losses.Huber(delta=1.35)."
    )


__all__ = [
    "NONCONVEX",
    "REGISTRY",
    "Amplitude",
    "Box",
    "Cauchy",
    "Envelope",
    "GemanMcClure",
    "Huber",
    "Logistic",
    "Loss",
    "MeanLoss",
    "NonConvexLoss",
    "Poisson",
    "Quartic",
    "Ramp",
    "Sigmoid",
    "Squared",
    "SquaredHinge",
    "Truncated",
    "Tukey",
    "Welsch",
    "get_loss",
]
