"""L0BnB, started from our model (found untimed), without which its own models are poor.

Half a sum of squares, so its l2 is n ridge/2 and its l0 is n l0. It needs a big M: every model that
beats w = 0 has ridge/2 w_i^2 <= F(0), so that M is valid. The bound claimed is its own gap's; an
exhausted tree has none left, and claims its model's objective.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.exact_tools.base import Claim, ExactTool, Task


class L0BnB(ExactTool):
    name = "L0BnB"
    packages = ("l0bnb.tree",)
    losses = ("squared",)
    forms = ("l0+ridge",)
    compiles = True

    def load(self) -> None:
        # L0BnB 1.0.0 asks for np.Inf, which NumPy 2 has no more.
        if not hasattr(np, "Inf"):
            np.Inf = np.inf  # type: ignore[attr-defined]  # noqa: NPY201
        super().load()

    def run(self, task: Task) -> Claim:
        from l0bnb.tree import BNBTree

        problem = task.problem
        assert problem.l0 is not None
        assert problem.ridge is not None
        n = problem.shape[0]
        tree = BNBTree(problem.X, problem.y)
        found = tree.solve(
            n * problem.l0,
            0.5 * n * problem.ridge,
            math.sqrt(2.0 * task.null / problem.ridge),
            gap_tol=task.gap,
            warm_start=task.start,
            time_limit=task.limit,
        )
        cost = found.cost / n
        exhausted = tree.bfs_queue.empty() and tree.dfs_queue.empty()
        if exhausted:
            lower = cost
        elif found.gap < 1e6:
            lower = cost - found.gap * abs(cost)
        else:
            lower = math.nan  # no level of the tree was finished
        return Claim(found.beta, lower, tree.number_of_nodes, exhausted or found.gap <= task.gap)
