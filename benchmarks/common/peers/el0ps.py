"""El0ps: the relaxation at the root of its search tree, and its search.

Its data term is a sum, so beta = n ridge/2 and lambda = n l0. The root has no incumbent, which its
pruning needs. The search runs with its default settings, and with its screening tests off. Its
result omits the bound, which is taken from the tree it is made from.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from benchmarks.common.peers.base import Answer, Claim, ExactPeer, RelaxationPeer, Task
from benchmarks.common.problems import Problem

PACKAGES = ("el0ps.solver.bnb",)
"""It imports mpi4py, which needs an MPI library: the mpich wheel."""


class El0psRoot(RelaxationPeer):
    name = "El0ps root"
    packages = PACKAGES
    most_entries = 2e8
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        from el0ps.compilation import compiled_clone
        from el0ps.datafit import Leastsquares, Logistic
        from el0ps.penalty import L2norm
        from el0ps.solver.bnb import BoundSolver

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


class El0ps(ExactPeer):
    name = "El0ps"
    packages = PACKAGES
    forms = ("l0+ridge",)
    compiles = True
    screening: ClassVar[bool] = True

    def run(self, task: Task) -> Claim:
        from el0ps.datafit import Leastsquares, Logistic
        from el0ps.penalty import L2norm
        from el0ps.solver import Status
        from el0ps.solver.bnb import BnbSolver

        bounds = []

        class Telling(BnbSolver):
            def package_results(self, problem, results):
                bounds.append(float(results.bound))
                return super().package_results(problem, results)

        problem = task.problem
        n = problem.shape[0]
        datafit = Leastsquares if problem.loss == "squared" else Logistic
        solver = Telling(relative_gap=task.gap, time_limit=task.limit, screening=self.screening)
        penalty = L2norm(0.5 * n * problem.ridge)
        found = solver.solve(datafit(problem.y), penalty, problem.X, n * problem.l0)
        return Claim(found.x, bounds[-1] / n, int(found.iter_count), found.status == Status.OPTIMAL)


class El0psWithoutScreening(El0ps):
    name = "El0ps, no screening"
    screening = False
