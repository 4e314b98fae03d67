"""Scores of many models on rows that were left out."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils import _safe_indexing

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.errors import InputError
from sparsebounds.estimators._arrays import some_rows, stays


@dataclass(frozen=True)
class Judge:
    """What models are scored by, and on which data."""

    shell: Any
    """The estimator that predicts once it has coefficients."""

    scorer: Any
    own: bool
    """Whether the scorer is ours."""

    X: Any
    y: Any
    weights: Vector

    def check(self, test: Index, targets: Vector, loss: str, scoring: Any) -> None:
        """InputError where the scorer fails even on a perfect model of these test rows.

        `targets` are what its linear predictor says, a column per problem.
        """
        z = targets[test[self.weights[test] > 0]]
        if loss == "poisson":
            z = np.log(np.maximum(z, 1e-3))
        model = [(np.ones(self.X.shape[1]), 0.0)] * z.shape[1]
        judge = replace(self, shell=copy(self.shell))
        judge.shell._linear = lambda _: z
        try:
            judge.scores(test, [[model]], {"ks": [1]})
        except Exception as error:
            raise InputError(f"scoring={scoring!r} fails on these data: {error}") from error

    def scores(
        self, test: Index, models: Sequence[Sequence[Any]], options: dict[str, Any]
    ) -> Vector:
        """Those on test rows, by ridges and along the grid; NaN where there is none."""
        points, shell, given = len(options["ks"] or options["l0s"]), copy(self.shell), {}
        scores, test = np.full((len(models), points), np.nan), test[self.weights[test] > 0]
        if len(test) == 0:
            return scores
        if np.any(self.weights != 1.0) and takes_weights(self.scorer):
            given["sample_weight"] = self.weights[test]
        taken = some_rows if stays(self.X) else _safe_indexing
        X_test, y_test = taken(self.X, test), _safe_indexing(self.y, test)
        if self.own and isinstance(X_test, np.ndarray):
            # These rows are checked: to check them for each model takes longer than to predict.
            shell._linear = lambda rows: rows @ shell.coef_.T + shell.intercept_
        with config_context(array_api_dispatch=False):  # y is NumPy's
            for row, some in zip(scores, models, strict=True):
                for i, one in enumerate(some):
                    shell._take(one)
                    row[i] = self.scorer(shell, X_test, y_test, **given)
        return scores


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer can be called with sample_weight."""
    try:
        parameters = inspect.signature(scorer).parameters
    except (TypeError, ValueError):
        return False
    kinds = [parameter.kind for parameter in parameters.values()]
    return "sample_weight" in parameters or inspect.Parameter.VAR_KEYWORD in kinds
