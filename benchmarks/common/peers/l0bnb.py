"""L0BnB: the relaxation at the root of its search tree, and its search.

Half a sum of squares, so its l2 is n ridge/2 and its l0 is n l0. It needs a big M. Every point that
beats w = 0 has ridge/2 w_i^2 <= F(0): this M is valid in the search, and ten times this length
never binds at the root.

The search starts from our model (found untimed), without which its own models are poor. The bound
claimed is its own gap's; an exhausted tree has none left, and claims its model's objective.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.common.peers.base import Answer, Claim, ExactPeer, Peer, RelaxationPeer, Task
from benchmarks.common.problems import Problem


class L0BnB(Peer):
    """What root and search share."""

    losses = ("squared",)
    forms = ("l0+ridge",)

    def load(self) -> None:
        # L0BnB 1.0.0 asks for np.Inf, which NumPy 2 has no more.
        if not hasattr(np, "Inf"):
            np.Inf = np.inf  # noqa: NPY201
        super().load()


class L0BnBRoot(L0BnB, RelaxationPeer):
    name = "L0BnB root"
    packages = ("l0bnb.relaxation",)
    most_entries = 2e8
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

    def solve(self, problem: Problem, tolerance: float) -> Answer:
        from l0bnb.relaxation import cd_solve

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


class L0BnBTree(L0BnB, ExactPeer):
    name = "L0BnB"
    packages = ("l0bnb.tree",)
    compiles = True

    def run(self, task: Task) -> Claim:
        from l0bnb.tree import BNBTree

        problem = task.problem
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
