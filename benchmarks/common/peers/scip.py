"""SCIP on the perspective formulation, small programs only: what a general solver does.

    min  t + ridge/2 sum s_i (+ l0 sum z_i)      w_i^2 <= s_i z_i,  |w_i| <= M,  z binary,
         |R w - q|^2 / (2n) + c <= t,            (sum z_i <= k)

R has rank(X) rows: X = U R with orthonormal U. Every model that beats w = 0 has |w_i| <= M.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.common.peers.base import Claim, ExactPeer, Task


class SCIP(ExactPeer):
    name = "SCIP"
    packages = ("pyscipopt",)
    losses = ("squared",)
    widest = 100

    def run(self, task: Task) -> Claim:
        from pyscipopt import Model, quicksum

        problem = task.problem
        n, m = problem.shape
        left, values, right = np.linalg.svd(problem.X, full_matrices=False)
        rank = int(np.sum(values > 1e-10 * values[0]))
        R, q = values[:rank, None] * right[:rank] / math.sqrt(n), left[:, :rank].T @ problem.y
        q = q / math.sqrt(n)
        rest = float(problem.y @ problem.y) / n - float(q @ q)
        longest = math.sqrt(2.0 * task.null / problem.ridge)
        model = Model()
        model.hideOutput()
        model.setParam("limits/time", task.limit)
        model.setParam("limits/gap", task.gap)
        model.setParam("numerics/feastol", 1e-8)  # 1e-6 cost 2e-4 of the objective
        model.setParam("parallel/maxnthreads", 1)
        model.setParam("lp/threads", 1)
        w = [model.addVar(lb=-longest, ub=longest) for _ in range(m)]
        z = [model.addVar(vtype="B") for _ in range(m)]
        s = [model.addVar(lb=0.0, ub=longest**2) for _ in range(m)]
        r = [model.addVar(lb=None) for _ in range(rank)]
        t = model.addVar(lb=0.0)
        for i in range(m):
            model.addCons(w[i] * w[i] <= s[i] * z[i])
        for j in range(rank):
            row = quicksum(float(R[j, i]) * w[i] for i in range(m))
            model.addCons(r[j] == row - float(q[j]))
        model.addCons(quicksum(0.5 * each * each for each in r) <= t)
        price = 0.0 if problem.l0 is None else problem.l0
        if problem.k is not None:
            model.addCons(quicksum(z) <= problem.k)
        cost = t + 0.5 * rest + 0.5 * problem.ridge * quicksum(s) + price * quicksum(z)
        model.setObjective(cost)
        model.optimize()
        coef = np.zeros(m)
        if model.getNSols():
            best = model.getBestSol()
            coef = np.array([best[w[i]] if best[z[i]] > 0.5 else 0.0 for i in range(m)])
        finished = model.getStatus() in ("optimal", "gaplimit")
        return Claim(coef, float(model.getDualbound()), int(model.getNTotalNodes()), finished)
