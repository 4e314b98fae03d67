"""SparseClassifier: linear classification with few features, and a proof of how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.errors import InputError
from sparsebounds.data import Coded
from sparsebounds.estimators._arrays import truth
from sparsebounds.estimators._base import SparseEstimator, one_or_all, parameters
from sparsebounds.losses import Loss, log_chances
from sparsebounds.paths import CertifiedPoint


def _has_probabilities(estimator: Any) -> bool:
    return bool(getattr(estimator.loss, "name", estimator.loss) == "logistic")


@parameters
class ClassifierPredictions(ClassifierMixin):
    """What fitted linear models predict for a class; how labels become problems."""

    _two_class = True
    _losses = "'logistic', 'squared_hinge', 'ramp' or 'sigmoid'"

    _: KW_ONLY
    loss: str | Loss = "logistic"
    class_weight: Any = None

    def _coded(self, y: Any, weights: Vector) -> tuple[list[Vector], Vector]:
        """The response -1, +1 of each problem, and the weights with those of the classes."""
        check_classification_targets(y)
        kept = y if np.all(weights > 0) else y[weights > 0]
        self.classes_ = np.unique(kept)
        if len(self.classes_) < 2:
            raise InputError(
                "y holds one class only (rows of weight 0 left out); "
                "a classifier needs rows of at least two."
            )
        # Rows of weight 0 may hold other labels: they count as any.
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        weights = weights * self._class_weights(codes, weights)[codes]
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(codes == c, 1.0, -1.0) for c in positives], weights

    def _labelled(self, coded: list[Vector]) -> list[Coded]:
        """The responses, with the labels that -1 and +1 stand for."""
        if len(coded) == 1:
            return [Coded(coded[0], tuple(self.classes_.tolist()))]
        names = ((f"not {label}", label) for label in self.classes_.tolist())
        return [Coded(y, pair) for y, pair in zip(coded, names, strict=True)]

    def _keep(self, points: Sequence[CertifiedPoint]) -> None:
        """The model of each problem and what is proved about it, as attributes."""
        self._take([(point.coef, point.intercept) for point in points])
        self.upper_ = one_or_all(np.array([point.upper for point in points]))
        self.lower_ = one_or_all(np.array([point.lower for point in points]))
        self.gap_ = one_or_all(np.array([point.rel_gap for point in points]))
        proved = all(point.status == "optimal" for point in points)
        self.status_ = "optimal" if proved else "bounded"
        self.certificate_ = one_or_all([point.certificate for point in points])

    def _take(self, models: Sequence[tuple[Vector, float]]) -> None:
        """The model of each problem: what predicting needs."""
        self.coef_ = np.array([coef for coef, _ in models])
        self.intercept_ = np.array([intercept for _, intercept in models])

    def decision_function(self, X: Any) -> Any:
        """The linear predictor: one number per row for two classes, else one per row and class."""
        return self._predicted(X, lambda z: z[:, 0] if z.shape[1] == 1 else z)

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        check_is_fitted(self)
        classes = self.classes_

        def labels(z: Vector) -> Any:
            return classes[(z[:, 0] > 0).astype(int) if z.shape[1] == 1 else np.argmax(z, axis=1)]

        return self._predicted(X, labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is right."""
        return float(super().score(X, truth(y), truth(sample_weight)))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of `predict_proba`, exact where that underflows."""
        return self._predicted(X, log_chances)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """A column of probabilities for each class.

        Of more than two, that this one alone is told from the rest, given that one is.
        """
        return self._predicted(X, lambda z: np.exp(log_chances(z)))

    def _class_weights(self, codes: Index, weights: Vector) -> Vector:
        """The factor of each class; "balanced" counts rows with their weights."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            mass = np.bincount(codes, weights)
            return np.asarray(mass.sum() / (len(mass) * mass))
        labels = self.classes_[codes]
        return np.asarray(compute_class_weight(self.class_weight, classes=self.classes_, y=labels))


@parameters
class SparseClassifier(ClassifierPredictions, SparseEstimator):
    """Linear classification with at most k features (or a price l0 each), certified.

    Two classes are one problem, in which the larger label (in sorted order) is coded +1 and the
    other -1. More classes are one problem each, one against the rest: every class has its own at
    most k features, its own bounds and its own certificate.

    Parameters
    ----------
    k, l0, ball, fit_intercept, standardize, positive, always, never : as in `SparseRegressor`
    groups, tol, exact : as in `SparseRegressor`
    ridge : as in `SparseRegressor`
        "auto" is 1/(4 sqrt(n)) for the logistic loss on standardized columns.
    loss : str or a two-class Loss, default "logistic"
        Or "squared_hinge"; probabilities come with the logistic loss only. "ramp" and "sigmoid" are
        not convex: no outlier costs more than 1, and the certified gaps are wide.
    time_limit : float, optional
        Seconds for the whole fit, shared evenly by the classes.
    class_weight : dict or "balanced", optional
        Factors of the sample weights, by label. "balanced" gives all classes the same total.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_, intercept_ : array
        In the units of X, of shapes (1, m) and (1,), or a row per class.
    upper_, lower_, gap_ : float, or an array with one per class
        As in `SparseRegressor`, for the coded response.
    status_ : str
        "optimal" where every gap is proved to be at most tol, else "bounded".
    certificate_, solution_ : one of each, or a list with one per class
        With two classes ``certificate_.verify(X, y, sample_weight)`` checks the proof on the
        training data; with more, certificate c is about ``y == classes_[c]``. The weights are those
        after `class_weight`.
    ridge_, n_iter_, n_features_in_, feature_names_in_ : as in `SparseRegressor`

    See Also
    --------
    SparseClassifierCV : Chooses k and the ridge.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(100, 20, nonzeros=3, classes=True)
    >>> model = sb.SparseClassifier(k=3).fit(data.X, data.y)
    >>> model.get_support(indices=True).tolist(), model.status_
    ([0, 9, 19], 'optimal')
    >>> model.predict_proba(data.X[:2]).round(2).tolist()
    [[0.56, 0.44], [0.26, 0.74]]
    """
