"""How well a model predicts rows: the scores that suit the loss, weighted as the rows are.

squared, huber    R2, RMSE, MAE
poisson           deviance (mean, 2 [y log(y/p) - y + p]), D2 (its share explained)
logistic          AUC, accuracy, log-loss
squared_hinge     AUC, accuracy
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.matrices import as_matrix
from sparsebounds.program import Program

Scores = dict[str, float]


class LinearModel(Protocol):
    """A solution, or a point of a path."""

    @property
    def coef(self) -> Vector: ...
    @property
    def intercept(self) -> float: ...
    @property
    def support(self) -> Index: ...


@dataclass(frozen=True)
class Predicted:
    """Rows as a model sees them; those of weight 0 are left out."""

    y: Vector
    """The response; -1 and +1 where it is one of two classes."""

    z: Vector
    """Xw + b + offset."""

    weights: Vector | None

    @property
    def positive(self) -> Any:
        """The rows of the second class."""
        return self.y > 0


def predicted(
    program: Program, model: LinearModel, X: Any, y: Any, weights: Any = None, offset: Any = None
) -> Predicted:
    """Any rows with the program's columns."""
    matrix, _ = as_matrix(X)
    z = matrix.columns(model.support) @ model.coef[model.support] + model.intercept
    if offset is not None:
        z = z + np.asarray(offset, np.float64)
    if program.classes is not None:
        y = np.where(np.asarray(y) == program.classes[1], 1.0, -1.0)
    y = np.asarray(y, np.float64)
    if weights is None:
        return Predicted(y, z, None)
    weights = np.asarray(weights, np.float64)
    kept = weights != 0
    return Predicted(y[kept], z[kept], weights[kept])


def fitted(program: Program, model: LinearModel) -> Predicted:
    """The program's own rows."""
    w, b = program.to_program(model.coef, model.intercept)
    z = program.matrix.columns(model.support) @ w[model.support] + b + program.level
    even = bool(np.all(program.weights == program.weights[0]))
    return Predicted(
        program.response,
        z if program.offset is None else z + program.offset,
        None if even else program.weights,
    )


def scored(program: Program, rows: Predicted) -> Scores:
    """The model's scores on these rows; NaN where one is not defined, empty without rows."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what is not defined is NaN, and said so
        if len(rows.y) == 0:
            return {}
        if program.classes is not None:
            return _of_classes(program.loss.name, rows)
        return _of_numbers(program.loss.name, rows)


def chance(z: Vector) -> Vector:
    """The logistic model's probability of the second class."""
    return np.exp(-np.logaddexp(0.0, -z))


def _of_classes(loss: str, rows: Predicted) -> Scores:
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    truth, z, weights = rows.positive, rows.z, rows.weights
    both = truth.any() and not truth.all()
    found = {
        "AUC": float(roc_auc_score(truth, z, sample_weight=weights)) if both else math.nan,
        "accuracy": float(accuracy_score(truth, z > 0, sample_weight=weights)),
    }
    if loss == "logistic":
        found["log-loss"] = float(
            log_loss(truth, chance(z), labels=[False, True], sample_weight=weights)
        )
    return found


def _of_numbers(loss: str, rows: Predicted) -> Scores:
    from sklearn import metrics

    y, z, weights = rows.y, rows.z, rows.weights
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
