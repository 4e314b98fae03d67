"""Predictions of solutions and of points of a path are those of the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputError

DATA = sb.datasets.make_correlated(40, 8, nonzeros=3)
HOW: dict[str, Any] = {"fit_intercept": True, "standardize": True}


@pytest.mark.parametrize("loss", ["squared", "poisson", "logistic"])
def test_predictions_are_those_of_the_estimators(loss: str) -> None:
    X, y = DATA.X * 7.0 + 3.0, DATA.y
    if loss == "poisson":
        y = np.round(np.exp(0.2 * y))
    labels = np.where(y > 0.0, "yes", "no") if loss == "logistic" else y
    kind = sb.SparseClassifier if loss == "logistic" else sb.SparseRegressor
    fitted = kind(k=3, ridge=0.1, loss=loss).fit(X, labels)
    solution = sb.solve(X, labels, k=3, ridge=0.1, loss=loss, **HOW)
    point = sb.path(X, labels, ks=[3], ridge=0.1, loss=loss, **HOW)[0]
    expected = fitted.predict(X)
    for model in (solution, point):
        if loss == "logistic":
            assert np.array_equal(model.predict(X), expected)
        else:
            assert model.predict(X) == pytest.approx(expected, rel=1e-6)
    moved = solution.linear(X, offset=np.ones(len(X)))
    assert moved == pytest.approx(solution.linear(X) + 1.0)


def test_columns_must_be_those_of_the_fit() -> None:
    frame = pd.DataFrame(DATA.X, columns=list("abcdefgh"))
    solution = sb.solve(frame, DATA.y, k=2, ridge=0.1)
    with pytest.raises(InputError, match=r"X has 'b' where the model was fitted to 'a'"):
        solution.predict(frame[list("bacdefgh")])
    with pytest.raises(InputError, match="X has 7 columns, but the model was fitted to 8"):
        solution.predict(DATA.X[:, 1:])
    assert solution.predict(frame) == pytest.approx(solution.predict(DATA.X))


def test_a_certificate_knows_its_relative_gap() -> None:
    solution = sb.solve(DATA.X, DATA.y, k=2, ridge=0.1, exact=False)
    assert solution.certificate.rel_gap == solution.rel_gap
