"""The methods: ours, and what a user of other software would reach for, as they are by default.

l1            LassoCV; LogisticRegressionCV with an l1 penalty, which chooses by the log loss
l2            RidgeCV; LogisticRegressionCV with an l2 penalty, which chooses by the log loss
abess         with its own choice of the size, by a criterion (EBIC)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsebounds import SparseClassifierCV, SparseRegressorCV

FOLDS = 5
SHRINKING = np.logspace(-2, 4, 13)
"""Of RidgeCV, whose own three values are too few for columns of variance 1."""


def ours(classes: int) -> Any:
    """The defaults."""
    return SparseClassifierCV(cv=FOLDS) if classes else SparseRegressorCV(cv=FOLDS)


def l1(classes: int) -> Any:
    """The lasso, or its kin for classes."""
    if not classes:
        return scaled(LassoCV(cv=FOLDS))
    return scaled(_logistic(1.0, "liblinear" if classes == 2 else "saga"))


def l2(classes: int) -> Any:
    """All features, shrunk."""
    return scaled(_logistic(0.0, "lbfgs") if classes else RidgeCV(SHRINKING))


def abess(classes: int) -> Any:
    """The best subset by splicing."""
    from abess import linear

    kinds = {0: linear.LinearRegression, 2: linear.LogisticRegression}
    return scaled(kinds.get(classes, linear.MultinomialRegression)())


METHODS: dict[str, Callable[[int], Any]] = {"ours": ours, "l1": l1, "l2": l2, "abess": abess}
"""An estimator for so many classes; 0: for numbers."""


def scaled(model: Any) -> Any:
    """On columns of mean 0 and variance 1, without those that are constant."""
    return make_pipeline(VarianceThreshold(), StandardScaler(), model)


def columns_used(model: Any) -> int:
    """How many columns a fitted model reads, for any class."""
    last = model[-1] if isinstance(model, Pipeline) else model
    coef = np.asarray(last.coef_)
    if coef.shape[0] == last.n_features_in_:  # abess has one column per class
        coef = coef.T
    return int(np.count_nonzero(np.any(np.atleast_2d(coef) != 0, axis=0)))


def _logistic(l1_ratio: float, solver: str) -> Any:
    return LogisticRegressionCV(
        Cs=10,
        l1_ratios=[l1_ratio],
        solver=solver,
        cv=FOLDS,
        scoring="neg_log_loss",
        max_iter=2000,
        use_legacy_attributes=False,
    )
