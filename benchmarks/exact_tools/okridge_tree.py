"""OKRidge's search tree, with one method supplied that it lacks.

Sum of squares without |y|^2, so lambda2 = n ridge, and its gap is relative to another number: it
is handed the one that means the gap asked for. Where X^T X is singular it calls `lower_solve`,
which is not there; it is given its own `lower_solve_fast`. It asks for numpy < 2 and runs without:
pip install --no-deps okridge psutil.
"""

from __future__ import annotations

import math

from benchmarks.exact_tools.base import Claim, ExactTool, Task

MEMORY = 8.0
"""GB that it may fill with nodes."""


class OKRidge(ExactTool):
    name = "OKRidge"
    packages = ("okridge.tree",)
    losses = ("squared",)
    forms = ("k+ridge",)

    def load(self) -> None:
        super().load()
        from okridge.node import Node

        if not hasattr(Node, "lower_solve"):
            Node.lower_solve = Node.lower_solve_fast

    def run(self, task: Task) -> Claim:
        from okridge.tree import BNBTree

        problem = task.problem
        assert problem.ridge is not None
        n = problem.shape[0]
        gap = task.gap * task.value / abs(task.value - task.null)
        tree = BNBTree(problem.X, problem.y, lambda2=n * problem.ridge, max_memory_GB=MEMORY)
        _, coef, reached, lower, _ = tree.solve(problem.k, gap_tol=gap, time_limit=task.limit)
        bound = math.nan if lower < -1e15 else lower / (2.0 * n) + task.null
        return Claim(coef, bound, tree.number_of_nodes, reached <= gap)
