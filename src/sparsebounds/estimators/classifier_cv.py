"""SparseClassifierCV: classification whose number of features and ridge the data choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds._support.array import to_numpy
from sparsebounds.estimators._base import parameters
from sparsebounds.estimators._cv import SparseCV
from sparsebounds.estimators.classifier import ClassifierPredictions, SparseClassifier
from sparsebounds.losses import Loss


@parameters
class SparseClassifierCV(ClassifierPredictions, SparseCV):
    """Linear classification with few features; how few, and the ridge, are chosen by the data.

    More than two classes are one problem each, as in `SparseClassifier`, with the same k (or l0)
    and the same ridge for all of them.

    Parameters
    ----------
    ks, l0s, ridges, ball, rule, cv, n_jobs, exact, time_limit : as in `SparseRegressorCV`
    criterion : as in `SparseRegressorCV`
        Information criteria are summed over the classes.
    loss, fit_intercept, standardize, positive, always, never : as in `SparseClassifier`
    groups, tol : as in `SparseClassifier`
    class_weight : as in `SparseClassifier`
        "balanced" is with respect to all rows.
    scoring : as in scikit-learn
        Default: the log loss (negated, so that more is better), or for a loss without probabilities
        the accuracy. A model that is chosen by its accuracy alone may be shrunk so far that its
        probabilities say nothing.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    best_k_, best_l0_, ridge_, cv_results_, n_iter_ : as in `SparseRegressorCV`
    path_ : Path, or a list with one per class
        Of all rows, at the chosen ridge.
    coef_, intercept_, upper_, lower_, gap_, status_ : as in `SparseClassifier`
    certificate_, solution_, n_features_in_, feature_names_in_ : as in `SparseClassifier`

    Examples
    --------
    >>> data = sb.datasets.make_correlated(100, 20, nonzeros=3, classes=True)
    >>> model = sb.SparseClassifierCV(ks=range(5), cv=3, rule="1se").fit(data.X, data.y)
    >>> model.best_k_, model.get_support(indices=True).tolist()
    (3, [0, 9, 19])
    """

    def _scoring(self, loss: Loss) -> Any:
        return mean_log_chance if self.scoring is None and loss.name == "logistic" else self.scoring

    def _shell(self, loss: Loss) -> SparseClassifier:
        shell = SparseClassifier(loss=loss)
        shell.classes_ = self.classes_
        return shell


def mean_log_chance(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The mean logarithm of the chance that a model gives to the right class: minus the log loss.

    Unlike scikit-learn's it knows the model's classes, so that rows of some of them will do, and
    does not end at 1e-16.
    """
    places = np.searchsorted(model.classes_, y)
    chances = to_numpy(model.predict_log_proba(X))[np.arange(len(places)), places]
    return float(np.average(chances, weights=sample_weight))
