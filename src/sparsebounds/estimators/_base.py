"""What the estimators share: parameters, input, and the way to `solve`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds._support.threads import one_thread
from sparsebounds._support.validate import Exact
from sparsebounds.arguments import DEFAULTS, spoken
from sparsebounds.estimators._arrays import linear, response, returned, rowwise, stays
from sparsebounds.estimators._grouping import named_groups
from sparsebounds.estimators._input import columns_named
from sparsebounds.estimators._summary import Summary, spread_of, titled
from sparsebounds.losses import Loss, get_loss
from sparsebounds.matrices import as_matrix
from sparsebounds.solving import Solution, solve

Kind = TypeVar("Kind")


@dataclass_transform()
def parameters(kind: type[Kind]) -> type[Kind]:
    """A class whose fields are the arguments of its `__init__`, other names refused in words."""
    made = dataclass(eq=False, repr=False)(kind)
    made.__init__ = spoken(made.__init__)  # type: ignore[method-assign]
    return made


@parameters
class LinearEstimator(BaseEstimator):
    """Rows in, linear predictor out: coef_ and intercept_ are what `fit` leaves.

    Parameters are assigned, as scikit-learn asks, and read by `fit`. What a response means is up to
    the other base class, `RegressorPredictions` or `ClassifierPredictions`: `_two_class` and
    `_losses` say which losses it takes, `_coded` makes problems of it, `_keep` takes their models.
    """

    _: KW_ONLY
    ball: float | None = None
    loss: str | Loss = "squared"
    fit_intercept: bool = True
    standardize: bool = True
    positive: Any = False
    always: Any = None
    never: Any = None
    groups: Any = None
    tol: float = 1e-4
    exact: Exact = "auto"
    time_limit: float | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _chosen_loss(self) -> Loss:
        """The loss by name or instance, where it is of the kind that the estimator can use."""
        loss = get_loss(self.loss)
        if loss.two_class != self._two_class:
            raise InputError(
                f"loss={self.loss!r} does not fit this estimator; pass {self._losses}."
            )
        return loss

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        """X and y, checked; y is NumPy's, and X wherever it was."""
        if stays(X) and y is not None:
            validate_data(self, X, y, skip_check_array=True)
            if X.shape[0] < 2:
                raise InputError(f"X has {X.shape[0]} sample (row); fitting takes 2 or more.")
            return X, check.response_labels(column_or_1d(response(y), warn=True), X.shape[0])
        with columns_named(X, self, y):
            X, y = validate_data(
                self,
                X,
                response(y),
                accept_sparse="csc",
                dtype=[np.float64, np.float32],
                ensure_min_samples=2,
                **options,
            )
        return X, y

    def _find_groups(self, X: Any) -> None:
        """The groups of the columns of X, which is checked."""
        self._groups = self.groups
        if isinstance(self.groups, str) and self.groups == "auto":
            names = None if stays(X) else getattr(self, "feature_names_in_", None)
            self._groups = named_groups(X, names)

    def _problem(self, loss: Loss) -> dict[str, Any]:
        """The arguments of `solve` and `path` that are parameters here."""
        names = ("ball", "fit_intercept", "standardize", "positive", "always", "never", "groups")
        given = {name: getattr(self, name) for name in (*names, "tol")}
        given["groups"] = self._groups
        return given | {"loss": loss, "feature_names": getattr(self, "feature_names_in_", None)}

    def _linear(self, X: Any) -> Any:
        """X coef + intercept for new rows, one column per model; lazy for Dask, else NumPy."""
        check_is_fitted(self)
        if stays(X):
            validate_data(self, X, skip_check_array=True, reset=False)
            return linear(X, self.coef_, self.intercept_)
        with columns_named(X, self):
            X = validate_data(
                self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False
            )
        return np.asarray(safe_sparse_dot(X, self.coef_.T) + self.intercept_)

    def get_support(self, indices: bool = False) -> Any:
        """The columns that the model uses, of any class: a mask, or their positions."""
        check_is_fitted(self)
        mask = np.any(np.atleast_2d(self.coef_) != 0.0, axis=0)
        return np.flatnonzero(mask) if indices else mask

    def summary(self) -> Summary:
        """The features of the model, each with its coefficient per unit and per standard deviation.

        Prints as a table; its `columns` make a data frame.
        """
        check_is_fitted(self)
        found = all_of(self.solution_)
        title = "\n".join(filter(None, [titled(type(self).__name__, found), self._remark()]))
        return Summary.of(title, found, self._spreads, self._labels())

    def report(
        self,
        file: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        label: Any = None,
    ) -> None:
        """Write all that was found and proved into one HTML file that opens offline.

        Needs the extra `report`, and a model that was not pickled.

        Parameters
        ----------
        file : path
            Where to write it.
        X, y, sample_weight : array, optional
            Rows that the model has not seen, to show how it predicts; else the training rows do.
        label : optional
            With more than two classes: the class whose model is shown, against the rest.
        """
        check_is_fitted(self)
        labels, found = self._labels(), all_of(self.solution_)
        at = 0
        if len(found) > 1:
            if label is None or label not in labels:
                known = ", ".join(map(repr, labels))
                wrong = (
                    "There is a report per class" if label is None else f"label={label!r} is none"
                )
                raise InputError(f"{wrong}: pass label=, the class to report on, one of {known}.")
            at = labels.index(label)
        if found[at].program is None:
            raise InputError(
                "A report needs the data, which a pickled model does not hold: fit the model again,"
                " or write the report before it is pickled."
            )
        found[at].report(file, X, y, sample_weight=sample_weight, **self._evidence(at))

    def _labels(self) -> list[Any]:
        """The class that each model is for; None where there is one model."""
        found = all_of(self.solution_)
        return self.classes_.tolist() if len(found) > 1 else [None]

    def _remark(self) -> str:
        """What a summary says of how the model was chosen."""
        return ""

    def _evidence(self, at: int) -> dict[str, Any]:
        """What a report of the model with this number shows beside it."""
        return {}

    def _keep_solutions(self, found: list[Solution]) -> None:
        """The solutions, each with its data, and what a summary needs of these."""
        self._spreads = [spread_of(one.program, one) for one in found if one.program is not None]
        self.solution_ = one_or_all(found)

    def _predicted(self, X: Any, work: Callable[[Vector], Any]) -> Any:
        """What a method makes of the linear predictor, row by row."""
        return returned(X, rowwise(self._linear(X), work))


