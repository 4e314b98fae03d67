"""Upper bounds: the objective at a model, rounded up.

Predictions are enclosed in [z - radius, z + radius]; a convex loss is largest at an end, another
one at most its `rise` above that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sparsebounds._support.array import Vector, nonzeros
from sparsebounds._support.derived import derived
from sparsebounds._support.rounding import TINY, U, down, sum_up, up
from sparsebounds.losses import ULPS, Envelope
from sparsebounds.program import Program

ROWS = 1 << 14
"""Rows that are evaluated together."""

WIDER = 4.0
"""Room for rounding that a claim leaves, in units of what a bound leaves."""


def row_parts(program: Program) -> list[slice]:
    """Rows that are evaluated together: as many as stay in the cache.

    All of them where the loss has numbers of its own for every row.
    """
    n = program.n
    most = n if isinstance(program.loss, Envelope) else ROWS
    return [slice(top, min(n, top + most)) for top in range(0, n, most)]


def weighted_mean_up(program: Program, values: Vector) -> float:
    """A float at least sum_i s_i values_i / sum(s), for floats `values`."""
    if program.data.equal is not None:
        return up(sum_up(values) / program.n)
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

    Parameters
    ----------
    program : Program
        The sparse program.
    w : array
        Coefficients.
    b : float, default 0
        The intercept.
    columns : array, optional
        ``program.matrix.columns(flatnonzero(w))``, where they are at hand.
    wider : float, default 1
        Multiplies the room for rounding; at WIDER no order of summation finds more than this.

    Returns
    -------
    float
        Infinite where the model breaks a constraint, checked exactly, or has an intercept that
        the program does not.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> print(f"{sb.bounds.objective_up(program, np.array([0.75, 0.0, 0.0])):.4f}")
    1.9583
    >>> sb.bounds.objective_up(program, np.array([0.75, 0.5, 0.0]))
    inf
    """
    if not math.isfinite(program.regularizer(w)) or (b != 0 and not program.fit_intercept):
        return math.inf
    support = nonzeros(w)
    loss_up = np.empty(program.n)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, z, radius in _predicted(program, w, b, columns):
            radius = wider * radius
            ends = (down(z - radius), up(z + radius))
            largest = np.maximum(*(_value_up(program, rows, end, wider) for end in ends))
            if not program.loss.convex:
                rise = program.loss.rise(program.y[rows], up(ends[1] - ends[0]))
                largest = up(largest + up(rise))
            loss_up[rows] = np.where(np.isnan(largest), np.inf, largest)
        value = weighted_mean_up(program, loss_up)
    value = up(value + sum_up(program.prices[program.counted(support)]))
    if program.ball is None:
        squares = up(program.ridges[support] * up(w[support] ** 2))
        value = up(value + sum_up(up(0.5 * squares)))
    return float(value if wider == 1.0 else up(value + 2.0**-50 * abs(value)))


def claimed_objective(program: Program, w: Vector, b: float) -> float:
    """`objective_up` at WIDER, which a certificate claims; computed once for a model."""
    support = nonzeros(w)
    return _claimed(program, support.tobytes(), w[support].tobytes(), b)


@derived
def _claimed(program: Program, support: bytes, values: bytes, b: float) -> float:
    w = np.zeros(program.m)
    w[np.frombuffer(support, dtype=np.int64)] = np.frombuffer(values)
    return objective_up(program, w, b, wider=WIDER)


def predicted(
    program: Program, w: Vector, b: float, columns: Vector | None = None
) -> tuple[Vector, Vector]:
    """Xw + b and the offset, and a bound of their rounding; `columns` as in `objective_up`."""
    z, radius = np.empty(program.n), np.empty(program.n)
    for rows, *found in _predicted(program, w, b, columns):
        z[rows], radius[rows] = found
    return z, radius


def _predicted(
    program: Program, w: Vector, b: float, columns: Vector | None
) -> Iterator[tuple[slice, Vector, Vector]]:
    """(rows, `predicted` there), block by block."""
    support, matrix = nonzeros(w), program.matrix
    blocks = matrix.image_blocks(support, w[support], columns)
    if isinstance(program.loss, Envelope):  # it has numbers of its own for every row
        blocks = iter([(slice(0, program.n), *matrix.image(support, w[support], columns))])
    for rows, z, radius in blocks:
        for shift in (b, None if program.offset is None else program.offset[rows]):
            if shift is not None:
                z = z + shift
                radius = up(radius + 2.0 * U * np.abs(z))
        yield rows, z, radius


@derived
def null_up(program: Program) -> float:
    """A float at least the objective of the best intercept-only (or zero) model.

    Parameters
    ----------
    program : Program
        The sparse program.

    Returns
    -------
    float
        `Program.null`, rounded up.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> print(f"{sb.bounds.null_up(program):.4f}", sb.bounds.null_up(program) >= 14 / 6)
    2.3333 True
    """
    return objective_up(program, np.zeros(program.m), program.null_intercept)


def _value_up(program: Program, rows: slice, z: Vector, wider: float) -> Vector:
    loss, y = program.loss, program.y[rows]
    # 2^-50 covers the roundings of the slack itself.
    value: Vector = loss.value_terms(y, z) * (wider * ULPS * U * (1.0 + 2.0**-50))
    value += (wider * ULPS + 4.0) * TINY
    value += loss.value(y, z)
    return up(value)
