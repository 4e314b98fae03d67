"""El0ps: the relaxation at the root of its search tree, by its own bounding solver.

Its data term is a sum, so beta = n ridge/2 and lambda = n l0; its pruning needs an incumbent, of
which the root has none.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.competitors.base import Answer, Competitor
from benchmarks.problems import Problem


class El0psRoot(Competitor):
    name = "El0ps root"
    packages = ("el0ps.solver.bnb",)  # imports mpi4py, which needs an MPI library: the mpich wheel
    most_entries = 2e8
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        from el0ps.compilation import compiled_clone
        from el0ps.datafit import Leastsquares, Logistic
        from el0ps.penalty import L2norm
        from el0ps.solver.bnb import BoundSolver

        assert problem.l0 is not None
        assert problem.ridge is not None
        n, m = problem.shape
        datafit = Leastsquares if problem.loss == "squared" else Logistic
        fit = compiled_clone(datafit(problem.y))
        penalty = compiled_clone(L2norm(0.5 * n * problem.ridge))
        solver = compiled_clone(BoundSolver(relative_tol=tolerance))
        price = n * problem.l0
        solver.setup(fit, penalty, problem.X, price)
        out, inside, open_ = np.zeros(m, bool), np.zeros(m, bool), np.ones(m, bool)
        start = np.zeros(m)
        solver.bound(fit, penalty, problem.X, price, out, inside, open_, start, math.inf, False)
        return Answer(np.array(solver.x), dual=-np.array(solver.u) / n)
