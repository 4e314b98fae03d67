"""Scores of many models on rows that were left out."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils import _safe_indexing

from sparsebounds._support.array import Index, Vector
from sparsebounds.estimators._arrays import some_rows, stays


def scored(
    shell: Any,
    scorer: Any,
    own: bool,
    X: Any,
    y: Any,
    weights: Vector,
    test: Index,
    models: Sequence[Sequence[Any]],
    options: dict[str, Any],
) -> Vector:
    """The scores of models on test rows, by ridges and along the grid; NaN where there is none."""
    points = len(options["ks"] or options["l0s"])
    scores, test = np.full((len(models), points), np.nan), test[weights[test] > 0]
    if len(test) == 0:
        return scores
    given = {}
    if np.any(weights != 1.0) and takes_weights(scorer):
        given["sample_weight"] = weights[test]
    taken = some_rows if stays(X) else _safe_indexing
    X_test, y_test = taken(X, test), _safe_indexing(y, test)
    if own and isinstance(X_test, np.ndarray):
        # These rows are checked: to check them again for each model takes longer than to predict.
        shell._linear = lambda rows: rows @ shell.coef_.T + shell.intercept_
    with config_context(array_api_dispatch=False):  # y is NumPy's
        for row, some in zip(scores, models, strict=True):
            for i, one in enumerate(some):
                shell._take(one)
                row[i] = scorer(shell, X_test, y_test, **given)
    return scores


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer can be called with sample_weight."""
    try:
        parameters = inspect.signature(scorer).parameters
    except (TypeError, ValueError):
        return False
    kinds = [parameter.kind for parameter in parameters.values()]
    return "sample_weight" in parameters or inspect.Parameter.VAR_KEYWORD in kinds
