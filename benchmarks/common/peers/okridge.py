"""OKRidge: its beam search and its search tree.

Sum of squares without |y|^2, so lambda2 = n ridge. It asks for numpy < 2 and runs without:
pip install --no-deps okridge psutil.

Beam: 50 parents with 50 children each, as its tree uses at every node. Only what the search reads
is handed over: OKRidge's own data class also takes two full eigenvalue decompositions of X^T X, for
bounds that are not asked for here. The time includes X^T X.

Tree: its gap is relative to another number, so it is given the one that means the gap asked for.
Where X^T X is singular it calls `lower_solve`, which is not there; it is given its own
`lower_solve_fast`.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from benchmarks.common.peers.base import Claim, ExactPeer, ModelPeer, Suggestion, Task
from benchmarks.common.problems import Problem

BEAM = 50
BEAM_MEMORY, TREE_MEMORY = 1.0, 8.0
"""GB of the beam's store of solutions, each with a vector of m numbers; of the tree's nodes."""


class OKRidgeBeam(ModelPeer):
    name = "OKRidge beam"
    packages = ("okridge.solvers",)
    losses = ("squared",)

    def run(self, problem: Problem, variant: str) -> Suggestion:
        from okridge.solvers import sparseLogRegModel_big_n

        n, m = problem.shape
        lambda2 = n * problem.ridge
        gram = problem.X.T @ problem.X
        gram[np.diag_indices(m)] += lambda2
        data = SimpleNamespace(
            X=problem.X,
            y=problem.y,
            n=n,
            p=m,
            lambda2=lambda2,
            XTX_lambda2=gram,
            XTy=problem.y @ problem.X,
            half_Lipschitz=gram.diagonal(),
        )
        search = sparseLogRegModel_big_n(
            data, parent_size=BEAM, child_size=BEAM, max_memory_GB=BEAM_MEMORY
        )
        search.get_sparse_sol_via_OMP(problem.k)
        return Suggestion([search.get_betas()], fitted=True)


class OKRidgeTree(ExactPeer):
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
        n = problem.shape[0]
        gap = task.gap * task.value / abs(task.value - task.null)
        tree = BNBTree(problem.X, problem.y, lambda2=n * problem.ridge, max_memory_GB=TREE_MEMORY)
        _, coef, reached, lower, _ = tree.solve(problem.k, gap_tol=gap, time_limit=task.limit)
        bound = math.nan if lower < -1e15 else lower / (2.0 * n) + task.null
        return Claim(coef, bound, tree.number_of_nodes, reached <= gap)
