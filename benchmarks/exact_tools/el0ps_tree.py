"""El0ps, with its default settings, and with its screening tests off.

Its data term is a sum, so beta = n ridge/2 and lambda = n l0. Its result omits the bound, which is
taken from the tree it is made from.
"""

from __future__ import annotations

from typing import ClassVar

from benchmarks.exact_tools.base import Claim, ExactTool, Task


class El0ps(ExactTool):
    name = "El0ps"
    packages = ("el0ps.solver.bnb",)  # imports mpi4py, which needs an MPI library: the mpich wheel
    forms = ("l0+ridge",)
    compiles = True
    screening: ClassVar[bool] = True

    def run(self, task: Task) -> Claim:
        from el0ps.datafit import Leastsquares, Logistic
        from el0ps.penalty import L2norm
        from el0ps.solver import Status
        from el0ps.solver.bnb import BnbSolver

        bounds = []

        class Telling(BnbSolver):  # type: ignore[misc]
            def package_results(self, problem, results):  # type: ignore[no-untyped-def]
                bounds.append(float(results.bound))
                return super().package_results(problem, results)

        problem = task.problem
        assert problem.l0 is not None
        assert problem.ridge is not None
        n = problem.shape[0]
        datafit = Leastsquares if problem.loss == "squared" else Logistic
        solver = Telling(relative_gap=task.gap, time_limit=task.limit, screening=self.screening)
        penalty = L2norm(0.5 * n * problem.ridge)
        found = solver.solve(datafit(problem.y), penalty, problem.X, n * problem.l0)
        return Claim(found.x, bounds[-1] / n, int(found.iter_count), found.status == Status.OPTIMAL)


class El0psWithoutScreening(El0ps):
    name = "El0ps, no screening"
    screening = False
