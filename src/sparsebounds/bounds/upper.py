"""Upper bounds: the objective at a model, rounded up.

Predictions are enclosed in [z - radius, z + radius]; a convex loss is largest at an end, another
one at most its `rise` above that.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.derived import derived
from sparsebounds._support.rounding import TINY, U, down, sum_up, up
from sparsebounds.losses import ULPS
from sparsebounds.program import Program


def weighted_mean_up(program: Program, values: Vector) -> float:
    """A float at least sum_i s_i values_i / sum(s), for floats `values`."""
    with np.errstate(over="ignore"):
        total = sum_up(up(program.weights * values))
    return up(total / (down(program.mass) if total >= 0 else up(program.mass)))


def objective_up(
    program: Program,
    w: Vector,
    b: float = 0.0,
    columns: Vector | None = None,
    wider: float = 1.0,
) -> float:
    """A float at least the exact objective at (w, b) on the program's own columns.

    inf where the model breaks a constraint, checked exactly, or has an intercept that the
    program does not. `columns` are program.matrix.columns(flatnonzero(w)) where they are at hand.
    `wider` multiplies the room for rounding; at WIDER no order of summation finds more than this.
    """
    if not math.isfinite(program.regularizer(w)) or (b != 0 and not program.fit_intercept):
        return math.inf
    support = np.flatnonzero(w)
    with np.errstate(over="ignore", invalid="ignore"):
        z, radius = predicted(program, w, b, columns)
        radius = wider * radius
        ends = (down(z - radius), up(z + radius))
        loss_up = np.maximum(*(_value_up(program, end, wider) for end in ends))
        if not program.loss.convex:
            loss_up = up(loss_up + up(program.loss.rise(program.y, up(ends[1] - ends[0]))))
        value = weighted_mean_up(program, np.where(np.isnan(loss_up), np.inf, loss_up))
    value = up(value + sum_up(program.prices[program.counted(support)]))
    if program.ball is None:
        squares = up(program.ridges[support] * up(w[support] ** 2))
        value = up(value + sum_up(up(0.5 * squares)))
    return float(value if wider == 1.0 else up(value + 2.0**-50 * abs(value)))


def predicted(
    program: Program, w: Vector, b: float, columns: Vector | None = None
) -> tuple[Vector, Vector]:
    """Xw + b and the offset, and a bound of their rounding; `columns` as in `objective_up`."""
    support = np.flatnonzero(w)
    z, radius = program.matrix.image(support, w[support], columns)
    for shift in (b, program.offset):
        if shift is not None:
            z = z + shift
            radius = up(radius + 2.0 * U * np.abs(z))
    return z, radius


@derived
def null_up(program: Program) -> float:
    """A float at least the objective of the best intercept-only (or zero) model."""
    return objective_up(program, np.zeros(program.m), program.null_intercept)


def _value_up(program: Program, z: Vector, wider: float) -> Vector:
    loss, y = program.loss, program.y
    terms: Vector = loss.value_terms(y, z)
    slack = up(wider * ULPS * U * terms) + wider * ULPS * TINY
    value: Vector = loss.value(y, z)
    return up(value + up(slack))
