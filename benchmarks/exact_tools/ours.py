"""Ours: `solve(..., exact=True)`, timed in full, certificate included.

Its tolerance is relative to the larger of the objective and that of w = 0. It is handed the one
that means the gap asked for, which is relative to the objective alone.
"""

from __future__ import annotations

from benchmarks.exact_tools.base import Claim, ExactTool, Task
from sparsebounds import solve


class Ours(ExactTool):
    name = "sparsebounds"
    packages = ("sparsebounds",)

    def run(self, task: Task) -> Claim:
        problem, tol = task.problem, task.gap * task.value / max(task.value, task.null)
        found = solve(
            problem.X,
            problem.y,
            k=problem.k,
            l0=problem.l0,
            ridge=problem.ridge,
            loss=problem.loss,
            exact=True,
            tol=tol,
            time_limit=task.limit,
        )
        return Claim(found.coef, found.lower, found.stats.nodes, found.status == "optimal")
