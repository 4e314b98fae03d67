"""Rows: X, y and what goes with them, read from a file as a Choice says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Mask
from sparsebounds._support.errors import InputError
from sparsebounds.data import Coded
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.choice import Choice, chosen_features
from sparsebounds.tables.files import check_file, is_archive, load_arrays, read_frame
from sparsebounds.tables.kinds import as_numbers, encoded_numbers
from sparsebounds.tables.learn import learn
from sparsebounds.tables.look import Look
from sparsebounds.tables.missing import (
    counted,
    filled_in,
    missing_counts,
    not_a_number_is_missing,
    refuse_infinite,
    refuse_missing,
)
from sparsebounds.tables.recipe import Column, Recipe
from sparsebounds.tables.response import as_response, balanced, held_out, label_named, labels_of
from sparsebounds.tables.twins import USUAL, Likeness


@dataclass(frozen=True)
class Rows:
    """Features, response and, where the file has or names them, weights and offset."""

    X: Any
    y: Any
    weights: Any = None
    offset: Any = None
    names: tuple[str, ...] | None = None
    """The features' names; in a .npy file, their column numbers there."""

    target: str = "y"
    """The response's name."""

    numbers: Index | None = None
    """The rows' numbers in the file, from 1, header and blank rows aside; None: 1, 2, ..."""

    positive: Any = None
    """The class that is told from the others; None: the larger of two labels."""

    factors: Any = None
    """What the weights of rows are multiplied by for the sake of their classes, if anything."""

    columns: tuple[str, ...] | None = None
    """The table's column behind each of X; None: there is no table."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The features' names, or else their numbers."""
        return self.names or tuple(map(str, range(self.X.shape[1])))

    @property
    def sources(self) -> tuple[str, ...]:
        """The table's column behind each feature; the feature itself where there is no table."""
        return self.labels if self.columns is None else self.columns

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        found = {label: [place] for place, label in enumerate(self.labels)}
        if self.columns is not None:
            whole = dict[str, list[int]]()
            for place, column in enumerate(self.columns):
                whole.setdefault(column, []).append(place)
            found |= whole
        return found

    def places(self, name: str) -> list[int]:
        """The columns of X that a column of the table, or a feature, stands for; none: unknown."""
        return self._places.get(name, [])

    def at(self, index: Index) -> Rows:
        """These rows alone."""
        weights, offset = (None if v is None else v[index] for v in (self.weights, self.offset))
        X, y, numbers = self.X[index], self.y[index], self.numbered()[index]
        return Rows(X, y, weights, offset, self.names, self.target, numbers)

    @property
    def response(self) -> Any:
        """y as a program takes it: with a class told from the others, that and the rest."""
        if self.positive is None:
            return self.y
        others = [label for label in labels_of(self.y) if label != self.positive]
        rest = others[0] if len(others) == 1 else f"not {self.positive}"
        return Coded(np.where(self.y == self.positive, 1.0, -1.0), (rest, self.positive))

    @property
    def mass(self) -> Any:
        """The weights of a program: those of the file, times those of the classes."""
        if self.factors is None:
            return self.weights
        return self.factors if self.weights is None else self.weights * self.factors

    def classed(self, choice: Choice) -> Rows:
        """The same with what was chosen about classes."""
        positive, factors = None, None
        if choice.positive is not None:
            positive = label_named(choice.positive, self.y, self.target)
        if choice.class_weight is not None:
            factors = balanced(self.y, self.weights)
        return replace(self, positive=positive, factors=factors)

    def numbered(self) -> Index:
        """The numbers that the rows have in the file."""
        return np.arange(1, len(self.y) + 1) if self.numbers is None else self.numbers


@dataclass(frozen=True)
class Reading:
    """What was read from a file."""

    path: Path
    choice: Choice
    train: Rows
    held: Rows | None = None
    """The rows held out, if any."""

    recipe: Recipe | None = None
    """How the columns became X; None where the file holds arrays."""

    notes: tuple[str, ...] = field(default=())
    """Sentences a user should see: what was not plain, and what the columns show."""

    left_out: tuple[str, ...] = ()
    """Columns that say the same as another, and are no features."""

    def against_the_rest(self, label: Any) -> Reading:
        """The same for one class and the others."""
        choice = replace(self.choice, positive=str(label))
        return replace(self, choice=choice, train=replace(self.train, positive=label))

    def remembered(self) -> Choice | None:
        """The choice for other tables: they may lack columns that no model needs; None for arrays.

        Where columns were left out the others go by name.
        """
        if self.recipe is None:
            return None
        return self.restated() if self.left_out else replace(self.choice, keep_twins=True)

    def restated(self) -> Choice:
        """The choice with its columns by name: a table that has grown since is read the same."""
        if self.recipe is None:
            return self.choice
        columns = self.recipe.columns
        named: dict[str, Any] = {"keep_twins": True, "exclude": ()}
        named["features"] = tuple(column.name for column in columns)
        if self.choice.categorical:
            named["categorical"] = tuple(c.name for c in columns if c.categories is not None)
        return replace(self.choice, **named)


