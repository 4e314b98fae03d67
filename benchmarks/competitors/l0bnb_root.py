"""L0BnB: the relaxation at the root of its search tree, by its own coordinate descent.

Half a sum of squares, so its l2 is n ridge/2 and its l0 is n l0. Every relaxed point that beats
w = 0 has ridge/2 w_i^2 <= F(0), so ten times that length as big M never binds.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.competitors.base import Answer, Competitor
from benchmarks.problems import Problem


class L0BnBRoot(Competitor):
    name = "L0BnB root"
    packages = ("l0bnb.relaxation",)
    losses = ("squared",)
    most_entries = 2e8
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

    def reason_to_skip(self, problem: Problem) -> str | None:
        # L0BnB 1.0.0 asks for np.Inf, which NumPy 2 has no more.
        if not hasattr(np, "Inf"):
            np.Inf = np.inf  # type: ignore[attr-defined]  # noqa: NPY201
        return super().reason_to_skip(problem)

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        from l0bnb.relaxation import cd_solve

        assert problem.l0 is not None
        assert problem.ridge is not None
        n, m = problem.shape
        tau = math.sqrt(2.0 * problem.l0 / problem.ridge)
        longest = math.sqrt(float(problem.y @ problem.y) / n / problem.ridge)
        found = cd_solve(
            x=problem.X,
            y=problem.y,
            l0=n * problem.l0,
            l2=0.5 * n * problem.ridge,
            m=10.0 * max(longest, tau),
            zlb=[],
            zub=[],
            gs_xtr=None,
            gs_xb=None,
            rel_tol=tolerance,
            check_if_integral=False,  # the relaxation alone, not whether a search may stop
            cd_max_itr=1000,  # what its search tree asks for
        )
        w = np.zeros(m)
        w[found.support] = found.primal_beta
        return Answer(w)
