"""Missing values: counted, refused with the columns named, or their rows left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparsebounds._support.errors import InputError
from sparsebounds._support.validate import LARGEST
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.recipe import Recipe
from sparsebounds.tables.suggestions import listing


def not_a_number_is_missing(frame: pl.DataFrame) -> pl.DataFrame:
    """The same frame with null in place of NaN."""
    some = frame.select(pl.selectors.float().is_nan().any())
    gaps = [name for name, found in zip(some.columns, _only_row(some), strict=True) if found]
    # Column by column: to `by_name` of older polars, '*' and '^...$' are no names but patterns.
    return frame.with_columns(frame[name].fill_nan(None) for name in gaps)


def missing_counts(frame: pl.DataFrame) -> dict[str, int]:
    """Column -> empty cells, for the columns that have any."""
    return {column.name: column.null_count() for column in frame if column.null_count()}


def counted(counts: dict[str, int]) -> str:
    """Columns and counts in words."""
    return listing(f"{name!r} ({count})" for name, count in counts.items())


def filled_in(recipe: Recipe, gaps: dict[str, int]) -> list[str]:
    """A sentence on the gaps that a recipe fills, if there are any."""
    filled = [
        f"{column.name!r} ({gaps[column.name]}, with {_shown(column.fill)})"
        for column in recipe.columns
        if column.fill is not None and column.name in gaps
    ]
    return [f"Empty cells filled in: {listing(filled)}."] if filled else []


def _shown(fill: float | str) -> str:
    return repr(fill) if isinstance(fill, str) else f"{fill:,.6g}"


def refuse_missing(frame: pl.DataFrame, path: Path, features: list[str], *, impute: bool) -> None:
    """InputError where a feature, or with `impute` a column of another part, has a gap."""
    counts = missing_counts(frame)
    others = {name: count for name, count in counts.items() if name not in features}
    if impute and others:
        raise InputError(
            f"{path} has empty cells in {counted(others)}, which cannot be filled in; add "
            "--drop-missing, which then leaves out these rows alone."
        )
    if counts and not impute:
        kept = frame.drop_nulls().height
        fill = "" if others else ", or --impute median to fill them in"
        raise InputError(
            f"{path} has missing values: {counted(counts)}. Pass --drop-missing to leave out the "
            f"rows that have them ({kept} of {frame.height} stay){fill}."
        )


def refuse_infinite(frame: pl.DataFrame, path: Path) -> None:
    """InputError where a number is infinite, or too large to be squared."""
    found = frame.select((pl.selectors.float().abs() > LARGEST).sum())
    counts = {name: n for name, n in zip(found.columns, _only_row(found), strict=True) if n}
    if counts:
        raise InputError(
            f"{path} has infinite values, or values beyond {LARGEST:g}: {counted(counts)}; mend or "
            "drop those rows, or leave the columns out with --exclude."
        )


def check_gaps(frame: pl.DataFrame, names: list[str], path: Path, remedy: str) -> None:
    """InputError, with the remedy, where one of these columns has a gap."""
    counts = missing_counts(frame[names])
    if counts:
        raise InputError(f"{path} has missing values: {counted(counts)}. {remedy}")


def _only_row(frame: pl.DataFrame) -> tuple[Any, ...]:
    """The row of a frame that has one, or no column."""
    return frame.row(0) if frame.width else ()
