"""Models in files: our own JSON, a CSV with columns feature and coef, a .npy vector.

The JSON document, version 1:

    format       "sparsebounds-model"
    version      1
    loss         the loss by name
    features     names of the nonzero coefficients, or column numbers where the data had no names
    coef         those coefficients, in the user's units
    intercept    likewise
    classes      two labels, the second for positive predictions; null for a real response
    bounds       lower and upper: the best possible objective is between; null where unknown
    parameters   the problem that was solved, as the options of `sparsebounds solve`; `groups`, if
                 there are any, by name, each with its columns of the table
    models       with more than two classes: features, coef, intercept, classes and bounds of the
                 model of each class against the rest, in place of one; `classes` are all labels
    table        how the table was read: `choice`, the other options, and `columns`, each with its
                 categories and what fills its gaps; null where the data were arrays
    made_by      the version of sparsebounds
"""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.documents import Document, jsonable, no_constant
from sparsebounds._support.errors import InputError
from sparsebounds._support.files import write_atomically
from sparsebounds._version import __version__
from sparsebounds.cli._parameters import PAIRS, STANDARD, Parameters
from sparsebounds.program import Program
from sparsebounds.tables import Choice, Recipe, check_file, listing, load_arrays

FORMAT, VERSION = "sparsebounds-model", 1
SEPARATORS = ",;\t"
INTERCEPT = "(intercept)"
Label = str | int | float | bool


@dataclass(frozen=True)
class SavedModel:
    """A linear model as a file holds it."""

    features: tuple[str | int, ...] | None
    """Where the coefficients belong; None: one per column, then perhaps an intercept."""

    coef: tuple[float, ...]
    intercept: float = 0.0
    classes: tuple[Label, Label] | None = None
    lower: float = math.nan
    upper: float = math.nan
    parameters: Parameters | None = None
    """The problem it was fitted to; None where the file does not say."""

    choice: Choice | None = None
    recipe: Recipe | None = None
    """How the table was read; None where the data were arrays."""

    def placed(self, program: Program) -> tuple[Vector, float]:
        """The coefficients, one per column of the program's data, and the intercept."""
        labels = class_labels(program)
        if self.classes is not None and labels is not None and labels != self.classes:
            raise InputError(
                f"The model tells {self.classes[0]!r} from {self.classes[1]!r}, but the response "
                f"holds {labels[0]!r} and {labels[1]!r}."
            )
        coef = np.zeros(program.m)
        if self.features is None:
            if len(self.coef) not in (program.m, program.m + 1):
                raise InputError(
                    f"The model has {len(self.coef)} coefficients, but the data have {program.m} "
                    "features; pass one per feature, and the intercept last if there is one."
                )
            coef[:] = self.coef[: program.m]
            return coef, sum(self.coef[program.m :])
        for feature, value in zip(self.features, self.coef, strict=True):
            coef[column_of(feature, program.feature_names, program.m)] = value
        return coef, self.intercept


def class_labels(program: Program) -> tuple[Label, Label] | None:
    """The two classes as JSON can hold them."""
    if program.classes is None:
        return None
    first, second = map(_stored, program.classes)
    return first, second


def _stored(label: Any) -> Label:
    """A label as JSON can hold it."""
    return label if isinstance(label, (str, int, float)) else str(label)


def feature(program: Program, column: int) -> str | int:
    """A feature's name, or its column number where there are no names."""
    return column if program.feature_names is None else program.feature_names[column]


def group_names(program: Program, support: Index) -> list[str | int] | None:
    """The groups of a model; None where the problem has none."""
    if program.groups.single:
        return None
    return list(program.problem.groups_of(support, program.feature_names))


def column_of(wanted: str | int, names: Sequence[str] | None, m: int) -> int:
    """The column that a model's feature names, of data with m columns."""
    if isinstance(wanted, str) and names is not None:
        if wanted not in names:
            raise InputError(f"The model uses the feature {wanted!r}, which the data do not have.")
        return names.index(wanted)
    if isinstance(wanted, str) and not wanted.isdecimal():
        raise InputError(
            f"The model uses the feature {wanted!r}, but the data have no feature names; "
            "add an array feature_names, or use a CSV."
        )
    if int(wanted) >= m:
        raise InputError(f"The model uses the feature {wanted}, but the data have {m}, from 0.")
    return int(wanted)


