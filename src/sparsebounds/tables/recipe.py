"""Recipe: how the columns of a table become the columns of X, the same way for new rows.

number      itself; booleans are 0 and 1, decimals floats
categories  one column `name=value` for each value, 1 in the rows that have it. Two values are one
            column, that of the second: the other would be its mirror image. More values keep
            all their columns, so that a sparse model may choose any against the rest.
fill        what stands in place of a missing value, if anything does
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebounds._array import Vector
from sparsebounds._errors import InputError
from sparsebounds.tables.choice import Choice, matching
from sparsebounds.tables.suggestions import did_you_mean, listing

if TYPE_CHECKING:
    import polars as pl

MOST_CATEGORIES = 50
"""Values of a text column that --one-hot takes on, if they are not more than half the rows;
--categorical takes any number."""

DATE = r"^\d{4}-\d{2}-\d{2}|^\d{1,2}[./]\d{1,2}[./]\d{2,4}"
COMMA_NUMBER = r"^[-+]?[\d,]+(\.\d+)?$"


@dataclass(frozen=True)
class Column:
    """One column of a table and what becomes of it."""

    name: str
    categories: tuple[str, ...] | None = None
    """The values, sorted; None: a number."""

    fill: float | str | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """The categories that have a column of X."""
        values = self.categories or ()
        return values[1:] if len(values) == 2 else values

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its columns of X."""
        if self.categories is None:
            return (self.name,)
        return tuple(f"{self.name}={value}" for value in self.shown)


@dataclass(frozen=True)
class Recipe:
    """The columns behind X, in order."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return tuple(label for column in self.columns for label in column.labels)

    def behind(self, labels: Collection[str]) -> Recipe:
        """The part that these columns of X need."""
        wanted = set(labels)
        return Recipe(tuple(c for c in self.columns if not wanted.isdisjoint(c.labels)))

    def matrix(self, frame: pl.DataFrame, path: Path) -> Vector:
        """X, column after column; InputError for a value the recipe does not know."""
        import polars as pl

        cells = [frame[column.name] for column in self.columns]
        narrow = all(one.dtype == pl.Float32 for one in cells) and bool(cells)
        X = np.empty((frame.height, len(self.names)), np.float32 if narrow else np.float64, "F")
        at = 0
        for column, series in zip(self.columns, cells, strict=True):
            if column.categories is None:
                X[:, at] = _filled(as_numbers(series, path), column).to_numpy()
                at += 1
                continue
            text = _filled(as_text(series), column)
            _check_known(text, column, path)
            for value in column.shown:
                X[:, at] = (text == value).to_numpy()
                at += 1
        return X

    def document(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def of(cls, document: Any) -> Recipe:
        """What `document` wrote; InputError, naming what is wrong."""
        if not isinstance(document, list):
            raise InputError("table.columns must be a list.")
        columns = []
        for entry in document:
            if not isinstance(entry, dict) or entry.keys() != {"name", "categories", "fill"}:
                raise InputError("table.columns must hold a name, categories and a fill each.")
            name, values, fill = entry["name"], entry["categories"], entry["fill"]
            text = values is not None
            if text and not (isinstance(values, list) and all(isinstance(v, str) for v in values)):
                raise InputError(f"table.columns: the categories of {name!r} must be a list.")
            number = isinstance(fill, (int, float)) and not isinstance(fill, bool)
            if fill is not None and not (isinstance(fill, str) if text else number):
                raise InputError(f"table.columns: the fill of {name!r} is of the wrong kind.")
            columns.append(Column(str(name), tuple(values) if text else None, fill))
        return cls(tuple(columns))


def learn(
    frame: pl.DataFrame, train: pl.DataFrame, features: list[str], choice: Choice, path: Path
) -> Recipe:
    """The recipe of these features: categories from all rows, fills from the training rows.

    Which categories there are says nothing of the response; what a gap is filled with might.
    """
    categorical = set(matching("--categorical", choice.categorical, frame.columns, path))
    _refuse_kinds(frame, features, categorical, choice, path)
    columns = []
    for name in features:
        series, categories = frame[name], None
        if name in categorical or not _is_number(series.dtype):
            categories = tuple(sorted(as_text(series).drop_nulls().unique().to_list()))
            if not categories:
                raise InputError(f"Column {name!r} of {path} is empty; leave it out: --exclude.")
        fill = None if choice.impute is None else _fill(train[name], categories, choice, path)
        columns.append(Column(name, categories, fill))
    return Recipe(tuple(columns))


def as_numbers(series: pl.Series, path: Path) -> pl.Series:
    """A column of numbers, booleans or decimals as floats."""
    import polars as pl

    if series.dtype == pl.Float32 or series.dtype == pl.Float64:
        return series
    if not _is_number(series.dtype):
        raise InputError(
            f"Column {series.name!r} of {path} holds {_kind(series)}; it must hold numbers."
        )
    return series.cast(pl.Float64)


def as_text(series: pl.Series) -> pl.Series:
    """A column's values as words: 3 and 3.0 are the same."""
    import polars as pl

    if series.dtype.is_float() and (series.drop_nulls() == series.drop_nulls().round()).all():
        series = series.cast(pl.Int64, strict=False)
    return series.cast(pl.String)


