"""SparseSelector: the columns that the best sparse model uses, as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sparsebounds._support.array import Mask
from sparsebounds.estimators._arrays import returned, some_columns, stays
from sparsebounds.estimators._base import SparseEstimator
from sparsebounds.estimators._summary import Summary
from sparsebounds.estimators.classifier import SparseClassifier
from sparsebounds.estimators.regressor import SparseRegressor
from sparsebounds.losses import get_loss

TAKEN_OVER = tuple(
    f"{name}_"
    for name in ("upper", "lower", "gap", "status", "certificate", "solution", "ridge", "n_iter")
)
"""Attributes of the fitted model that are the selector's too."""


class SparseSelector(SelectorMixin, SparseEstimator):
    """Keep the columns of the best model with at most k features (or a price l0 each).

    Parameters
    ----------
    k, l0, ridge, ball, fit_intercept, standardize, positive : as in `SparseRegressor`
    loss : str or Loss, default "squared"
        "logistic" and "squared_hinge" select for a classifier. With more than two classes the
        columns kept are those of any class against the rest, each with at most k.
    always, never, groups, tol, exact, time_limit : as in `SparseRegressor`

    Attributes
    ----------
    estimator_ : SparseRegressor or SparseClassifier
        The fitted model, with its predictions.
    support_ : mask
        The columns kept. `get_support(indices=True)` gives their positions.
    upper_, lower_, gap_, status_, certificate_, solution_, ridge_, n_iter_ : as in ``estimator_``
    n_features_in_, feature_names_in_ : as in `SparseRegressor`

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> sb.SparseSelector(k=3).fit_transform(data.X, data.y).shape
    (60, 3)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the model whose columns are kept."""
        kind = SparseClassifier if get_loss(self.loss).two_class else SparseRegressor
        self.estimator_ = model = kind(**self.get_params(deep=False)).fit(X, y, sample_weight)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        self.support_ = model.get_support()
        for name in TAKEN_OVER:
            setattr(self, name, getattr(model, name))
        return self

    def summary(self) -> Summary:
        """That of `estimator_`."""
        check_is_fitted(self)
        return self.estimator_.summary()

    def report(self, file: Any, *rows: Any, **options: Any) -> None:
        """That of `estimator_`, whose arguments it takes."""
        check_is_fitted(self)
        self.estimator_.report(file, *rows, **options)

    def transform(self, X: Any) -> Any:
        """The columns kept."""
        if not stays(X):
            return super().transform(X)
        check_is_fitted(self)
        validate_data(self, X, skip_check_array=True, reset=False)
        return returned(X, some_columns(X, np.flatnonzero(self.support_)))

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        mask: Mask = self.support_
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
