"""Losses: one a file, found by name in `REGISTRY`."""

from __future__ import annotations

from sparsebounds.losses.base import Loss
from sparsebounds.losses.huber import Huber
from sparsebounds.losses.logistic import Logistic
from sparsebounds.losses.mean import MeanLoss
from sparsebounds.losses.poisson import Poisson
from sparsebounds.losses.squared import Squared
from sparsebounds.losses.squared_hinge import SquaredHinge

REGISTRY: dict[str, type[Loss]] = {
    cls.name: cls for cls in (Squared, Logistic, Poisson, Huber, SquaredHinge)
}
"""Every loss by the name users pass to `loss=`."""


def get_loss(loss: str | Loss) -> Loss:
    """The loss with that name, or the instance itself."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in REGISTRY:
        return REGISTRY[loss]()
    known = ", ".join(repr(name) for name in sorted(REGISTRY))
    raise ValueError(
        f"loss={loss!r} is not a loss; pass one of {known}, or an instance such as "
        "sparsebounds.losses.Huber(delta=1.35)."
    )


__all__ = [
    "REGISTRY",
    "Huber",
    "Logistic",
    "Loss",
    "MeanLoss",
    "Poisson",
    "Squared",
    "SquaredHinge",
    "get_loss",
]
