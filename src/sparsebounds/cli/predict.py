"""sparsebounds predict: a saved model on new rows, treated as the old ones were."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds._support.files import write_atomically
from sparsebounds.cli import _options as options
from sparsebounds.cli._model_files import SavedModel, column_of, load_models
from sparsebounds.cli._output import OK, print_csv, print_json, sentences, spinner, tell
from sparsebounds.cli._outputs import check_outputs
from sparsebounds.losses import log_chances
from sparsebounds.report import chance
from sparsebounds.tables import (
    Column,
    Recipe,
    as_numbers,
    check_file,
    check_gaps,
    did_you_mean,
    is_archive,
    load_arrays,
    not_a_number_is_missing,
    read_frame,
    refuse_infinite,
)


def predict(
    model: Annotated[Path, typer.Argument(help="A model file of solve --out (JSON).")],
    data: options.Data,
    out: Annotated[
        Path | None, typer.Option(help="Write the predictions here (CSV); default: print them.")
    ] = None,
    skip_missing: Annotated[
        bool,
        typer.Option("--skip-missing", help="Leave the prediction empty where a value is missing."),
    ] = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict the response of new rows, one line per row, as CSV.

    Only the columns that the model uses are needed. Text is encoded and gaps are filled as they
    were for the model. Classes come with their probability (loss logistic) or score; of more than
    two, each has a column.

    Example: sparsebounds predict model.json new_patients.csv --out predicted.csv
    """
    with sentences():
        inputs = {"MODEL": model, "DATA": data}
        check_outputs([("--out", out)], inputs, force=force, any_name=True)
        models = load_models(model)
        with spinner(f"Reading {data.name}"):
            z, notes = _linear(models, data, skip_missing=skip_missing)
        for note in notes:
            tell(note)
        with np.errstate(invalid="ignore"):  # rows without a prediction
            columns = _predictions(models, z)
        if out is not None:
            write_atomically(out, _as_csv(columns))
    if as_json:
        print_json({"model": str(model), **columns})
    elif out is None:
        print_csv(_as_csv(columns))
    raise typer.Exit(OK)


def _linear(
    models: list[SavedModel], path: Path, *, skip_missing: bool
) -> tuple[Vector, list[str]]:
    """X coef + intercept + offset, a column per model; NaN in the rows that are skipped."""
    model = models[0]
    if model.features is None:
        raise InputError("The model has no feature names; pass a model file of solve --out.")
    check_file(path)
    if is_archive(path):
        return np.column_stack([_of_arrays(one, path) for one in models]), []
    frame, notes = read_frame(path)
    names = list({str(name): None for one in models for name in one.features or ()})
    recipe = model.recipe or Recipe(tuple(Column(name) for name in names))
    recipe = recipe.behind(names)
    offset = None if model.choice is None else model.choice.offset
    others = [offset] if offset else []
    needed = [column.name for column in recipe.columns] + others
    for name in needed:
        if name not in frame.columns:
            raise InputError(
                f"The model needs the column {name!r}, which {path} does not have."
                f"{did_you_mean(name, frame.columns)}"
            )
    count = frame.height  # a model without features needs no column
    frame = not_a_number_is_missing(frame[needed])
    refuse_infinite(frame, path)
    unfilled = [column.name for column in recipe.columns if column.fill is None] + others
    usable = np.ones(count, dtype=np.bool_)
    if skip_missing and unfilled:
        for name in unfilled:
            usable &= frame[name].is_not_null().to_numpy()
        frame = frame.filter(usable)
    else:
        remedy = "Fill them in, or pass --skip-missing to leave those predictions empty."
        check_gaps(frame, unfilled, path, remedy)
    z = np.full((count, len(models)), np.nan)
    z[usable] = [one.intercept for one in models]
    if recipe.columns:
        weights = np.zeros((len(recipe.names), len(models)))
        for i, one in enumerate(models):
            for used, value in zip(one.features or (), one.coef, strict=True):
                weights[recipe.names.index(str(used)), i] = value
        z[usable] += recipe.matrix(frame, path) @ weights
    if offset:
        z[usable] += as_numbers(frame[offset], path).to_numpy()[:, None]
    return z, notes


def _of_arrays(model: SavedModel, path: Path) -> Vector:
    """The same for the array X of a .npz file."""
    arrays = load_arrays(path, ".npz")
    if not isinstance(arrays, dict) or "X" not in arrays or arrays["X"].ndim != 2:
        raise InputError(f"{path} must hold a matrix X, one row for each prediction.")
    if model.choice is not None and model.choice.offset:
        raise InputError("The model has an offset; pass a table that holds its column.")
    X, z = arrays["X"], np.full(len(arrays["X"]), model.intercept)
    names = arrays.get("feature_names")
    known = None if names is None else names.astype(str).tolist()
    for feature, value in zip(model.features or (), model.coef, strict=True):
        z = z + value * X[:, column_of(feature, known, X.shape[1])]
    return np.asarray(z)


def _predictions(models: list[SavedModel], each: Vector) -> dict[str, list[Any]]:
    """Columns of predictions; None where there is none. `each` has a column per model."""
    model, z = models[0], each[:, 0]
    loss = "squared" if model.parameters is None else model.parameters["loss"]
    there = list(np.all(np.isfinite(each), axis=1))

    def cells(values: Any) -> list[Any]:
        return [value if ok else None for value, ok in zip(values.tolist(), there, strict=True)]

    if len(models) > 1:
        names = [one.classes[1] for one in models if one.classes is not None]
        best = {"prediction": cells(np.array(names, dtype=object)[np.argmax(each, axis=1)])}
        word, values = "score", each
        if loss == "logistic":
            word, values = "probability", np.exp(log_chances(each))
        return best | {f"{word} of {name}": cells(values[:, i]) for i, name in enumerate(names)}
    if model.classes is not None:
        labels = np.array(model.classes, dtype=object)[(z > 0).astype(int)]
        if loss != "logistic":
            return {"prediction": cells(labels), "score": cells(z)}
        name = f"probability of {model.classes[1]}"
        return {"prediction": cells(labels), name: cells(chance(z))}
    with np.errstate(over="ignore"):
        return {"prediction": cells(np.exp(z) if loss == "poisson" else z)}


def _as_csv(columns: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
