"""What a column of a table holds: numbers, text, dates, or what nobody can encode."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sparsebounds._support.errors import InputError
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.suggestions import listing

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


def not_numbers(cells: pl.Series) -> dict[str, int]:
    """Text -> rows, of what is no number in a column of text that mostly is; else nothing."""
    if cells.dtype != pl.String:
        return {}
    cells = cells.drop_nulls()
    strange = cells.filter(cells.str.strip_chars().cast(pl.Float64, strict=False).is_null())
    if not 0 < 2 * strange.len() < cells.len():
        return {}
    return dict(sorted(strange.value_counts().rows(), key=lambda row: (-row[1], row[0])))


def in_rows(strange: dict[str, int]) -> str:
    """Such texts in words: "'<0.5' in 12 rows"."""
    return listing((f"{text!r} in {n} row{'s' * (n != 1)}" for text, n in strange.items()), 3)


def encoded_numbers(frame: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """A sentence on these columns of text, if they are mostly numbers."""
    found = ((name, not_numbers(frame[name])) for name in names)
    nearly = [f"{in_rows(strange)} of {name!r}" for name, strange in found if strange]
    return [f"Encoded as text, because of {listing(nearly)}."] if nearly else []


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
