"""Learning a recipe: the categories and fills of a table's features, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._errors import InputError
from sparsebounds.tables.choice import Choice, matching
from sparsebounds.tables.kinds import (
    COMMA_NUMBER,
    DATE,
    as_numbers,
    as_text,
    is_compound,
    is_number,
    kind,
    looks_like,
)
from sparsebounds.tables.recipe import Column, Recipe
from sparsebounds.tables.suggestions import listing

if TYPE_CHECKING:
    import polars as pl

MOST_CATEGORIES = 50
"""Values of a text column that --one-hot takes on, if they are not more than half the rows;
--categorical takes any number."""


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
        if name in categorical or not is_number(series.dtype):
            categories = tuple(sorted(as_text(series).drop_nulls().unique().to_list()))
            if not categories:
                raise InputError(f"Column {name!r} of {path} is empty; leave it out: --exclude.")
        fill = None if choice.impute is None else _fill(train[name], categories, choice, path)
        columns.append(Column(name, categories, fill))
    return Recipe(tuple(columns))


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
    nested = [name for name in features if is_compound(frame[name].dtype)]
    if nested:
        raise InputError(
            f"{path} has lists, records or bytes in {_named(nested)}; leave such columns out with "
            "--exclude."
        )
    other = [n for n in features if n not in categorical and not is_number(frame[n].dtype)]
    dates = [name for name in other if looks_like(frame[name], DATE)]
    if dates:
        raise InputError(
            f"{path} has dates or times in {_named(dates)}; turn them into numbers (days since a "
            "start, a month), or leave them out with --exclude."
        )
    if not choice.one_hot and other:
        commas = [name for name in other if looks_like(frame[name], COMMA_NUMBER)]
        if commas:
            raise InputError(
                f"{path} has numbers with commas in {_named(commas)}, such as "
                f"{frame[commas[0]].drop_nulls()[0]!r}: write them without, or with a decimal "
                "point."
            )
        kinds = listing(f"{name!r} ({kind(frame[name])})" for name in other)
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


def _named(names: list[str]) -> str:
    return listing(map(repr, names))
