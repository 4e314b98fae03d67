"""SparseClassifierCV: classification whose number of features and ridge the data choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import to_numpy
from sparsebounds.estimators._cv import SparseCV
from sparsebounds.estimators.classifier import ClassifierPredictions, SparseClassifier
from sparsebounds.losses import Loss


@dataclass(eq=False, repr=False)
class SparseClassifierCV(ClassifierPredictions, SparseCV):
    """Linear classification with few features; how few, and the ridge, are chosen by the data.

    More than two classes are one problem each, as in `SparseClassifier`, with the same k (or l0)
    and the same ridge for all of them.

    Parameters
    ----------
    ks, l0s, ridges, ball, criterion, rule, cv, n_jobs, exact, time_limit
        As in `SparseRegressorCV`. Information criteria are summed over the classes.
    scoring
        As in scikit-learn; default: the log loss (negated, so that more is better), or for a loss
        without probabilities the accuracy. A model that is chosen by its accuracy alone may be
        shrunk so far that its probabilities say nothing.
    loss, fit_intercept, standardize, positive, always, never, groups, tol, class_weight
        As in `SparseClassifier`; "balanced" is with respect to all rows.

    Attributes
    ----------
    classes_
        The labels, sorted.
    best_k_, best_l0_, ridge_, cv_results_
        As in `SparseRegressorCV`.
    path_ : Path, or a list with one per class
    coef_, intercept_, upper_, lower_, gap_, status_, certificate_, solution_
        As in `SparseClassifier`.
    n_iter_, n_features_in_, feature_names_in_
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
