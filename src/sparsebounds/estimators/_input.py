"""Mistakes in X that scikit-learn notices: the columns at fault, and the step that mends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from sparsebounds._support.decimals import counted
from sparsebounds._support.errors import InputError
from sparsebounds.matrices import as_matrix

SHOWN = 3
"""Columns that a sentence names; the others are counted."""


@contextmanager
def columns_named(X: Any, estimator: Any, y: Any = None) -> Iterator[None]:
    """In place of scikit-learn's error about text, NaN or infinity in X, one that names columns.

    Also about a response of text where a number is needed.
    """
    try:
        yield
    except TypeError as error:
        words = _times(X)
        if words is None:
            raise
        raise InputError(words) from error
    except ValueError as error:
        words = _mistake(X, type(estimator).__name__)
        if words is None and not estimator._two_class:
            words = _text_response(y)
        if words is None:
            if isinstance(X, (list, tuple)):
                as_matrix(X)  # says it of rows that differ in length
            raise
        raise InputError(words) from error


def _mistake(X: Any, estimator: str) -> str | None:
    """What is wrong with the columns of X, and what to do; None where it is something else."""
    times, text, gaps, infinite = _times(X), {}, {}, {}
    for place, name, column in _columns(X):
        values = _numbers(column)
        if _is_time(column):
            continue
        if values is None:
            text[place] = f"{name} ({_example(column)!r})"
        elif missing := int(np.count_nonzero(np.isnan(values))):
            gaps[place] = f"{name} ({counted(missing, 'row')})"
        elif beyond := int(np.count_nonzero(np.isinf(values))):
            infinite[place] = f"{name} ({counted(beyond, 'row')})"
    said = []
    if text:
        said.append(
            f"X holds text in {_listed(text)}: encode it first, for example by "
            f"make_pipeline(make_column_transformer((OneHotEncoder(), {list(text)!r}), "
            f"remainder='passthrough'), {estimator}())."
        )
    if times is not None:
        said.append(times)
    if gaps:
        said.append(
            f"X holds NaN in {_listed(gaps)}: fill such gaps first, for example by "
            f"make_pipeline(SimpleImputer(strategy='median'), {estimator}()), or drop the rows."
        )
    if infinite:
        said.append(f"X holds infinity in {_listed(infinite)}: mend or drop these rows.")
    return " ".join(said) or None


def _text_response(y: Any) -> str | None:
    """What to do about labels where a number is needed; None where y holds none."""
    first = next(iter(np.ravel(y)), None) if y is not None else None
    if not isinstance(first, str):
        return None
    return (
        f"y holds text ({str(first)!r}), but numbers are predicted here: take SparseClassifier for "
        "classes."
    )


def _columns(X: Any) -> Iterator[tuple[Any, str, Any]]:
    """Each column of a frame or an array: how it is asked for, how it is called, its cells."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        for name in X.columns:
            yield name, repr(name), X[name].to_numpy()
        return
    try:
        array = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
        wide = array.ndim == 2 and isinstance(array, np.ndarray)
    except (ValueError, AttributeError):
        return
    for j in range(array.shape[1] if wide else 0):
        yield j, f"column {j}", array[:, j]


def _numbers(column: Any) -> Any:
    """Cells as floats, None as NaN; None where one of them is text."""
    cells = np.asarray(column)
    try:
        if cells.dtype.kind in "OUST":
            missing = np.array([cell is None or cell != cell for cell in cells.tolist()])
            cells = np.where(missing, np.nan, cells.astype(object))
        # Complex numbers are another mistake.
        return np.zeros(0) if cells.dtype.kind == "c" else cells.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _times(X: Any) -> str | None:
    """What to do about columns of dates; None where X has none."""
    found = {place: name for place, name, column in _columns(X) if _is_time(column)}
    if not found:
        return None
    return (
        f"X holds dates or times in {_listed(found)}: make numbers of them first, such as days "
        "since a day, or drop these columns."
    )


def _is_time(column: Any) -> bool:
    """Whether the cells are dates, times or differences of them."""
    cells = np.asarray(column)
    some = cells.ravel().tolist() if cells.dtype.kind == "O" else []
    first = next((cell for cell in some if cell is not None), None)
    return cells.dtype.kind in "Mm" or isinstance(first, (date, time, timedelta))


def _example(column: Any) -> Any:
    """A cell that is no number."""
    cells = np.asarray(column, dtype=object).tolist()
    return next(cell for cell in cells if cell is not None and _numbers([cell]) is None)


def _listed(columns: dict[Any, str]) -> str:
    named = list(columns.values())
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return ", ".join(named[:SHOWN]) + more
