"""Tables in text files: CSV, TSV and their kin, plain or gzip'd, by polars.

What polars leaves as text is looked at again: numbers with spaces or a plus sign, and, where the
separator is not a comma, numbers with a decimal comma; and True and False.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from sparsebounds._support.errors import InputError
from sparsebounds.tables import _polars as pl
from sparsebounds.tables.dialect import Dialect, sniff, uneven_row
from sparsebounds.tables.unpacking import content, packed

MISSING = ["NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?"]
"""Cells that stand for a missing value, beside empty ones."""

GUESSED = 1000
"""Rows from which types are guessed; where a later row does not fit, all rows are looked at,
which takes five times as long."""

TRUTHS = {"true": True, "false": False}
DECIMAL_COMMA = r"^\s*[-+]?\d*,\d+\s*$"
INTEGER = r"^\s*[-+]?\d+\s*$"


def read_text(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """The table in a text file, and sentences on what was not plain."""
    dialect, notes = sniff(path), list[str]()
    try:
        frame = _polars(path, dialect)
    except UnicodeDecodeError:
        dialect = replace(dialect, encoding="cp1252", plain=False)
        frame = _polars(path, dialect)
    if dialect.encoding == "cp1252":
        notes.append(f"{path} is not UTF-8; it was read as Windows-1252 (Latin-1).")
    if dialect.separator != "," and _decimal_commas(frame, dialect.separator):
        frame = _polars(path, dialect, decimal_comma=True)
        notes.append(f"{path} was read with decimal commas.")
    if frame.width and frame[frame.columns[-1]].null_count():
        _refuse_uneven(path, dialect, strict=False)
    frame = _without_blank_rows(path, frame, notes)
    frame = _without_unnamed(path, frame, notes)
    return _numbers(frame), notes


def _polars(path: Path, dialect: Dialect, *, decimal_comma: bool = False) -> pl.DataFrame:
    """As polars reads it, with the header's own names; UnicodeDecodeError where not UTF-8."""

    def read(rows: int | None) -> pl.DataFrame:
        plain = dialect.plain and not packed(path)
        return pl.read_csv(
            path if plain else io.BytesIO(_as_utf8(path, dialect)),
            separator=dialect.separator,
            quote_char=dialect.quote,
            null_values=MISSING,
            infer_schema_length=rows,
            decimal_comma=decimal_comma,
            glob=False,
        )

    try:
        try:
            frame = read(GUESSED)
        except pl.exceptions.PolarsError:
            frame = read(None)
    except (pl.exceptions.PolarsError, OSError) as error:
        if "utf-8" in str(error) and dialect.encoding != "cp1252":
            raise UnicodeDecodeError("utf-8", b"", 0, 1, str(error)) from error
        _refuse_uneven(path, dialect)
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path} cannot be read as CSV: {reason}.") from error
    if frame.width != len(dialect.header):
        _refuse_uneven(path, dialect)
        raise InputError(f"{path} cannot be read as CSV: its header is not one line.")
    frame.columns = [name or f"\0{j}" for j, name in enumerate(dialect.header)]
    return frame


def _as_utf8(path: Path, dialect: Dialect) -> bytes:
    found = content(path, dialect.separator, copies=1 if dialect.plain else 4)
    if dialect.plain:
        return found
    text = found.decode(dialect.encoding, errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").encode()


def _refuse_uneven(path: Path, dialect: Dialect, *, strict: bool = True) -> None:
    clause = uneven_row(path, dialect, strict=strict)
    if clause:
        raise InputError(
            f"{path} cannot be read row by row: {clause}. Mend that row; a cell that holds the "
            "separator needs quotation marks around it."
        )


def _decimal_commas(frame: pl.DataFrame, separator: str) -> bool:
    """Whether a text column holds nothing but numbers, some of them with a decimal comma.

    Between tabs or bars 1,234 may be a thousand; only semicolons settle it.
    """
    for column in frame.select(pl.col(pl.String)):
        cells = column.drop_nulls()
        commas = cells.str.contains(DECIMAL_COMMA)
        if not commas.any() or not (commas | cells.str.contains(INTEGER)).all():
            continue
        if separator == ";" or not cells.filter(commas).str.contains(r",\d{3}\s*$").all():
            return True
    return False


def _without_blank_rows(path: Path, frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    if not all(column.null_count() for column in frame):
        return frame
    kept = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    blank = frame.height - kept.height
    if blank:
        notes.append(f"{blank} row{'s' * (blank != 1)} of {path} without any value left out.")
    return kept


def _without_unnamed(path: Path, frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Columns without a name: empty ones and row numbers are left out, others are an error."""
    for at, name in enumerate(frame.columns):
        if not name.startswith("\0"):
            continue
        cells = frame[name]
        if cells.null_count() == cells.len():
            frame = frame.drop(name)  # a separator at the end of every line
            continue
        counts = cells.dtype.is_integer() and cells.len() and not cells.null_count()
        if at > 0 or not counts or not (cells.diff().drop_nulls() == 1).all():
            raise InputError(f"Column {at + 1} of {path} has no name; give it one in the header.")
        notes.append(f"The first column of {path} has no name and counts rows; it was left out.")
        frame = frame.drop(name)
    return frame


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """The same frame with text columns of nothing but numbers, or true and false, as such."""
    found = []
    for column in frame.select(pl.col(pl.String)):
        cells = column.str.strip_chars()
        cells = cells.set(cells == "", None)
        values = cells.str.strip_prefix("+").cast(pl.Float64, strict=False)
        truths = cells.str.to_lowercase().replace_strict(TRUTHS, default=None)
        for read in (truths, values):
            if read.null_count() == cells.null_count():
                cells = read
                break
        found.append(cells)
    return frame.with_columns(found)
