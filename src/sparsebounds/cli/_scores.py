"""How well a model predicts rows: the scores that suit the loss, weighted as the rows are.

squared, huber    R2, RMSE, MAE
poisson           deviance (mean, 2 [y log(y/p) - y + p]), D2 (its share explained)
logistic          AUC, accuracy, log-loss
squared_hinge     AUC, accuracy
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebounds._array import Vector
from sparsebounds.tables import Table

if TYPE_CHECKING:
    from sparsebounds._solution import Solution
    from sparsebounds.program import Program

Scores = dict[str, float]


def scored(program: Program, solution: Solution, table: Table) -> Scores:
    """The model's scores on the rows of a table; NaN where one is not defined."""
    if table.weights is not None and np.any(np.asarray(table.weights) == 0):
        table = table.rows(np.flatnonzero(table.weights))
    support = solution.support
    z = np.asarray(table.X[:, support], np.float64) @ solution.coef[support] + solution.intercept
    if table.offset is not None:
        z = z + np.asarray(table.offset, np.float64)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what is not defined is NaN, and said so
        if len(table.y) == 0:
            return {}
        if program.classes is not None:
            truth = np.asarray(table.y == program.classes[1])
            return _of_classes(program.loss.name, truth, z, table.weights)
        return _of_numbers(program.loss.name, np.asarray(table.y, np.float64), z, table.weights)


def _of_classes(loss: str, truth: Any, z: Vector, weights: Any) -> Scores:
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    both = truth.any() and not truth.all()
    found = {
        "AUC": float(roc_auc_score(truth, z, sample_weight=weights)) if both else math.nan,
        "accuracy": float(accuracy_score(truth, z > 0, sample_weight=weights)),
    }
    if loss == "logistic":
        chance = np.exp(-np.logaddexp(0.0, -z))
        found["log-loss"] = float(
            log_loss(truth, chance, labels=[False, True], sample_weight=weights)
        )
    return found


def _of_numbers(loss: str, y: Vector, z: Vector, weights: Any) -> Scores:
    from sklearn import metrics

    enough = len(y) > 1 and bool(np.any(y != y[0]))
    if loss == "poisson":
        mean = np.exp(z)
        deviance = metrics.mean_poisson_deviance(y, mean, sample_weight=weights)
        share = (
            metrics.d2_tweedie_score(y, mean, power=1, sample_weight=weights)
            if enough
            else math.nan
        )
        return {"deviance": float(deviance), "D2": float(share)}
    r2 = metrics.r2_score(y, z, sample_weight=weights) if enough else math.nan
    return {
        "R2": float(r2),
        "RMSE": float(metrics.root_mean_squared_error(y, z, sample_weight=weights)),
        "MAE": float(metrics.mean_absolute_error(y, z, sample_weight=weights)),
    }
