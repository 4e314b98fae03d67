"""Which losses have bounds over rows, and what lies below the losses of a node's rows."""

from __future__ import annotations

import math
from typing import TypeAlias

from sparsebounds._support.array import Vector
from sparsebounds.bounds.row_loss import RowLoss
from sparsebounds.bounds.row_ramp import RampRowLoss
from sparsebounds.bounds.row_smooth import SmoothRowLoss
from sparsebounds.losses import Loss, Ramp, ResidualLoss, Truncated

NodeLoss: TypeAlias = RowLoss | SmoothRowLoss | RampRowLoss


def has_rows(loss: Loss) -> bool:
    """Whether there are bounds over rows for a loss."""
    smooth = isinstance(loss, ResidualLoss) and math.isfinite(loss.dip)
    return smooth or isinstance(loss, Truncated | Ramp)


def scale_of(loss: Loss) -> float:
    """The scale c of residuals z - y: 1 for the ramp."""
    return loss.c if isinstance(loss, ResidualLoss) else 1.0


def node_loss(loss: Loss, y: Vector, ends: tuple[Vector, Vector], theta: Vector) -> NodeLoss:
    """The rows' losses at a node, whose residuals are between `ends`, with these shares."""
    if isinstance(loss, Truncated):
        return RowLoss(loss.c, *ends, theta)
    if isinstance(loss, ResidualLoss):
        return SmoothRowLoss(loss, theta)
    return RampRowLoss(y, theta)
