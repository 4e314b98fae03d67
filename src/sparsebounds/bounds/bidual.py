"""The dual and the bidual problems of the paper, as functions of their variables.

The dual function at a in dom F* (the paper's z); zeta = X^T a, s_k is the sum of the k largest:

    k + ridge    -F*(a) - s_k(zeta^2)/(2 ridge)                              section 2.1
    l0 + ridge   -F*(a) + sum_i min(0, l0 - zeta_i^2/(2 ridge))              section 3.1
    k + ball     max over eta of -F*(a) - eta ball/2 - s_k(zeta^2)/(2 eta)   section 4.1
                 = -F*(a) - sqrt(ball s_k(zeta^2))
    l0 + ball    max over eta of -F*(a) - eta ball/2 + sum_i min(0, l0 - zeta_i^2/(2 eta))
                                                                             section 4.2

and the bidual's objective at (w, u), w = D(u) v, in its convex (perspective) form:

    ridge        F(Xw + b) + sum_i ridge_i/2 w_i^2/u_i + l0_i u_i
    ball         F(Xw + b) + sum_i l0_i u_i           where sum_i w_i^2/u_i <= ball

for u in [0, 1]^m and, in the k forms, sum u <= k. Every dual value is at most every bidual value,
and the best of both is p**. At u in {0, 1}^m the bidual's objective is the program's.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds.bounds.dual import dual_point
from sparsebounds.bounds.enclosure import enclosed
from sparsebounds.bounds.lower import bound_at
from sparsebounds.penalties import perspective
from sparsebounds.program import Program

SLACK = 1.0 + 1e-12
"""Relative room in the constraints on u and on the ball: what rounding leaves of an optimum."""


def dual_value(program: Program, a: Vector) -> float:
    """The dual function at a, rounded down; for the ball, at its best eta.

    It never exceeds p**, unlike `lower_bound`, which in the form l0 + ball knows more: that the
    number of features is an integer.

    Parameters
    ----------
    program : Program
        The sparse program.
    a : array
        One number per row. It is first repaired into dom F*, outside of which the dual function is
        -infinity.

    Returns
    -------
    float
        The value.

    See Also
    --------
    bounds.bidual_value : No dual value exceeds it.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> print(f"{sb.bounds.dual_value(program, -0.25 * program.y):.3f}")
    1.906
    """
    convex = enclosed(program)
    return bound_at(convex, dual_point(convex, a), lagrangian=True)


def bidual_value(program: Program, w: Vector, u: Vector, b: float = 0.0) -> float:
    """The bidual's objective at (w, u, b) on the program's own columns, in plain floating point.

    Parameters
    ----------
    program : Program
        The sparse program.
    w : array
        Coefficients.
    u : array
        Weights in [0, 1]; features always in have 1.
    b : float, default 0
        The intercept.

    Returns
    -------
    float
        +infinity where the constraints are broken (by more than 1e-12, for sums).

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> relaxed = sb.relax(program)
    >>> print(f"{sb.bounds.bidual_value(program, relaxed.w, relaxed.u):.4f} {relaxed.value:.4f}")
    1.9583 1.9583
    """
    w = check.real_vector("w", w, program.m, "column")
    u = check.real_vector("u", u, program.m, "column")
    with np.errstate(over="ignore"):
        size = perspective(w, u)
    obeyed = (
        (program.fit_intercept or b == 0)
        and bool(np.all((u >= 0.0) & (u <= SLACK)))
        and bool(np.all(u[program.always] == 1.0))
        and not np.any(w[program.never])
        and not np.any(w[program.positive] < 0.0)
        and (program.k is None or float(np.sum(u[program.free])) <= SLACK * program.k)
        and (program.ball is None or float(np.sum(size)) <= SLACK * program.ball)
    )
    if not obeyed:
        return math.inf
    support = np.flatnonzero(w)
    with np.errstate(over="ignore", invalid="ignore"):
        value = program.F.value(program.matrix.columns(support) @ w[support] + b)
        value += float(program.prices @ u)
        if program.ball is None:
            value += 0.5 * float(program.ridges @ size)
    return math.inf if math.isnan(value) else value
