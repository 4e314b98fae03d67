"""The tables: scikit-learn's, and those of a folder that is not shipped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn import datasets

from benchmarks.common.problems import shared_data, shared_file
from sparsebounds.tables import Choice, read_table

Table = tuple[np.ndarray, np.ndarray]
"""X and y; whole numbers are classes."""


def _digits() -> Table:
    X, y = datasets.load_digits(return_X_y=True)
    return X[:, X.std(axis=0) > 0], y % 2


def _array(name: str, *, classes: bool = False, logarithm: bool = False) -> Table:
    X, y = shared_data(name)
    return np.log10(X) if logarithm else X, (y > 0).astype(int) if classes else y


def _file(name: str, target: str, *, classes: bool = True, **choice: tuple[str, ...]) -> Table:
    rows = read_table(shared_file(f"tables/{name}.csv"), Choice(target=target, **choice)).train
    return np.asarray(rows.X, float), (rows.y > 0).astype(int) if classes else rows.y.astype(float)


TABLES: dict[str, Callable[[], Table]] = {
    "breast cancer": partial(datasets.load_breast_cancer, return_X_y=True),
    "wine, 3 classes": partial(datasets.load_wine, return_X_y=True),
    "iris, 3 classes": partial(datasets.load_iris, return_X_y=True),
    "digits, odd or even": _digits,
    "diabetes": partial(datasets.load_diabetes, return_X_y=True),
    "diabetes, products": partial(_array, "diabetes64"),
    "prostate": partial(_array, "prostate_lpsa"),
    "riboflavin": partial(_array, "riboflavin"),
    "birth weight": partial(
        _file, "birthwt", "bwt", classes=False, exclude=("low",), categorical=("race",)
    ),
    "low birth weight": partial(_file, "birthwt", "low", exclude=("bwt",), categorical=("race",)),
    "colon": partial(_array, "colon", classes=True, logarithm=True),
    "leukemia": partial(_array, "leukemia", classes=True),
    "vote of 1996": partial(_file, "anes96", "vote"),
    "breast cytology": partial(_file, "risk_breastcancer", "Benign"),
    "mammography": partial(_file, "risk_mammo", "Malignant"),
}
