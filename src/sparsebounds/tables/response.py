"""The response: a column as numbers or labels, what a loss asks of it, and rows held out by it."""

from __future__ import annotations

import math
import shlex
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.errors import InputError
from sparsebounds.losses import Loss
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.kinds import in_rows, not_numbers
from sparsebounds.tables.suggestions import did_you_mean, listing

MOST_CLASSES = 50
"""Different values of a response that are taken for classes."""


def as_response(series: pl.Series) -> Any:
    """A column as an array: numbers, booleans, or text as labels."""
    if series.dtype.is_temporal() or series.dtype.is_nested():
        raise InputError(f"--target {series.name!r} holds {series.dtype}; it must hold numbers.")
    if series.dtype.is_decimal():
        series = series.cast(pl.Float64)
    if series.dtype == pl.Boolean or series.dtype.is_numeric():
        return series.to_numpy()
    return np.array(series.cast(pl.String).to_list(), dtype=object)


def labels_of(y: Any, weights: Any = None) -> list[Any]:
    """The classes of rows that weigh something, sorted; whole numbers without a point."""
    labels: list[Any] = np.unique(y if weights is None else y[weights > 0]).tolist()
    return [int(one) if isinstance(one, float) and one.is_integer() else one for one in labels]


def label_named(text: str, y: Any, target: str) -> Any:
    """The class that --positive names; InputError where there is none."""
    labels = labels_of(y)
    for label in labels:
        if str(label) == text or (not isinstance(label, str) and _number(text) == label):
            return label
    known = [str(label) for label in labels]
    raise InputError(
        f"--positive {text!r} is not among the classes of {target!r}: {listing(map(repr, known))}."
        f"{did_you_mean(text, known)} (To ask for coefficients that are 0 or more, pass "
        "--nonnegative.)"
    )


def balanced(y: Any, weights: Any) -> Vector:
    """A factor per row that gives every class the same total weight, and all rows theirs."""
    labels, codes = np.unique(y, return_inverse=True)
    mass = np.bincount(codes, weights, len(labels))
    share = np.where(mass > 0, mass, np.inf)
    return np.asarray((mass.sum() / (np.count_nonzero(mass) * share))[codes])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def check_response(y: Any, name: str, loss: Loss, *, constant_allowed: bool) -> None:
    """InputError, in the words of a table, where the loss cannot take this response."""
    if y.ndim != 1 or (y.dtype.kind == "f" and not np.all(np.isfinite(y))):
        return  # the program says what is wrong with arrays
    values = np.unique(y)
    shown = listing((repr(value) for value in values.tolist()), 5)
    if loss.two_class and len(values) > 2:
        raise InputError(
            f"{name} holds {len(values)} classes ({shown}), but this tells two apart; pass "
            f"--positive {shlex.quote(str(values[0]))} to tell one from the rest"
            f"{'.' if y.dtype.kind not in 'fiub' else ', or --loss squared for a number.'}"
        )
    if not loss.two_class and y.dtype.kind not in "fiub":
        strange = not_numbers(pl.Series(list(map(str, y))))
        if strange:
            raise InputError(
                f"{name} must hold numbers, but has {in_rows(strange)}: write numbers there, or "
                "nothing, and pass --drop-missing."
            )
        cure = "turn it into numbers"
        if len(values) <= MOST_CLASSES:
            each = "" if len(values) == 2 else " for a model of each of them against the rest"
            cure = f"pass --loss logistic{each}"
        raise InputError(
            f"{name} holds text ({shown}), but --loss {loss.name} needs numbers; {cure}."
        )
    if len(values) < 2 and not constant_allowed:
        raise InputError(
            f"{name} is {shown} in every row: there is nothing to explain. Name another column, "
            "or add rows that differ."
        )


def held_out(y: Any, share: float, seed: int) -> tuple[Index, Index]:
    """(training rows, held-out rows), each in order: a seeded share of the rows.

    Labels and 0/1 responses keep their proportions on each side.
    """
    from sklearn.model_selection import train_test_split

    n = len(y)
    count = round(share * n)
    if not 1 <= count <= n - 2:
        raise InputError(
            f"--test {share:g} of {n} rows holds out {count} and leaves {n - count}; at least 1 "
            "and 2 are needed."
        )
    classes, sizes = np.unique(y, return_counts=True)
    labels = y.dtype.kind not in "fiu" or len(classes) == 2
    room = sizes.min() >= 2 and min(count, n - count) >= len(classes)
    train, test = train_test_split(
        np.arange(n), test_size=count, random_state=seed, stratify=y if labels and room else None
    )
    return np.sort(train), np.sort(test)
