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
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._support.errors import InputError
from sparsebounds._support.files import write_atomically
from sparsebounds._version import __version__
from sparsebounds.cli._model import INTERCEPT, SavedModel
from sparsebounds.cli._output import finite
from sparsebounds.cli._parameters import Parameters
from sparsebounds.tables import Choice, Recipe, load_arrays

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
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file.")
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
        return _from_document(document)
    except InputError as error:
        raise InputError(f"{path} is not a valid model file: {error}") from error


def _from_document(document: Any) -> SavedModel:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"format must be {FORMAT!r}.")
    if document.get("version") != VERSION:
        raise InputError(
            f"version {document.get('version')!r} is not known here (this reads {VERSION}); "
            "update sparsebounds."
        )
    names, coef = _list(document, "features"), _list(document, "coef")
    kinds = {type(name) for name in names}
    if not kinds <= {str} and not (kinds == {int} and min(names) >= 0):
        raise InputError("features must hold names, or column numbers.")
    if len(set(names)) < len(names):
        raise InputError("features lists a feature twice.")
    if len(coef) != len(names):
        raise InputError("coef must have one number for each of features.")
    classes = document.get("classes")
    if classes is not None and (
        len(_list(document, "classes")) != 2
        or not all(isinstance(label, (str, int, float)) for label in classes)
    ):
        raise InputError("classes must be null or two labels.")
    bounds = _record(document, "bounds")
    choice, recipe = _table(document)
    return SavedModel(
        features=tuple(names),
        coef=tuple(_number(value, f"coef[{i}]") for i, value in enumerate(coef)),
        intercept=_number(document.get("intercept"), "intercept"),
        classes=None if classes is None else (classes[0], classes[1]),
        lower=_bound(bounds, "lower"),
        upper=_bound(bounds, "upper"),
        parameters=_parameters(document),
        choice=choice,
        recipe=recipe,
    )


def _parameters(document: dict[str, Any]) -> Parameters:
    stated = {**_record(document, "parameters"), "loss": document.get("loss")}
    if stated.keys() != Parameters().values.keys():
        raise InputError("parameters must hold the parameters of solve, all of them.")
    if not isinstance(stated["loss"], str):
        raise InputError("loss must be the name of a loss.")
    for name in ("fit_intercept", "standardize", "positive"):
        if not isinstance(stated[name], bool):
            raise InputError(f"parameters.{name} must be true or false.")
    for name in ("always", "never"):
        stated[name] = tuple(_list(stated, name, "parameters."))
    return Parameters(stated)


def _table(document: dict[str, Any]) -> tuple[Choice | None, Recipe | None]:
    if document.get("table") is None:
        return None, None
    table = _record(document, "table")
    stated = _record(table, "choice")
    if stated.keys() != {field.name for field in fields(Choice)}:
        raise InputError("table.choice must hold the options of a table, all of them.")
    for name in ("features", "exclude", "categorical"):
        stated[name] = tuple(map(str, _list(stated, name, "table.choice.")))
    wanted: dict[str, Any] = {
        "target": str,
        "weights": str,
        "offset": str,
        "impute": str,
        "test": (int, float),
        "one_hot": bool,
        "drop_missing": bool,
        "seed": int,
    }
    for name, kinds in wanted.items():
        if not isinstance(stated[name], kinds) and (stated[name] is not None or kinds is bool):
            raise InputError(f"table.choice.{name} is of the wrong kind.")
    return Choice(**stated), Recipe.of(table.get("columns"))


def _record(document: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(document.get(key), dict):
        raise InputError(f"{key} must be an object.")
    content: dict[str, Any] = document[key]
    return content


def _list(document: dict[str, Any], key: str, where: str = "") -> list[Any]:
    if not isinstance(document.get(key), list):
        raise InputError(f"{where}{key} must be a list.")
    content: list[Any] = document[key]
    return content


def _bound(bounds: dict[str, Any], key: str) -> float:
    return math.nan if bounds.get(key) is None else _number(bounds[key], f"bounds.{key}")


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300:
        raise InputError(f"{name} must be a finite number.")
    return float(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not allowed")
