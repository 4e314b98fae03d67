"""What a column of a table holds: numbers, text, dates, or what nobody can encode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparsebounds._support.errors import InputError
from sparsebounds.tables import _polars as pl

DATE = r"^\d{4}-\d{2}-\d{2}|^\d{1,2}[./]\d{1,2}[./]\d{2,4}"
COMMA_NUMBER = r"^[-+]?[\d.,]*\d[\d.,]*$"


def is_number(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == pl.Boolean)


def is_compound(dtype: Any) -> bool:
    return bool(dtype.is_nested() or dtype in (pl.Binary, pl.Object))


def looks_like(series: pl.Series, pattern: str) -> bool:
    """Whether every value matches; dates and times, by their type, match the pattern of dates."""
    if series.dtype.is_temporal():
        return pattern == DATE
    cells = series.drop_nulls()
    return series.dtype == pl.String and cells.len() > 0 and cells.str.contains(pattern).all()


def kind(series: pl.Series) -> str:
    if series.dtype.is_temporal():
        return "dates or times"
    if series.dtype == pl.Null or is_compound(series.dtype):
        return "nothing" if series.dtype == pl.Null else "lists, records or bytes"
    count = series.drop_nulls().n_unique()
    return f"text, {count} value{'s' * (count != 1)}" if count else "nothing"


def as_numbers(series: pl.Series, path: Path) -> pl.Series:
    """A column of numbers, booleans or decimals as floats."""
    if series.dtype == pl.Float32 or series.dtype == pl.Float64:
        return series
    if not is_number(series.dtype):
        raise InputError(
            f"Column {series.name!r} of {path} holds {kind(series)}; it must hold numbers."
        )
    return series.cast(pl.Float64)


def as_text(series: pl.Series) -> pl.Series:
    """A column's values as words: 3 and 3.0 are the same."""
    if series.dtype.is_float() and (series.drop_nulls() == series.drop_nulls().round()).all():
        series = series.cast(pl.Int64, strict=False)
    return series.cast(pl.String)
