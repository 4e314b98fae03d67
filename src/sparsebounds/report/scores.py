"""Rows as a model sees them, and the scores that suit the loss, weighted as the rows are.

squared, huber    R2, RMSE, MAE
poisson           deviance (mean, 2 [y log(y/p) - y + p]), D2 (its share explained)
logistic          AUC, accuracy, log-loss
squared_hinge     AUC, accuracy
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.matrices import as_matrix
from sparsebounds.paths import CertifiedPoint
from sparsebounds.program import Program

Scores = dict[str, float]


@dataclass(frozen=True)
class Predicted:
    """Rows as a model sees them; those of weight 0 are left out."""

    program: Program
    y: Vector
    """The response; -1 and +1 where it is one of two classes."""

    z: Vector
    """Xw + b + offset."""

    weights: Vector | None

    @property
    def positive(self) -> Any:
        """The rows of the second class."""
        return self.y > 0

    @cached_property
    def scores(self) -> Scores:
        """The model's scores on these rows; NaN where one is not defined, empty without rows."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # what is not defined is NaN, and said so
            if len(self.y) == 0:
                return {}
            score = _of_numbers if self.program.classes is None else _of_classes
            return score(self.program.loss.name, self)


@dataclass(frozen=True)
class Held:
    """Rows that a model has not seen."""

    X: Any
    y: Any
    weights: Any = None
    offset: Any = None

    def checked(self, program: Program) -> Held:
        """The same with X as a matrix; InputError where it does not go with the program."""
        matrix, _ = as_matrix(self.X)
        if matrix.shape[1] != program.m:
            raise InputError(
                f"X has {matrix.shape[1]} columns, but the model was fitted to {program.m}."
            )
        given_rows = {"y": self.y, "sample_weight": self.weights, "offset": self.offset}
        for name, given in given_rows.items():
            if given is not None and len(given) != matrix.shape[0]:
                raise InputError(f"{name} has {len(given)} rows, but X has {matrix.shape[0]}.")
        if program.offset is not None and self.offset is None:
            raise InputError("The model was fitted with an offset; pass offset= for these rows.")
        return Held(matrix, np.asarray(self.y), self.weights, self.offset)

    def seen_by(self, program: Program, model: CertifiedPoint) -> Predicted:
        """The rows as a model sees them."""
        z = model.linear(self.X, self.offset)
        y = coded(program, self.y)
        kept, weights = slice(None), None
        if self.weights is not None:
            weights = np.asarray(self.weights, np.float64)
            kept = weights != 0
            weights = weights[kept]
        return Predicted(program, y[kept], z[kept], weights)


def coded(program: Program, y: Any) -> Vector:
    """A response as the program holds it: -1 and +1 where it is one of two classes."""
    if program.classes is None:
        return np.asarray(y, np.float64)
    return np.where(np.asarray(y) == program.classes[1], 1.0, -1.0)


def fitted(program: Program, model: CertifiedPoint) -> Predicted:
    """The program's own rows."""
    w, b = program.to_program(model.coef, model.intercept)
    support = np.flatnonzero(w)
    z = program.matrix.columns(support) @ w[support] + b + program.level
    z = z if program.offset is None else z + program.offset
    even = bool(np.all(program.weights == program.weights[0]))
    return Predicted(program, program.response, z, None if even else program.weights)


def predictions(program: Program, model: CertifiedPoint, held: Held | None) -> dict[str, Predicted]:
    """The training rows ("train") and those held out ("test"), as a model sees them."""
    own = {"train": fitted(program, model)}
    return own if held is None else own | {"test": held.seen_by(program, model)}


def chance(z: Vector) -> Vector:
    """The logistic model's probability of the second class."""
    return np.exp(-np.logaddexp(0.0, -z))


def _of_classes(loss: str, rows: Predicted) -> Scores:
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    truth, z, own = rows.positive, rows.z, {"sample_weight": rows.weights}
    both = truth.any() and not truth.all()
    found = {
        "AUC": float(roc_auc_score(truth, z, **own)) if both else math.nan,
        "accuracy": float(accuracy_score(truth, z > 0, **own)),
    }
    if loss == "logistic":
        found["log-loss"] = float(log_loss(truth, chance(z), labels=[False, True], **own))
    return found


def _of_numbers(loss: str, rows: Predicted) -> Scores:
    from sklearn import metrics

    y, z, own = rows.y, rows.z, {"sample_weight": rows.weights}
    enough = len(y) > 1 and bool(np.any(y != y[0]))
    if loss == "poisson":
        mean = np.exp(z)
        share = metrics.d2_tweedie_score(y, mean, power=1, **own) if enough else math.nan
        return {
            "deviance": float(metrics.mean_poisson_deviance(y, mean, **own)),
            "D2": float(share),
        }
    return {
        "R2": float(metrics.r2_score(y, z, **own)) if enough else math.nan,
        "RMSE": float(metrics.root_mean_squared_error(y, z, **own)),
        "MAE": float(metrics.mean_absolute_error(y, z, **own)),
    }
