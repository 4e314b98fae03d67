"""Choice: which columns of a table play which part, and what is done about gaps in them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from sparsebounds._support.documents import Document
from sparsebounds._support.errors import InputError
from sparsebounds.tables.suggestions import did_you_mean, listing

IMPUTATIONS = ("median", "mean")


@dataclass(frozen=True)
class Choice:
    """What was asked of a table, as options and model files state it."""

    target: str | None = None
    features: tuple[str, ...] = ()
    """Names with commas between, and patterns such as lab_*; empty: every column that is left."""

    exclude: tuple[str, ...] = ()
    weights: str | None = None
    offset: str | None = None
    categorical: tuple[str, ...] = ()
    """Columns of any kind that are encoded one-hot."""

    one_hot: bool = False
    """Whether every column of text is."""

    drop_missing: bool = False
    """Whether rows with gaps are left out; beside `impute`, those whose gaps it does not fill."""

    impute: str | None = None
    """How gaps in the features are filled: "median" or "mean"; text by its most frequent value."""

    keep_twins: bool = False
    """Whether columns that say the same as another stay."""
    positive: str | None = None
    """The class that is told from the others, and that positive coefficients speak for."""

    class_weight: str | None = None
    """"balanced": the same total weight for every class."""

    test: float | None = None
    """The share of the rows that is held out."""

    seed: int = 0

    def __post_init__(self) -> None:
        if self.impute is not None and self.impute not in IMPUTATIONS:
            near = did_you_mean(self.impute, IMPUTATIONS)
            raise InputError(f"--impute {self.impute!r} must be median or mean.{near}")
        if self.class_weight not in (None, "balanced"):
            raise InputError(f"--class-weight {self.class_weight!r} must be balanced.")
        if self.test is not None and not 0 < self.test < 1:
            raise InputError(
                f"--test {self.test:g} must be between 0 and 1: the share of rows held out."
            )
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed {self.seed} must be 0 or more, and less than 2^32.")

    def changed(self, **given: Any) -> Choice:
        """The same with what was given (not None)."""
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes.keys().isdisjoint(("drop_missing", "impute")):
            changes = {"drop_missing": False, "impute": None} | changes
        return replace(self, **changes)

    @classmethod
    def of(cls, document: Document) -> Choice:
        """What `asdict` made of one, from a file; InputError, naming what is wrong."""
        stated, kinds = dict(document.content), get_type_hints(cls)
        document.refuse_others(kinds)
        for name in stated:
            kind = kinds[name]
            if kind == tuple[str, ...]:
                stated[name] = tuple(map(str, document.entries(name)))
            elif kind == float | None and type(stated[name]) is int:
                stated[name] = float(stated[name])
            elif not isinstance(stated[name], kind):
                raise InputError(f"{document.path}.{name} is of the wrong kind.")
        stated.setdefault("keep_twins", True)  # as it was before there was a choice
        return cls(**stated)

    def words(self) -> str:
        """The options that say the same, with long lists cut short."""
        given = []
        for field in fields(self):
            value, option = getattr(self, field.name), f"--{field.name.replace('_', '-')}"
            if field.name == "keep_twins" and self.features:
                continue  # the columns are named one by one
            if value is True:
                given.append(option)
            elif value != field.default:
                shown = listing(value, 4) if isinstance(value, tuple) else str(value)
                given.append(f"{option} {shown}")
        return "; ".join(given)

    def roles(self) -> dict[str, str]:
        """Option -> column, of the columns that are not features."""
        named = {"--target": self.target, "--weights": self.weights, "--offset": self.offset}
        return {option: name for option, name in named.items() if name is not None}


def chosen_features(choice: Choice, columns: list[str], path: Path) -> list[str]:
    """The features among a table's columns; InputError where a name is wrong."""
    if choice.target is None:
        raise InputError(f"--target is missing: which column of {path} is the response?")
    roles = choice.roles()
    for option, name in roles.items():
        check_column(option, name, columns, path)
    used = list(roles.values())
    for option, name in roles.items():
        if used.count(name) > 1:
            raise InputError(f"{option} {name!r} has another part already; name another column.")
    asked = matching("--features", choice.features, columns, path)
    left_out = matching("--exclude", choice.exclude, columns, path)
    for option, name in roles.items():
        for other, names in (("--features", choice.features), ("--exclude", choice.exclude)):
            if name in split_names(names, columns):
                raise InputError(f"{other} holds {name!r}, which is the column of {option}.")
    if both := [name for name in asked if name in left_out and "*" not in "".join(choice.exclude)]:
        raise InputError(f"--features and --exclude both hold {both[0]!r}; keep it in one of them.")
    taken = {*left_out, *used}
    features = [name for name in asked or columns if name not in taken]
    if not features:
        raise InputError(f"{path} has no column left for the features.")
    for name in matching("--categorical", choice.categorical, columns, path):
        if name not in features:
            raise InputError(f"--categorical {name!r} is not among the features.")
    return features


def check_column(option: str, name: str, columns: Iterable[str], path: Path) -> None:
    """A column's name that an option gives."""
    if name not in columns:
        raise InputError(
            f"{option} {name!r} is not a column of {path}; it has {listing(columns)}."
            f"{did_you_mean(name, columns)}"
        )


def matching(option: str, values: Iterable[str], columns: list[str], path: Path) -> list[str]:
    """The columns that names, or patterns with *, stand for, in the order given."""
    found: dict[str, None] = {}
    for name in split_names(values, columns):
        hits = fnmatch.filter(columns, name) if "*" in name and name not in columns else [name]
        check_column(option, hits[0] if hits else name, columns, path)
        found |= dict.fromkeys(hits)
    return list(found)


def split_names(values: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Names with commas between; a column whose own name holds a comma stands for itself."""
    known, found = set(columns), list[str]()
    for value in values:
        parts = (part.strip() for part in value.split(","))
        found += [value] if value in known else filter(None, parts)
    return found
