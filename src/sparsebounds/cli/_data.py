"""Reading a data file: .npz, .npy or a table in CSV."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._errors import InputError


@dataclass(frozen=True)
class Table:
    """Features, response and, where the file has or names them, weights and offset."""

    X: Any
    y: Any
    weights: Any = None
    offset: Any = None
    names: tuple[str, ...] | None = None
    """The features' names; in a .npy file, their column numbers there."""


def read_table(
    path: Path, target: str | None, weights: str | None = None, offset: str | None = None
) -> Table:
    """The file's features X and its response y, the column or array named `target`.

    A .npz file holds arrays X and y (or one named by `target`) and perhaps feature_names; a
    .npy file a matrix whose column number `target` is y; anything else is read as CSV with a
    header.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.suffix == ".npz":
        return _read_npz(path, target, weights, offset)
    columns = _npy_columns(path) if path.suffix == ".npy" else _csv_columns(path)
    if target is None:
        raise InputError(f"--target is missing: which column of {path} is the response?")
    chosen = {"--target": target, "--weights": weights, "--offset": offset}
    picked = {}
    for option, name in chosen.items():
        if name is None:
            continue
        if name not in columns:
            known = ", ".join(list(columns)[:8]) + (", ..." if len(columns) > 8 else "")
            raise InputError(f"{option} {name!r} is not a column of {path}; it has {known}.")
        empty = getattr(columns[name], "null_count", int)()
        if empty:
            raise InputError(
                f"{option} {name!r} has {empty} empty cell{'s' * (empty != 1)} in {path}; drop "
                "or fill such rows."
            )
        picked[option] = columns[name]
    features = [name for name in columns if name not in chosen.values()]
    if not features:
        raise InputError(f"{path} has no column left for the features.")
    return Table(
        _frame(path, columns, features),
        np.asarray(picked["--target"]),
        picked.get("--weights"),
        picked.get("--offset"),
        tuple(features),
    )


def _read_npz(path: Path, target: str | None, weights: str | None, offset: str | None) -> Table:
    arrays = load_arrays(path, ".npz")
    if not isinstance(arrays, dict):
        raise InputError(f"{path} holds one array, not an archive; name it .npy.")
    wanted = {"X": "X", "y": target or "y", "weights": weights, "offset": offset}
    for name in wanted.values():
        if name is not None and name not in arrays:
            held = ", ".join(arrays) or "nothing"
            raise InputError(f"{path} has no array {name!r}; it holds {held}.")
    chosen = {role: arrays[name] for role, name in wanted.items() if name is not None}
    names = arrays.get("feature_names")
    return Table(**chosen, names=None if names is None else tuple(names.astype(str).tolist()))


def load_arrays(path: Path, kind: str) -> Any:
    """The array in a .npy file, or a dictionary of those in a .npz file."""
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        with content as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} cannot be read as {kind}: {error}.") from error


def _npy_columns(path: Path) -> dict[str, Any]:
    array = load_arrays(path, ".npy")
    if isinstance(array, dict):
        raise InputError(f"{path} is an archive of arrays; name it .npz.")
    if array.ndim != 2:
        raise InputError(f"{path} must hold a matrix; its shape is {array.shape}.")
    return {str(j): array[:, j] for j in range(array.shape[1])}


def _csv_columns(path: Path) -> dict[str, Any]:
    import polars as pl

    try:
        frame = pl.read_csv(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    return {name: frame[name] for name in frame.columns}


def _frame(path: Path, columns: dict[str, Any], features: list[str]) -> Any:
    if path.suffix == ".npy":
        return np.column_stack([columns[name] for name in features])
    import polars as pl

    return pl.DataFrame({name: columns[name] for name in features})
