"""The response: a column as numbers or labels, and what a loss asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebounds._support.errors import InputError
from sparsebounds.tables.suggestions import listing

if TYPE_CHECKING:
    import polars as pl

    from sparsebounds.losses import Loss


def as_response(series: pl.Series, option: str = "--target") -> Any:
    """A column as an array: numbers, booleans, or text as labels."""
    import polars as pl

    if series.dtype.is_temporal() or series.dtype.is_nested():
        raise InputError(f"{option} {series.name!r} holds {series.dtype}; it must hold numbers.")
    if series.dtype.is_decimal():
        series = series.cast(pl.Float64)
    if series.dtype == pl.Boolean or series.dtype.is_numeric():
        return series.to_numpy()
    return np.array(series.cast(pl.String).to_list(), dtype=object)


def check_response(y: Any, name: str, loss: Loss, *, constant_allowed: bool) -> None:
    """InputError, in the words of a table, where the loss cannot take this response."""
    if y.ndim != 1 or (y.dtype.kind == "f" and not np.all(np.isfinite(y))):
        return  # the program says what is wrong with arrays
    values = np.unique(y)
    shown = listing((repr(value) for value in values.tolist()), 5)
    if loss.two_class and len(values) > 2:
        raise InputError(
            f"{name} holds {len(values)} classes ({shown}), but --loss {loss.name} needs exactly "
            "two; code it with two labels, or pass --loss squared for a number."
        )
    if not loss.two_class and y.dtype.kind not in "fiub":
        cure = "pass --loss logistic" if len(values) == 2 else "turn it into numbers"
        raise InputError(
            f"{name} holds text ({shown}), but --loss {loss.name} needs numbers; {cure}."
        )
    if len(values) < 2 and not constant_allowed:
        raise InputError(
            f"{name} is {shown} in every row: there is nothing to explain. Name another column, "
            "or add rows that differ."
        )
