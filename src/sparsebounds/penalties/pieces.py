"""What Newton's method asks of h: its slopes at a point, and the smooth piece around one."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebounds._support.array import Index, Vector


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