def save_models(path: Path, models: Sequence[SavedModel], labels: Sequence[Any] = ()) -> None:
    """Write a model file, whole or not at all: one model, or those of classes with these labels."""
    table, first = None, models[0]
    assert first.parameters is not None
    stated = dict(first.parameters.values)
    for name, absent in (("c", None), ("groups", {})):  # as the loss has it; features alone
        if stated[name] == absent:
            del stated[name]
    if first.choice is not None and first.recipe is not None:
        choice = replace(first.choice, positive=None) if labels else first.choice
        table = {"choice": asdict(choice), "columns": first.recipe.document()}
    each = [
        {
            "features": model.features,
            "coef": model.coef,
            "intercept": model.intercept,
            "classes": model.classes,
            "bounds": {"lower": model.lower, "upper": model.upper},
        }
        for model in models
    ]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "loss": stated.pop("loss"),
        **({"classes": list(map(_stored, labels)), "models": each} if labels else each[0]),
        "parameters": stated,
        "table": table,
        "made_by": f"sparsebounds {__version__}",
    }
    write_atomically(path, json.dumps(jsonable(document), indent=1, allow_nan=False) + "\n")


def load_models(path: Path) -> list[SavedModel]:
    """The model in a file of any of the three kinds, or those of its classes, in their order.

    InputError, naming what is wrong.
    """
    check_file(path)
    if path.suffix == ".json":
        return _from_json(path)
    return [_from_array(path) if path.suffix == ".npy" else _from_csv(path)]


def load_model(path: Path, positive: str | None = None) -> SavedModel:
    """The model in a file; of several classes the one that is called for."""
    models = load_models(path)
    if len(models) == 1:
        return models[0]
    labels = [str(model.classes[1]) for model in models if model.classes is not None]
    if positive not in labels:
        raise InputError(
            f"{path} holds a model for each of {len(labels)} classes; say which one: "
            f"--positive {shlex.quote(labels[0])}, or another of {listing(labels)}."
        )
    return models[labels.index(positive)]


def _from_array(path: Path) -> SavedModel:
    array = load_arrays(path, ".npy")
    if isinstance(array, dict):
        raise InputError(f"{path} is an archive of arrays; name it .npz, and pass one vector.")
    if array.dtype.kind not in "fiu" or array.size != max(array.shape, default=0):
        raise InputError(
            f"{path} must hold a vector of numbers; its shape is {array.shape}, its dtype "
            f"{array.dtype}."
        )
    values = array.astype(np.float64).ravel()
    if not np.all(np.isfinite(values)):
        raise InputError(f"{path} holds a coefficient that is not finite.")
    return SavedModel(None, tuple(values.tolist()))


def _from_csv(path: Path) -> SavedModel:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
            stream.seek(0)
            separator = max(SEPARATORS, key=first.count)
            reader = csv.DictReader(stream, delimiter=separator)
            header, rows = reader.fieldnames or [], list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    if not {"feature", "coef"} <= set(header):
        raise InputError(
            f"{path} must be a model file that solve --out wrote (.json), a .npy vector, or a CSV "
            "with the columns feature and coef."
        )
    values: dict[str, float] = {}
    for row in rows:
        name, text = row["feature"], row["coef"]
        if name in values:
            raise InputError(f"{path} lists the feature {name!r} twice.")
        try:
            values[name] = float(text if separator == "," else text.replace(",", "."))
        except (AttributeError, TypeError, ValueError):
            values[name] = math.nan
        if not math.isfinite(values[name]):
            raise InputError(f"{path} gives {name!r} the coef {text!r}, which is not a number.")
    intercept = values.pop(INTERCEPT, 0.0)
    return SavedModel(tuple(values), tuple(values.values()), intercept)


