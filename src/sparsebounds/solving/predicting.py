"""What a certified model predicts for rows: in the units of y, or as the label of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Index, Vector
from sparsebounds._support.errors import InputError
from sparsebounds.certificates import Certificate
from sparsebounds.matrices import as_matrix


class Predicting:
    """A model whose coefficients are in the user's units."""

    support: Index
    intercept: float
    certificate: Certificate
    feature_names: tuple[str, ...] | None
    classes: tuple[Any, Any] | None

    if TYPE_CHECKING:

        @property
        def coef(self) -> Vector: ...

    def linear(self, X: Any, offset: Any = None) -> Vector:
        """X coef + intercept + offset; of X only the columns of the model are read."""
        matrix, names = as_matrix(X)
        if matrix.shape[1] != self.certificate.shape[1]:
            raise InputError(
                f"X has {matrix.shape[1]} columns, but the model was fitted to "
                f"{self.certificate.shape[1]}."
            )
        if names is not None and self.feature_names is not None and names != self.feature_names:
            wrong, right = next(
                pair for pair in zip(names, self.feature_names, strict=True) if pair[0] != pair[1]
            )
            raise InputError(
                f"X has {wrong!r} where the model was fitted to {right!r}; pass the same columns "
                "in the same order."
            )
        z: Vector = matrix.columns(self.support) @ self.coef[self.support] + self.intercept
        if offset is not None:
            z = z + check.real_vector("offset", offset, matrix.shape[0], "row")
        return z

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """What the model predicts for the rows of X.

        Parameters
        ----------
        X : array, sparse matrix, data frame or `open_matrix`
            Rows by features, the same columns as those of the fit.
        offset : array, optional
            One number per row, where the model was fitted with an offset.

        Returns
        -------
        array
            One number per row in the units of y: exp of the linear predictor for the Poisson loss.
            For a loss of two classes one label per row.
        """
        z = self.linear(X, offset)
        if self.classes is not None:
            return np.asarray(self.classes)[(z > 0.0).astype(int)]
        with np.errstate(over="ignore"):
            return np.exp(z) if self.certificate.problem.loss == "poisson" else z
