"""Estimators: sparse models with a proof, in scikit-learn's manners."""

from __future__ import annotations

from sparsebounds.estimators._criteria import ends
from sparsebounds.estimators._cv import FACTORS
from sparsebounds.estimators._grouping import groups_of
from sparsebounds.estimators.classifier import SparseClassifier
from sparsebounds.estimators.classifier_cv import SparseClassifierCV
from sparsebounds.estimators.regressor import SparseRegressor
from sparsebounds.estimators.regressor_cv import SparseRegressorCV
from sparsebounds.estimators.selector import SparseSelector

__all__ = [
    "FACTORS",
    "SparseClassifier",
    "SparseClassifierCV",
    "SparseRegressor",
    "SparseRegressorCV",
    "SparseSelector",
    "ends",
    "groups_of",
]
