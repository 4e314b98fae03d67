"""SparseRegressor: the best linear model with few features, and a proof of how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sparsebounds._support.array import Vector
from sparsebounds.estimators._arrays import truth
from sparsebounds.estimators._base import SparseEstimator, parameters
from sparsebounds.estimators._input import columns_named
from sparsebounds.losses import Loss, Squared
from sparsebounds.paths import CertifiedPoint
from sparsebounds.program import Program
from sparsebounds.solving import Outliers, Scale, scaled_loss


class RegressorPredictions(RegressorMixin):
    """What a fitted linear model predicts for a number."""

    _two_class = False
    _losses = "'squared', 'huber', 'poisson', 'tukey' or another one for real responses"

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        X, y = super()._checked(X, y, y_numeric=True, **options)
        with columns_named(np.empty((0, 0)), self, y):
            return X, y.astype(np.float64, copy=False)

    def _coded(self, y: Vector, weights: Vector) -> tuple[list[Vector], Vector]:
        """The response of the only problem, and the weights."""
        return [y], weights

    def _labelled(self, coded: list[Vector]) -> list[Vector]:
        """The responses as they are shown."""
        return coded

    def _keep(self, points: Sequence[CertifiedPoint]) -> None:
        """The only model and what is proved about it, as attributes."""
        (point,) = points
        self._take([(point.coef, point.intercept)])
        self.upper_ = point.upper
        self.lower_ = point.lower
        self.gap_ = point.rel_gap
        self.status_ = point.status
        self.certificate_ = point.certificate

    def _take(self, models: Sequence[tuple[Vector, float]]) -> None:
        """The only model: what predicting needs."""
        ((self.coef_, self.intercept_),) = models

    def predict(self, X: Any) -> Any:
        """The response expected for each row: exp of the linear predictor for Poisson."""
        check_is_fitted(self)
        poisson = getattr(self.loss, "name", self.loss) == "poisson"

        def expected(z: Vector) -> Vector:
            with np.errstate(over="ignore"):
                return np.exp(z) if poisson else z

        return self._predicted(X, expected)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2: the share of the variance of y that is explained."""
        return float(super().score(X, truth(y), truth(sample_weight)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = getattr(self.loss, "name", self.loss) == "poisson"
        return tags


@parameters
class SparseRegressor(RegressorPredictions, SparseEstimator):
    """Linear regression with at most k features (or a price l0 each), certified.

    Parameters
    ----------
    k : int, default 10
        The largest number of features used. More than there are columns means all of them.
    ball : float, optional
        The most that sum w_i^2 may be, in place of the ridge.
    loss : str or Loss, default "squared"
        Or "huber", whose delta is in the units of y, or "poisson", which predicts exp(linear
        predictor). Non-convex losses, such as "truncated" and "tukey", are robust: see `c`.
    fit_intercept : bool, default True
        Whether there is an intercept, which has no penalty.
    standardize : bool, default True
        Pose the problem on columns of mean 0 and variance 1, so that units do not matter.
    positive : bool or mask, default False
        Ask for coefficients >= 0.
    always, never : indices or names, optional
        Features in every model (not counted in k, free of l0) and in none.
    groups : labels, lists, a mapping or "auto", optional
        Features that are in a model together or not at all, as `solve` takes them. "auto" makes
        groups of the columns of a data frame that scikit-learn's encoders have named; `groups_of`
        asks an encoder for them.
    tol : float, default 1e-4
        The relative gap up to which a model is called optimal.
    exact : bool or "auto", default "auto"
        Search until that is proved (branch and bound; set a `time_limit`), not at all, or for a
        bounded amount of work.
    time_limit : float, optional
        Seconds. What is found by then comes with valid bounds.
    l0 : float or one number per feature, optional
        A price for each feature in place of k, which is then left at its default or None.
    ridge : "auto", float or one number per feature, default "auto"
        Adds ridge/2 w^2. "auto": curvature of the loss * mean square of a column / sqrt(n), which
        is 1/sqrt(n) for the squared loss on standardized columns whatever the units of y; n is
        the sum of the sample weights. It shrinks a coefficient by about one standard error.
        Larger values shrink more and narrow the certified gap.
    c : float or "auto", optional
        The scale of a robust loss, in the units of y: what the truncated loss leaves out has a
        residual of c or more. "auto": the loss's default times `noise_scale` for models of this
        size, which up to 40% of wrong responses do not spoil. By default as the loss has it.

    Attributes
    ----------
    coef_ : array
        The coefficients, in the units of X and y.
    intercept_ : float
        The intercept.
    upper_, lower_ : float
        The model's objective, and a proved bound: no model that obeys the constraints has a
        smaller one. The objective is the weighted mean of the loss, plus ridge and prices, with
        w the coefficients on the standardized columns (where `standardize`).
    gap_ : float
        ``(upper_ - lower_) / |upper_|``.
    status_ : str
        "optimal" where ``gap_ <= tol`` is proved, else "bounded".
    certificate_ : Certificate
        The proof; ``certificate_.verify(X, y, sample_weight)`` checks it on the training data.
    solution_ : Solution
        All that `solve` returned.
    outliers_ : Outliers
        Truncated loss: the rows proved to be outliers, or inliers, of every best model.
    c_ : float
        The c used; None where the loss has none.
    ridge_ : float or array
        The ridge used; None with a ball.
    n_iter_ : int
        Newton steps.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, where they have any.

    See Also
    --------
    SparseRegressorCV : Chooses k and the ridge.
    SparseClassifier : The same for classes.
    solve : The function behind it.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> model = sb.SparseRegressor(k=3).fit(data.X, data.y)
    >>> model.get_support(indices=True).tolist(), model.status_
    ([0, 9, 19], 'optimal')
    >>> print(f"{model.score(data.X, data.y):.2f}")
    0.83
    """

    _: KW_ONLY
    c: Scale = None

    def _scaled(self, loss: Loss, X: Any, y: Vector, weights: Vector) -> Loss:
        """The loss with the c that was asked for; "auto" by the noise about models of this size."""

        def posed(like: Loss) -> Program:
            asked = self._problem(like) | {"k": self._size(), "l0": self.l0, "ridge": self.ridge}
            del asked["tol"]
            # The ridge's own rule gives less for a bounded loss, and shrinking is no noise.
            asked["ridge"] = Program(X, y, sample_weight=weights, **asked).ridge
            return Program(X, y, sample_weight=weights, **asked | {"loss": Squared()})

        first = scaled_loss(loss, self.c, lambda: posed(Squared()))
        return scaled_loss(loss, self.c, lambda: posed(first))

    @property
    def c_(self) -> float | None:
        """The c of the loss, in the units of y; None where it has none."""
        return self.certificate_.problem.loss_parameters.get("c")

    @property
    def outliers_(self) -> Outliers | None:
        """What is proved about the rows; None where nothing was tried."""
        found: Outliers | None = self.solution_.outliers
        return found
