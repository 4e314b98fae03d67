"""The relaxation p** in conic form, solved by CVXPY: an independent referee for `relax`.

min F(Xw + b) + sum_i ridge_i/2 t_i + l0_i u_i  over  w_i^2 <= t_i u_i, 0 <= u <= 1, with
sum u <= k, or sum t <= ball; features of one group share one u. Columns are scaled to unit
curvature for the solver, w with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.losses import Huber
from sparsebounds.program import Program


@dataclass(frozen=True)
class ConicSolution:
    """The relaxation of a program, by an interior-point solver.

    Attributes
    ----------
    value : float
        p**.
    w : array
        Coefficients on the program's own columns.
    u : array
        Their weights.
    a : array
        The dual vector.
    accurate : bool
        Whether the solver says that it reached its tolerances.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> np.abs(sb.testing.conic_relaxation(program).u).round(3).tolist()
    [1.0, 0.0, 0.0]
    """

    value: float
    w: Vector
    u: Vector
    a: Vector
    accurate: bool = True


def conic_relaxation(program: Program, **solver_options: Any) -> ConicSolution:
    """p** of a small program by an interior-point solver (needs cvxpy and clarabel).

    Parameters
    ----------
    program : Program
        The sparse program, of a convex loss.
    **solver_options : float
        Passed to clarabel.

    Returns
    -------
    ConicSolution
        The relaxed value and where it is attained.

    See Also
    --------
    relax : What it is the referee of.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> print(f"{sb.testing.conic_relaxation(program).value:.4f} {sb.relax(program).value:.4f}")
    1.9583 1.9583
    """
    import cvxpy as cp

    columns = program.matrix.columns(np.arange(program.m))
    curvature = program.F.p @ columns**2
    scale = np.sqrt(curvature + (program.ridges if program.ball is None else 1.0))
    w, u, t = (cp.Variable(program.m) for _ in range(3))
    b, z = cp.Variable(), cp.Variable(program.n)
    offset = 0.0 if program.offset is None else program.offset
    # w_i = omega_i / scale_i, u_i = upsilon_i / widen_i, t_i = tau_i widen_i / scale_i^2, so that
    # w^2 <= t u reads omega^2 <= tau upsilon: `w`, `u` and `t` below are omega, upsilon and tau.
    widen = np.maximum(scale, 1.0)
    prediction = (columns / scale) @ w + offset + (b if program.fit_intercept else 0.0)
    link = z == prediction
    constraints = [link, u >= 0, u <= widen, cp.SOC(t + u, cp.vstack([2 * w, t - u]), axis=0)]
    if program.always.any():
        constraints.append(u[program.always] == widen[program.always])
    if program.never.any():
        constraints.append(w[program.never] == 0)
    if program.positive.any():
        constraints.append(w[program.positive] >= 0)
    if program.groups.leaders is not None:
        share = cp.multiply(u, 1.0 / widen)
        constraints.append(share == share[program.groups.leaders])
    free = program.free.astype(float)
    objective = _data_term(cp, program, z)
    if program.l0 is None:
        constraints.append((free / widen) @ u <= program.k)
    else:
        objective += (program.prices / widen) @ u
    if program.ball is None:
        objective += (0.5 * program.ridges * widen / scale**2) @ t
    else:
        constraints.append((widen / scale**2) @ t <= program.ball)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    problem.solve(solver=cp.CLARABEL, **(tight | solver_options))
    accurate = problem.status == cp.OPTIMAL
    own, weights = w.value / scale, u.value / widen
    return ConicSolution(float(problem.value), own, weights, -link.dual_value, accurate)


def _data_term(cp: Any, program: Program, z: Any) -> Any:
    y, p, loss = program.y, program.F.p, program.loss
    terms = {
        "squared": lambda: 0.5 * cp.square(z - y),
        "logistic": lambda: cp.logistic(cp.multiply(-y, z)),
        "poisson": lambda: cp.exp(z) - cp.multiply(y, z),
        "huber": lambda: 0.5 * cp.huber(z - y, loss.delta if isinstance(loss, Huber) else 1.0),
        "squared_hinge": lambda: 0.5 * cp.square(cp.pos(1 - cp.multiply(y, z))),
    }
    return p @ terms[loss.name]()
