"""All of scikit-learn's own checks, none left out."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import sparsebounds as sb

ESTIMATORS = [
    sb.SparseRegressor(),
    sb.SparseRegressor(loss="poisson"),
    sb.SparseRegressor(loss="huber", k=2, standardize=False),
    sb.SparseRegressor(l0=0.01, ball=1.0, exact=False),  # others search
    sb.SparseClassifier(),
    sb.SparseClassifier(loss="squared_hinge", k=2),
    sb.SparseRegressorCV(ks=[1, 3], ridges=[0.1], cv=2),
    sb.SparseRegressorCV(l0s=[0.1, 0.01], ridges=[0.1], criterion="bic"),
    sb.SparseClassifierCV(ks=[0, 2], ridges=[0.1], cv=2, rule="1se"),
    sb.SparseSelector(),
    sb.SparseSelector(k=2, ridge=0.1),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
