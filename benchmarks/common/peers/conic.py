"""CVXPY and Clarabel, on two formulations.

As written: the paper's formulation, with one quad_over_lin per coordinate.

The best conic formulation that we know. Squared loss: X is replaced by as many rows as its rank
(|Xw - y|^2 = |Rw - Q^T y|^2 + constant). l0: h(w) = min kappa (s + c) + ridge/2 c^2 over
|w| <= s + c, 0 <= s <= tau, 0 <= c, a quadratic program without cones. k, ball, and l0 with the
logistic loss (where it is faster): w_i^2 <= t_i u_i as m second-order cones in one vectorised
constraint. The logistic loss is `cp.logistic`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from benchmarks.common.peers.base import Answer, RelaxationPeer
from benchmarks.common.problems import Problem


class Cvxpy(RelaxationPeer):
    """What both formulations share."""

    packages = ("cvxpy", "clarabel")
    forms = ("l0+ridge", "k+ridge", "l0+ball")
    tolerances = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


class CvxpyBest(Cvxpy):
    name = "CVXPY, best"

    def reason_to_skip(self, problem: Problem) -> str | None:
        n, m = problem.shape
        rows = min(n, m) if problem.loss == "squared" else n
        # One factorisation costs rows^2 m; 500 x 10,000 takes a minute.
        if not problem.sparse and rows * rows * m > 4e9:
            return "left out by size, not tried: minutes, extrapolated from 500 x 10,000"
        return super().reason_to_skip(problem)

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        import cvxpy as cp

        n, m = problem.shape
        w = cp.Variable(m)
        if problem.loss == "squared":
            R, q, rest = rank_reduced(problem.X, problem.y)
            objective = cp.sum_squares(R @ w - q) / (2 * n) + rest / (2 * n)
        else:
            objective = cp.sum(cp.logistic(cp.multiply(-problem.y, problem.X @ w))) / n
        if problem.l0 is not None and problem.ball is None and problem.loss == "squared":
            kappa = math.sqrt(2 * problem.l0 * problem.ridge)
            tau = math.sqrt(2 * problem.l0 / problem.ridge)
            s, c = cp.Variable(m), cp.Variable(m)
            objective += kappa * cp.sum(s + c) + problem.ridge / 2 * cp.sum_squares(c)
            constraints = [w <= s + c, -w <= s + c, s >= 0, s <= tau, c >= 0]
            inside = clarabel(cp.Problem(cp.Minimize(objective), constraints), tolerance)
            return Answer(w.value, np.minimum(1.0, np.abs(w.value) / tau), inside=inside)
        u, t = cp.Variable(m), cp.Variable(m)
        cones = [cp.SOC(t + u, cp.vstack([2 * w, t - u]), axis=0)]
        return perspective(problem, objective, w, u, cp.sum(t), cones, tolerance)


class CvxpyAuthors(Cvxpy):
    name = "CVXPY, as written"
    most_entries = 600_000

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        import cvxpy as cp

        X, y = problem.X, problem.y
        n, m = problem.shape
        w, u = cp.Variable(m), cp.Variable(m)
        if problem.loss == "squared":
            loss = cp.sum_squares(X @ w - y) / (2 * n)
        else:
            loss = cp.sum(cp.logistic(cp.multiply(-y, X @ w))) / n
        squares = sum(cp.quad_over_lin(w[i], u[i]) for i in range(m))
        return perspective(problem, loss, w, u, squares, [], tolerance)


def perspective(
    problem: Problem, objective: Any, w: Any, u: Any, squares: Any, cones: list, tolerance: float
) -> Answer:
    """Solve with 0 <= u <= 1, k or l0 on sum u, ridge or ball on `squares` = sum w_i^2/u_i."""
    import cvxpy as cp

    constraints = [u >= 0, u <= 1, *cones]
    if problem.l0 is None:
        constraints.append(cp.sum(u) <= problem.k)
    else:
        objective += problem.l0 * cp.sum(u)
    if problem.ball is None:
        objective += problem.ridge / 2 * squares
    else:
        constraints.append(squares <= problem.ball)
    inside = clarabel(cp.Problem(cp.Minimize(objective), constraints), tolerance)
    return Answer(np.asarray(w.value), np.asarray(u.value), inside=inside)


def rank_reduced(X: Any, y: Any) -> tuple[Any, Any, float]:
    """R, q and |y|^2 - |q|^2 with |Xw - y|^2 = |Rw - q|^2 + that, R of as many rows as the rank."""
    if X.shape[0] > X.shape[1]:
        # The R of (X, y) holds all three, and no Q is formed.
        (R,) = scipy.linalg.qr(np.column_stack((X, y)), mode="r", check_finite=False)
        m = X.shape[1]
        R, q, rest = R[:m, :m], R[:m, m], float(R[m, m] ** 2)
    else:
        R, q, rest = X, y, 0.0
    values, right = None, None
    if min(R.shape) <= 200:  # an SVD of something larger would not pay for itself
        left, values, right = np.linalg.svd(R, full_matrices=False)
        rank = int(np.count_nonzero(values > 1e-10 * values[0]))
        if rank < R.shape[0]:
            rotated = left.T @ q
            rest += float(q @ q - rotated[:rank] @ rotated[:rank])
            return values[:rank, None] * right[:rank], rotated[:rank], rest
    return R, q, rest


def clarabel(problem: Any, tolerance: float) -> float:
    """Solve to a tolerance; the seconds spent in Clarabel itself."""
    import cvxpy as cp

    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    problem.solve(solver=cp.CLARABEL, max_threads=1, **dict.fromkeys(names, tolerance))
    return float(problem.solver_stats.solve_time)
