"""All of scikit-learn's own checks, none left out."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import sparsebounds as sb

ESTIMATORS = [
    sb.SparseRegressor(),
    sb.SparseRegressor(loss="poisson"),
    sb.SparseClassifier(),
    sb.SparseSelector(),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
