"""CVXPY and Clarabel on the paper's formulation as written: one quad_over_lin a coordinate."""

from __future__ import annotations

import numpy as np

from benchmarks.competitors.base import Answer, Competitor
from benchmarks.competitors.cvxpy_best import clarabel
from benchmarks.problems import Problem


class CvxpyAuthors(Competitor):
    name = "CVXPY, as written"
    packages = ("cvxpy", "clarabel")
    forms = ("l0+ridge", "k+ridge", "l0+ball")
    most_entries = 600_000
    tolerances = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        import cvxpy as cp

        X, y = problem.X, problem.y
        n, m = problem.shape
        w, u = cp.Variable(m), cp.Variable(m)
        perspective = sum(cp.quad_over_lin(w[i], u[i]) for i in range(m))
        if problem.loss == "squared":
            loss = cp.sum_squares(X @ w - y) / (2 * n)
        else:
            loss = cp.sum(cp.logistic(cp.multiply(-y, X @ w))) / n
        objective, constraints = loss, [u >= 0, u <= 1]
        if problem.l0 is None:
            constraints.append(cp.sum(u) <= problem.k)
        else:
            objective += problem.l0 * cp.sum(u)
        if problem.ball is None:
            objective += problem.ridge / 2 * perspective
        else:
            constraints.append(perspective <= problem.ball)
        inside = clarabel(cp.Problem(cp.Minimize(objective), constraints), tolerance)
        return Answer(np.asarray(w.value), np.asarray(u.value), inside=inside)
