"""Files by their kind: text tables, Parquet, Feather, and NumPy's .npy and .npz."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from sparsebounds._support.errors import InputError
from sparsebounds._support.memory import check_room
from sparsebounds._support.npy import read_arrays
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.text import read_text
from sparsebounds.tables.unpacking import CELL

PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow", ".ipc")
SPREADSHEETS = (".xlsx", ".xls", ".ods")
STATISTICS = (".sav", ".dta", ".sas7bdat", ".rds", ".rdata")


def check_file(path: Path) -> None:
    """A file that is there, of a kind that is read here."""
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file.")
    if path.suffix.lower() in SPREADSHEETS + STATISTICS:
        raise InputError(
            f"{path} is a file of another program; save the table as CSV, or as Parquet."
        )


def is_archive(path: Path) -> bool:
    """Whether a file holds arrays by name, in place of columns."""
    return path.suffix.lower() == ".npz"


def read_frame(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """The table in a file, one column per variable, and sentences on what was not plain."""
    check_file(path)
    suffix = path.suffix.lower()
    if suffix in PARQUET + FEATHER:
        frame, notes = _columnar(path, suffix), list[str]()
    elif suffix == ".npy":
        frame, notes = _matrix(path), []
    else:
        frame, notes = read_text(path)
    if frame.height == 0:
        raise InputError(f"{path} has a header but no rows.")
    return frame, notes


def load_arrays(path: Path, kind: str) -> Any:
    """The array in a .npy file, or a dictionary of those in a .npz file."""
    with path.open("rb") as stream:
        return read_arrays(stream, str(path), kind)


def _columnar(path: Path, suffix: str) -> pl.DataFrame:
    parquet, name = suffix in PARQUET, glob.escape(str(path))
    try:
        scan = pl.scan_parquet(name) if parquet else pl.scan_ipc(name)
        cells = len(scan.collect_schema()) * int(scan.select(pl.len()).collect().item())
        check_room(f"{path}, unpacked,", CELL * cells, "pass fewer rows or columns")
        return scan.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        kind = "Parquet" if parquet else "Feather (version 2)"
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path} cannot be read as {kind}: {reason}.") from error


def _matrix(path: Path) -> pl.DataFrame:
    """The columns of a .npy matrix, named by their numbers."""
    array = load_arrays(path, ".npy")
    if isinstance(array, dict):
        raise InputError(f"{path} is an archive of arrays; name it .npz.")
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{path} must hold a matrix; its shape is {array.shape}.")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{path} has dtype {array.dtype}; it must hold real numbers.")
    return pl.DataFrame({str(j): array[:, j] for j in range(array.shape[1])})
