"""Estimators: sparse models with a proof, in scikit-learn's manners."""

from __future__ import annotations

from sparsebounds.estimators.classifier import SparseClassifier
from sparsebounds.estimators.regressor import SparseRegressor
from sparsebounds.estimators.selector import SparseSelector

__all__ = ["SparseClassifier", "SparseRegressor", "SparseSelector"]