def _from_json(path: Path) -> list[SavedModel]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a model file: it is not JSON ({error}).") from error
    try:
        return _from_document(Document(document))
    except InputError as error:
        raise InputError(f"{path} is not a valid model file: {error}") from error


def _from_document(whole: Document) -> list[SavedModel]:
    stated = whole.content if isinstance(whole.content, dict) else {}
    if stated.get("format") != FORMAT:
        raise InputError(f"format must be {FORMAT!r}.")
    if stated.get("version") != VERSION:
        raise InputError(
            f"version {stated.get('version')!r} is not known here (this reads {VERSION}); "
            "update sparsebounds."
        )
    if "models" not in stated:
        return [_one(whole)]
    parts = [{**stated, **one.record("").content} for one in whole.items("models")]
    models = [_one(whole.at(part, "")) for part in parts]
    if len(models) < 3 or any(model.classes is None for model in models):
        raise InputError("models must hold one for each of three classes or more.")
    # The label of the table's choice is the model's own.
    return [
        replace(one, choice=None if one.choice is None else _told(one.choice, one.classes))
        for one in models
    ]


def _told(choice: Choice, classes: tuple[Label, Label] | None) -> Choice:
    """The choice for one class against the rest."""
    return choice if classes is None else replace(choice, positive=str(classes[1]))


def _one(document: Document) -> SavedModel:
    stated = document.content
    names, coef = document.entries("features"), document.entries("coef")
    kinds = {type(name) for name in names}
    if not kinds <= {str} and not (kinds == {int} and min(names) >= 0):
        raise InputError("features must hold names, or column numbers.")
    if len(set(names)) < len(names):
        raise InputError("features lists a feature twice.")
    if len(coef) != len(names):
        raise InputError("coef must have one number for each of features.")
    classes = stated.get("classes")
    if classes is not None and (
        len(document.entries("classes")) != 2
        or not all(isinstance(label, (str, int, float)) for label in classes)
    ):
        raise InputError("classes must be null or two labels.")
    bounds = document.record("bounds")
    lower, upper = (
        math.nan if bounds.content.get(name) is None else bounds.number(name)
        for name in ("lower", "upper")
    )
    choice, recipe = (None, None) if stated.get("table") is None else _table(document)
    return SavedModel(
        features=tuple(names),
        coef=tuple(item.number("") for item in document.items("coef")),
        intercept=document.number("intercept"),
        classes=None if classes is None else (classes[0], classes[1]),
        lower=lower,
        upper=upper,
        parameters=_parameters(document),
        choice=choice,
        recipe=recipe,
    )


def _parameters(document: Document) -> Parameters:
    part, loss = document.record("parameters"), document.get("loss")
    part.refuse_others(STANDARD)
    if not isinstance(loss, str):
        raise InputError("loss must be the name of a loss.")
    stated = {**STANDARD, **part.content, "loss": loss}
    for pair in PAIRS:
        if not part.content.keys().isdisjoint(pair):
            stated |= {name: part.content.get(name) for name in pair}
    for name in part.content.keys() & {"fit_intercept", "standardize", "positive"}:
        part.truth(name)
    if part.content.get("c") is not None:
        stated["c"] = part.number("c")
    stated["groups"] = _groups(part)
    for name in part.content.keys() & {"always", "never"}:
        stated[name] = tuple(part.entries(name))
    return Parameters(stated)


def _groups(parameters: Document) -> dict[str, list[str]]:
    """The groups of a problem by columns of its table; none where the file says nothing."""
    if parameters.content.get("groups") is None:
        return {}
    part = parameters.record("groups")
    for name in part.content:
        if not all(isinstance(column, str) for column in part.entries(name)):
            raise InputError(f"parameters.groups: {name!r} must hold names of columns.")
    return dict(part.content)


def _table(document: Document) -> tuple[Choice, Recipe]:
    table = document.record("table")
    return Choice.of(table.record("choice")), Recipe.of(table.content.get("columns"))
