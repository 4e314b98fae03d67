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
    parameters   the problem that was solved, as the options of `sparsebounds solve`
    table        how the table was read: `choice`, the other options, and `columns`, each with its
                 categories and what fills its gaps; null where the data were arrays
    made_by      the version of sparsebounds
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from sparsebounds._support.documents import Document
from sparsebounds._support.errors import InputError
from sparsebounds._support.files import write_atomically
from sparsebounds._version import __version__
from sparsebounds.cli._model import INTERCEPT, SavedModel
from sparsebounds.cli._output import finite
from sparsebounds.cli._parameters import PAIRS, Parameters
from sparsebounds.tables import Choice, Recipe, check_file, load_arrays

FORMAT, VERSION = "sparsebounds-model", 1


def save_model(path: Path, model: SavedModel, parameters: Parameters) -> None:
    """Write a model file, whole or not at all."""
    stated = dict(parameters.values)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "loss": stated.pop("loss"),
        "features": model.features,
        "coef": model.coef,
        "intercept": model.intercept,
        "classes": model.classes,
        "bounds": {"lower": model.lower, "upper": model.upper},
        "parameters": stated,
        "table": _table_document(model),
        "made_by": f"sparsebounds {__version__}",
    }
    write_atomically(path, json.dumps(finite(document), indent=1, allow_nan=False) + "\n")


def _table_document(model: SavedModel) -> dict[str, Any] | None:
    if model.choice is None or model.recipe is None:
        return None
    return {"choice": asdict(model.choice), "columns": model.recipe.document()}


def load_model(path: Path) -> SavedModel:
    """The model in a file of any of the three kinds; InputError, naming what is wrong."""
    check_file(path)
    if path.suffix == ".npy":
        return _from_array(path)
    return _from_json(path) if path.suffix == ".json" else _from_csv(path)


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
            reader = csv.DictReader(stream)
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
            values[name] = float(text)
        except (TypeError, ValueError):
            values[name] = math.nan
        if not math.isfinite(values[name]):
            raise InputError(f"{path} gives {name!r} the coef {text!r}, which is not a number.")
    intercept = values.pop(INTERCEPT, 0.0)
    return SavedModel(tuple(values), tuple(values.values()), intercept)


def _from_json(path: Path) -> SavedModel:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a model file: it is not JSON ({error}).") from error
    try:
        return _from_document(Document(document))
    except InputError as error:
        raise InputError(f"{path} is not a valid model file: {error}") from error


def _from_document(document: Document) -> SavedModel:
    stated = document.content if isinstance(document.content, dict) else {}
    if stated.get("format") != FORMAT:
        raise InputError(f"format must be {FORMAT!r}.")
    if stated.get("version") != VERSION:
        raise InputError(
            f"version {stated.get('version')!r} is not known here (this reads {VERSION}); "
            "update sparsebounds."
        )
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
    lower, upper = _bounds(document.record("bounds"))
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


def _bounds(bounds: Document) -> Iterator[float]:
    for name in ("lower", "upper"):
        yield math.nan if bounds.content.get(name) is None else bounds.number(name)


def _parameters(document: Document) -> Parameters:
    part, loss = document.record("parameters"), document.get("loss")
    known = Parameters().values
    _refuse_others(part, known)
    if not isinstance(loss, str):
        raise InputError("loss must be the name of a loss.")
    stated = {**known, **part.content, "loss": loss}
    for pair in PAIRS:
        if not part.content.keys().isdisjoint(pair):
            stated |= {name: part.content.get(name) for name in pair}
    for name in part.content.keys() & {"fit_intercept", "standardize", "positive"}:
        part.truth(name)
    for name in part.content.keys() & {"always", "never"}:
        stated[name] = tuple(part.entries(name))
    return Parameters(stated)


def _refuse_others(part: Document, known: Iterable[str]) -> None:
    """What is not stated is at its default: a file may be older than an argument, not newer."""
    others = sorted(part.content.keys() - set(known))
    if others:
        raise InputError(
            f"{part.path}.{others[0]} is not known here; update sparsebounds, or remove it."
        )


def _table(document: Document) -> tuple[Choice, Recipe]:
    table = document.record("table")
    part = table.record("choice")
    stated = dict(part.content)
    kinds = get_type_hints(Choice)
    _refuse_others(part, kinds)
    for name, kind in kinds.items():
        if name not in stated:
            continue
        if kind == tuple[str, ...]:
            stated[name] = tuple(map(str, part.entries(name)))
        elif kind == float | None and type(stated[name]) is int:
            stated[name] = float(stated[name])
        elif not isinstance(stated[name], kind):
            raise InputError(f"table.choice.{name} is of the wrong kind.")
    return Choice(**stated), Recipe.of(table.content.get("columns"))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not allowed")
