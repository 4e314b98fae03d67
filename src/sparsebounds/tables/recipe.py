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
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.kinds import as_numbers, as_text
from sparsebounds.tables.suggestions import did_you_mean, listing


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

    @property
    def sources(self) -> tuple[str, ...]:
        """The table's column behind each column of X."""
        return tuple(column.name for column in self.columns for _ in column.labels)

    def behind(self, labels: Collection[str]) -> Recipe:
        """The part that these columns of X need."""
        wanted = set(labels)
        return Recipe(tuple(c for c in self.columns if not wanted.isdisjoint(c.labels)))

    def without(self, names: Collection[str]) -> Recipe:
        """The part that these columns of the table have nothing to do with."""
        return Recipe(tuple(column for column in self.columns if column.name not in names))

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


def _filled(series: pl.Series, column: Column) -> pl.Series:
    gaps = column.fill is not None and series.null_count()
    return series.fill_null(column.fill) if gaps else series


def _check_known(text: pl.Series, column: Column, path: Path) -> None:
    known = column.categories or ()
    strange = text.drop_nulls().unique().to_list()
    strange = sorted(value for value in strange if value not in known)
    if strange:
        raise InputError(
            f"{path} has {column.name!r} = {listing(map(repr, strange))}, which the model has "
            f"never seen; it knows {listing(map(repr, known))}.{did_you_mean(strange[0], known)}"
        )