def read_table(path: Path, choice: Choice, likeness: Likeness = USUAL) -> Reading:
    """Read, choose, encode and split. Twins differ in no more than `likeness` allows.

    A .npz file holds arrays X and y (or one named by the target) and perhaps feature_names; every
    other kind is a table with named columns (in a .npy file, numbered ones).
    """
    check_file(path)
    if is_archive(path):
        return _arrays(path, choice)
    frame, notes = read_frame(path)
    features = chosen_features(choice, frame.columns, path)
    # By position in the list, not `select`, to which '*' and '^...$' are patterns.
    frame = not_a_number_is_missing(frame[[*choice.roles().values(), *features]])
    empty = [name for name in features if frame[name].null_count() == frame.height]
    if empty:
        raise InputError(
            f"{path} has no value at all in {', '.join(map(repr, empty))}; leave out such columns: "
            "--exclude."
        )
    refuse_infinite(frame, path)
    numbers = np.arange(1, frame.height + 1)
    if choice.drop_missing:
        needed = frame if choice.impute is None else frame[[*choice.roles().values()]]
        whole = needed.select(~pl.any_horizontal(pl.all().is_null())).to_series()
        frame, numbers = frame.filter(whole), numbers[whole.to_numpy()]
        if frame.height == 0:
            raise InputError(f"Every row of {path} has a missing value; exclude a column instead.")
        if dropped := whole.len() - frame.height:
            many = f"{dropped} row{'s' * (dropped != 1)}"
            notes.append(f"{many} with missing values left out: {counted(missing_counts(needed))}.")
    refuse_missing(frame, path, features, impute=choice.impute is not None)
    gaps = missing_counts(frame)
    assert choice.target is not None
    y = as_response(frame[choice.target])
    parts = None if choice.test is None else held_out(y, choice.test, choice.seed)
    train = frame if parts is None else frame[parts[0]]
    recipe = learn(frame, train, features, choice, path)
    notes += encoded_numbers(frame, (c.name for c in recipe.columns if c.categories is not None))
    notes += filled_in(recipe, gaps)
    rows = _table(train, choice, recipe, path)
    some = "" if parts is None else f" in the {train.height} rows to learn from"
    told = rows.X, rows.y, recipe.columns, rows.target, choice.keep_twins, likeness, some
    look = Look(*told)
    notes += look.sentences
    if look.left_out:
        recipe = recipe.without(look.left_out)
        stay = np.isin(look.labels, recipe.names)
        X = _moved_up(rows.X, stay)
        rows = replace(rows, X=X, names=recipe.names, columns=recipe.sources)
    return Reading(
        path,
        choice,
        replace(rows, numbers=numbers if parts is None else numbers[parts[0]]).classed(choice),
        None if parts is None else _table(frame[parts[1]], choice, recipe, path),
        recipe,
        tuple(notes),
        look.left_out,
    )


def _moved_up(X: Any, stay: Mask) -> Any:
    """These columns of X alone, in the same memory."""
    for at, j in enumerate(np.flatnonzero(stay).tolist()):
        if at != j:
            X[:, at] = X[:, j]
    return X[:, : np.count_nonzero(stay)]


def _table(frame: pl.DataFrame, choice: Choice, recipe: Recipe, path: Path) -> Rows:
    assert choice.target is not None
    weights, offset = (
        None if name is None else as_numbers(frame[name], path).to_numpy()
        for name in (choice.weights, choice.offset)
    )
    X, y = recipe.matrix(frame, path), as_response(frame[choice.target])
    return Rows(X, y, weights, offset, recipe.names, choice.target, columns=recipe.sources)


def _arrays(path: Path, choice: Choice) -> Reading:
    for name in ("features", "exclude", "categorical", "one_hot", "drop_missing", "impute"):
        if getattr(choice, name):
            option = name.replace("_", "-")
            raise InputError(f"--{option} is for tables with named columns; {path} holds arrays.")
    arrays = load_arrays(path, ".npz")
    if not isinstance(arrays, dict):
        raise InputError(f"{path} holds one array, not an archive; name it .npy.")
    target = choice.target or "y"
    wanted = {"X": "X", "y": target, "weights": choice.weights, "offset": choice.offset}
    for needed in wanted.values():
        if needed is not None and needed not in arrays:
            held = ", ".join(arrays) or "nothing"
            raise InputError(f"{path} has no array {needed!r}; it holds {held}.")
    chosen = {role: arrays[name] for role, name in wanted.items() if name is not None}
    names = arrays.get("feature_names")
    names = None if names is None else tuple(names.astype(str).tolist())
    table = Rows(**chosen, names=names, target=target)
    if table.X.ndim != 2 or table.y.ndim != 1 or 0 in table.X.shape:
        raise InputError(f"X and y of {path} must be a matrix and a vector, not empty.")
    if len(table.X) != len(table.y):
        raise InputError(f"{path} holds {len(table.X)} rows of X but {len(table.y)} of y.")
    if choice.test is None:
        return Reading(path, choice, table.classed(choice), notes=_seen(table))
    train, test = (table.at(part) for part in held_out(table.y, choice.test, choice.seed))
    return Reading(path, choice, train.classed(choice), test, notes=_seen(train))


def _seen(rows: Rows) -> tuple[str, ...]:
    """What the columns of an array show; all of them stay."""
    names = rows.names or tuple(map(str, range(rows.X.shape[1])))
    if rows.X.dtype.kind not in "fiub" or len(names) != rows.X.shape[1]:
        return ()  # the program says what is wrong with arrays
    return Look(rows.X, rows.y, tuple(map(Column, names)), rows.target, keep=True).sentences
