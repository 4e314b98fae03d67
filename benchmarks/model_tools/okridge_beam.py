"""OKRidge: its beam search (50 parents, 50 children each, as its tree uses at every node).

Sum of squares, so lambda2 = n ridge. Only what the search reads is handed over: OKRidge's own data
class also takes two full eigenvalue decompositions of X^T X, for bounds that are not asked for
here, and its tree stops with an error where X^T X is singular. The time includes X^T X.

It asks for numpy < 2 and runs without: pip install --no-deps okridge psutil.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from benchmarks.model_tools.base import ModelTool, Suggestion
from benchmarks.problems import Problem

BEAM = 50
MEMORY = 1.0
"""GB of the search's store of solutions, each with a vector of m numbers."""


class OKRidgeBeam(ModelTool):
    name = "OKRidge beam"
    packages = ("okridge.solvers",)
    losses = ("squared",)

    def run(self, problem: Problem, variant: str) -> Suggestion:
        from okridge.solvers import sparseLogRegModel_big_n

        assert problem.ridge is not None
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
            data, parent_size=BEAM, child_size=BEAM, max_memory_GB=MEMORY
        )
        search.get_sparse_sol_via_OMP(problem.k)
        return Suggestion([search.get_betas()], fitted=True)
