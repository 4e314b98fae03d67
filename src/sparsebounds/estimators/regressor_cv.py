"""SparseRegressorCV: regression whose number of features and ridge the data choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds._support.array import to_numpy
from sparsebounds.estimators._cv import SparseCV
from sparsebounds.estimators.regressor import RegressorPredictions, SparseRegressor
from sparsebounds.losses import Loss


class SparseRegressorCV(RegressorPredictions, SparseCV):
    """Linear regression with few features; how few, and the ridge, are chosen by the data.

    Parameters
    ----------
    ks : list of int, optional
        The numbers of features to try. Default: 0, 1, ..., to 20 or as many as there are.
    ball : float, optional
        The most that sum w_i^2 may be, in place of a ridge.
    loss, fit_intercept, standardize, positive, always, never, groups, tol : as in `SparseRegressor`
    exact : bool or "auto", default "auto"
        Search for the proved optimum at the chosen point: to the end, or for a bounded amount of
        work, a quarter of what `SparseRegressor` spends. The folds prove nothing.
    time_limit : float, optional
        Seconds for each path, and for the fit on all rows. Points that it leaves out cannot be
        chosen.
    l0s : list of float, optional
        Prices of a feature to try, in place of `ks`.
    ridges : "auto" or list of float, default "auto"
        The ridges to try; "auto": 0.03, 0.3 and 3 times that of the rule of `SparseRegressor`, or
        with an information criterion that one alone. In a list "auto" is that of the rule.
    criterion : {"cv", "aic", "bic", "ebic"}, default "cv"
        Cross-validation, or an information criterion on all rows.
    rule : {"best", "1se"}, default "best"
        With "1se" the smallest model, at the best ridge, whose mean score is within one standard
        error of the best.
    cv, scoring : as in scikit-learn
        Folds or a splitter, a scorer (default: R^2).
    n_jobs : int, optional
        Processes that share the folds, ridges and classes; -1: one per core. Work that is too short
        to gain by them is done by one. The fit on all rows is shared by classes alone.

    Attributes
    ----------
    best_k_, best_l0_ : int and float
        What was chosen; the other one is None.
    ridge_ : float
        The ridge chosen; None with a ball.
    cv_results_ : dict of arrays
        One entry for each ridge and point: param_k or param_l0, param_ridge, and
        split0_test_score, ..., mean_test_score, std_test_score, or the criterion by its name.
    path_ : Path
        Of all rows, at the chosen ridge. Relaxations certify every point; the chosen one is
        ``solution_``, with its tighter bound. It is made of the data when it is first read, and so
        not of a model that was pickled before.
    coef_, intercept_, upper_, lower_, gap_, status_ : as in `SparseRegressor`
        Of the chosen point.
    certificate_, solution_ : as in `SparseRegressor`
        Likewise.
    n_iter_ : int
        Newton steps on all rows.
    n_features_in_, feature_names_in_ : as in `SparseRegressor`

    See Also
    --------
    path : The models, without a choice.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> model = sb.SparseRegressorCV(ks=range(6), cv=3, rule="1se").fit(data.X, data.y)
    >>> model.best_k_, model.get_support(indices=True).tolist()
    (3, [0, 9, 19])
    """

    def _scoring(self, loss: Loss) -> Any:
        return explained if self.scoring is None else self.scoring

    def _shell(self, loss: Loss) -> SparseRegressor:
        return SparseRegressor(loss=loss)


def explained(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """R^2 as scikit-learn has it, without its checks of what is known to be well: they take longer.

    NaN for a single row; a constant y is explained wholly or not at all.
    """
    if len(y) < 2:
        return float("nan")
    y, weights = np.asarray(y, dtype=np.float64), sample_weight
    left = np.average((y - to_numpy(model.predict(X))) ** 2, weights=weights)
    total = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    return float(1.0 - left / total) if total > 0.0 else float(left == 0.0)