@parameters
class SparseEstimator(LinearEstimator):
    """Parameters of one sparse program."""

    k: int | None = DEFAULTS["k"]
    _: KW_ONLY
    l0: Any = None
    ridge: Any = DEFAULTS["ridge"]

    @one_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the model, or that of each class, and prove how good it is.

        Parameters
        ----------
        X : array, sparse matrix, data frame or `open_matrix`
            Rows by features.
        y : array
            One number per row, or one label.
        sample_weight : array, optional
            One number per row, 0 or more.

        Returns
        -------
        self
            The estimator, fitted.
        """
        loss = self._chosen_loss()
        X, y = self._checked(X, y)
        self._find_groups(X)
        weights, keep = check.sample_weights(sample_weight, X.shape[0])
        y = y if keep is None else y[keep]
        if stays(X):
            X = as_matrix(X, keep)[0]
        elif keep is not None:
            X = X[keep]
        coded, weights = self._coded(y, weights)
        loss = self._scaled(loss, X, coded[0], weights)
        sides = self._labelled(coded)
        found = [self._solve(X, t, weights, loss, len(coded)) for t in sides]
        self.ridge_ = found[0].certificate.problem.ridge
        if keep is not None:
            found = [solution.among(np.flatnonzero(keep)) for solution in found]
        self._keep(found)
        self._keep_solutions(found)
        self.n_iter_ = sum(solution.stats.newton_steps for solution in found)
        return self

    def _scaled(self, loss: Loss, X: Any, y: Vector, weights: Vector) -> Loss:
        """The loss for these data."""
        return loss

    def _size(self) -> int | None:
        """k, or None where l0 is given in its place."""
        k = self.k
        if self.l0 is not None and k is not None and k != DEFAULTS["k"]:
            raise InputError(f"Both k={k} and l0={self.l0} were given; set k=None to use l0.")
        return k if self.l0 is None else None

    def _solve(self, X: Any, y: Any, weights: Vector, loss: Loss, problems: int) -> Solution:
        """One of the `problems` that a fit consists of, which share the time."""
        return solve(
            X,
            y,
            k=self._size(),
            l0=self.l0,
            ridge=self.ridge,
            exact=self.exact,
            sample_weight=weights,
            **self._problem(loss),
            time_limit=None if self.time_limit is None else self.time_limit / problems,
        )


def all_of(values: Any) -> list[Any]:
    """What `one_or_all` was made of."""
    return values if isinstance(values, list) else [values]


def one_or_all(values: Any) -> Any:
    """The only entry, or all of them."""
    return values[0] if len(values) == 1 else values
