"""Learning a recipe: the categories and fills of a table's features, and what is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from sparsebounds._support.errors import InputError
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.choice import Choice, matching
from sparsebounds.tables.kinds import (
    COMMA_NUMBER,
    DATE,
    as_text,
    in_rows,
    is_compound,
    is_number,
    kind,
    looks_like,
    not_numbers,
)
from sparsebounds.tables.recipe import Column, Recipe
from sparsebounds.tables.suggestions import listing

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
    columns, schema = list[Column](), frame.schema
    for name in features:
        categories = None
        if name in categorical or not is_number(schema[name]):
            categories = tuple(sorted(as_text(frame[name]).drop_nulls().unique().to_list()))
        columns.append(Column(name, categories))
    if choice.impute is not None:
        columns = _filled(columns, train, choice.impute, path)
    recipe = Recipe(tuple(columns))
    name, count = Counter(recipe.names).most_common(1)[0]
    if count > 1:
        raise InputError(
            f"{path} has a column {name!r}, which is also the name of an encoded value; rename "
            "that column."
        )
    return recipe


def _filled(columns: list[Column], train: pl.DataFrame, how: str, path: Path) -> list[Column]:
    """The columns, each with the mean or median of the training rows, or their commonest text."""
    filled = []
    for column in columns:
        cells = train[column.name]
        if cells.null_count() == cells.len():
            raise InputError(
                f"Column {column.name!r} of {path} has no value to fill its gaps with; leave it "
                "out: --exclude."
            )
        if column.categories is None:
            numbers = cells.cast(pl.Float64)
            middle = numbers.median() if how == "median" else numbers.mean()
            assert isinstance(middle, float)
            fill: float | str = middle
        else:
            counts = as_text(cells).drop_nulls().value_counts().rows()
            fill = min(counts, key=lambda row: (-row[1], row[0]))[0]
        filled.append(replace(column, fill=fill))
    return filled


def _refuse_kinds(
    frame: pl.DataFrame, features: list[str], categorical: set[str], choice: Choice, path: Path
) -> None:
    """InputError for columns that are neither numbers nor to be encoded."""
    schema = frame.schema
    nested = [name for name in features if is_compound(schema[name])]
    if nested:
        raise InputError(
            f"{path} has lists, records or bytes in {_named(nested)}; leave such columns out with "
            "--exclude."
        )
    other = [n for n in features if n not in categorical and not is_number(schema[n])]
    dates = [name for name in other if looks_like(frame[name], DATE)]
    if dates:
        raise InputError(
            f"{path} has dates or times in {_named(dates)}; turn them into numbers (days since a "
            "start, a month), or leave them out with --exclude."
        )
    found = ((name, not_numbers(frame[name])) for name in other)
    nearly = {name: f"{in_rows(strange)} of {name!r}" for name, strange in found if strange}
    if not choice.one_hot and other:
        commas = [name for name in other if looks_like(frame[name], COMMA_NUMBER)]
        if commas:
            raise InputError(
                f"{path} has numbers with commas in {_named(commas)}, such as "
                f"{frame[commas[0]].drop_nulls()[0]!r}: write them without, or with a decimal "
                "point."
            )
        if nearly:
            raise _no_numbers(nearly, path)
        kinds = listing(f"{name!r} ({kind(frame[name])})" for name in other)
        raise InputError(
            f"{path} has columns that are not numbers: {kinds}. Encode them with --one-hot (or "
            f"some of them with --categorical NAMES), or leave them out with --exclude."
        )
    for name in other:
        count, most = frame[name].n_unique(), min(MOST_CATEGORIES, max(2, frame.height // 2))
        if count > most and name in nearly:
            raise _no_numbers({name: nearly[name]}, path)
        if count > most:
            raise InputError(
                f"Column {name!r} of {path} has {count} different values in {frame.height} rows, "
                f"more than --one-hot encodes ({most}); leave it out with --exclude, or name it in "
                "--categorical."
            )


def _no_numbers(nearly: dict[str, str], path: Path) -> InputError:
    """For columns of numbers in which some cells are none."""
    return InputError(
        f"{path} has cells that are no numbers: {listing(nearly.values())}. Write numbers there, "
        "or nothing, which --impute median fills in; or encode such a column with --categorical, "
        "or leave it out with --exclude."
    )


def _named(names: list[str]) -> str:
    return listing(map(repr, names))