def _filled(series: pl.Series, column: Column) -> pl.Series:
    return series if column.fill is None else series.fill_null(column.fill)


def _fill(
    train: pl.Series, categories: tuple[str, ...] | None, choice: Choice, path: Path
) -> float | str:
    if train.null_count() == train.len():
        raise InputError(
            f"Column {train.name!r} of {path} has no value to fill its gaps with; leave it out: "
            "--exclude."
        )
    if categories is not None:
        counts = as_text(train).drop_nulls().value_counts().rows()
        return str(min(counts, key=lambda row: (-row[1], row[0]))[0])
    values = as_numbers(train, path).drop_nulls().to_numpy()
    return float(np.median(values) if choice.impute == "median" else np.mean(values))


def _refuse_kinds(
    frame: pl.DataFrame, features: list[str], categorical: set[str], choice: Choice, path: Path
) -> None:
    """InputError for columns that are neither numbers nor to be encoded."""
    nested = [name for name in features if _is_compound(frame[name].dtype)]
    if nested:
        raise InputError(
            f"{path} has lists, records or bytes in {_named(nested)}; leave such columns out with "
            "--exclude."
        )
    other = [n for n in features if n not in categorical and not _is_number(frame[n].dtype)]
    dates = [name for name in other if _looks_like(frame[name], DATE)]
    if dates:
        raise InputError(
            f"{path} has dates or times in {_named(dates)}; turn them into numbers (days since a "
            "start, a month), or leave them out with --exclude."
        )
    if not choice.one_hot and other:
        commas = [name for name in other if _looks_like(frame[name], COMMA_NUMBER)]
        if commas:
            raise InputError(
                f"{path} has numbers with commas in {_named(commas)}, such as "
                f"{frame[commas[0]].drop_nulls()[0]!r}: write them without, or with a decimal "
                "point."
            )
        kinds = listing(f"{name!r} ({_kind(frame[name])})" for name in other)
        raise InputError(
            f"{path} has columns that are not numbers: {kinds}. Encode them with --one-hot (or "
            f"some of them with --categorical NAMES), or leave them out with --exclude."
        )
    for name in other:
        count, most = frame[name].n_unique(), min(MOST_CATEGORIES, max(2, frame.height // 2))
        if count > most:
            raise InputError(
                f"Column {name!r} of {path} has {count} different values in {frame.height} rows, "
                f"more than --one-hot encodes ({most}); leave it out with --exclude, or name it in "
                "--categorical."
            )


def _check_known(text: pl.Series, column: Column, path: Path) -> None:
    known = column.categories or ()
    strange = text.drop_nulls().unique().to_list()
    strange = sorted(value for value in strange if value not in known)
    if strange:
        raise InputError(
            f"{path} has {column.name!r} = {listing(map(repr, strange))}, which the model has "
            f"never seen; it knows {listing(map(repr, known))}.{did_you_mean(strange[0], known)}"
        )


def _is_number(dtype: Any) -> bool:
    import polars as pl

    return bool(dtype.is_numeric() or dtype == pl.Boolean)


def _is_compound(dtype: Any) -> bool:
    import polars as pl

    return bool(dtype.is_nested() or dtype in (pl.Binary, pl.Object))


def _looks_like(series: pl.Series, pattern: str) -> bool:
    """Whether every value matches; dates and times, by their type, match the pattern of dates."""
    import polars as pl

    if series.dtype.is_temporal():
        return pattern == DATE
    cells = series.drop_nulls()
    return series.dtype == pl.String and cells.len() > 0 and cells.str.contains(pattern).all()


def _kind(series: pl.Series) -> str:
    import polars as pl

    if series.dtype.is_temporal():
        return "dates or times"
    if series.dtype == pl.Null or _is_compound(series.dtype):
        return "nothing" if series.dtype == pl.Null else "lists, records or bytes"
    count = series.drop_nulls().n_unique()
    return f"text, {count} value{'s' * (count != 1)}" if count else "nothing"


def _named(names: list[str]) -> str:
    return listing(map(repr, names))
