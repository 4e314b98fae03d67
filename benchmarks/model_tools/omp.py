"""Orthogonal matching pursuit: the column most correlated with the residual, refit, k times.

scikit-learn's for the squared loss. It has none for the logistic one: there it is ours, with F'(z)
in place of the residual and our own refit (with the ridge) inside.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.model_tools.base import ModelTool, Suggestion
from benchmarks.problems import Problem
from sparsebounds.models import refit


class MatchingPursuit(ModelTool):
    name = "OMP"
    packages = ("sklearn.linear_model",)

    def run(self, problem: Problem, variant: str) -> Suggestion:
        if problem.loss == "squared":
            from sklearn.linear_model import orthogonal_mp

            with warnings.catch_warnings():
                # Columns of low rank: it stops before k, and says so.
                warnings.simplefilter("ignore", RuntimeWarning)
                coef = orthogonal_mp(problem.X, problem.y, n_nonzero_coefs=problem.k)
            return Suggestion([coef], fitted=False)
        program = problem.program()
        lengths = np.sqrt(np.einsum("ij,ij->j", problem.X, problem.X))
        support = np.zeros(0, dtype=np.int64)
        w = np.zeros(program.m)
        for _ in range(problem.k or 0):
            scores = np.abs(problem.X.T @ program.F.gradient(problem.X @ w)) / lengths
            scores[support] = -1.0
            support = np.sort(np.append(support, int(np.argmax(scores))))
            w = refit(program, support).w
        return Suggestion([w], fitted=True)
