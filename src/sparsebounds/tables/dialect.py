"""How a table in a text file is written: its encoding, its separator and its header.

encoding    by the byte order mark; else UTF-8; else Windows-1252, which holds Latin-1's letters
separator   of `,` `;` tab and `|` the one that splits the first rows most evenly, and of several
            such the one that makes most columns
quotes      " or, where all names of the header stand between apostrophes, these
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sparsebounds._support.errors import InputError
from sparsebounds.tables.suggestions import listing
from sparsebounds.tables.unpacking import GZIP, opened, unpacking

SEPARATORS = ",;\t|"
SAMPLE = 1 << 16
"""Bytes looked at beyond the header."""

LONGEST = 1 << 23
"""Bytes of a header."""


@dataclass(frozen=True)
class Dialect:
    """What a reader must be told."""

    separator: str
    encoding: str
    header: tuple[str, ...]
    """The names in the first row, without spaces around them."""

    plain: bool
    """Whether its bytes can be read as they are: UTF-8 with line feeds."""

    quote: str = '"'
    """The quotation mark."""


def sniff(path: Path) -> Dialect:
    """The dialect of a text file, from its first rows; InputError where it is no text table."""
    with unpacking(path), opened(path) as stream:
        first = stream.readline(LONGEST)
        sample = first + stream.read(SAMPLE)
    if sample.startswith(GZIP):
        raise InputError(f"{path} is packed twice; unpack it.")
    if len(first) == LONGEST:
        raise InputError(
            f"The first line of {path} is longer than {LONGEST >> 20} MiB; it must hold the "
            "columns' names."
        )
    encoding = _encoding(sample)
    text = sample.decode(encoding, errors="ignore")
    if not text.strip():
        raise InputError(f"{path} is empty.")
    if "\0" in text:
        raise InputError(
            f"{path} is not a text table; CSV, TSV, Parquet (.parquet), Feather (.feather), .npz "
            "and .npy are read here."
        )
    lines = text.splitlines()
    if len(sample) == len(first) + SAMPLE:
        lines = lines[:-1] or lines  # the last one may be cut
    separator = _separator(lines, "\t" if ".tsv" in path.suffixes else ",")
    try:
        quote, header = '"', _names(lines, separator, '"')
        if all(len(name) > 2 and name[0] == name[-1] == "'" for name in header):
            quote, header = "'", _names(lines, separator, "'")
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    _check_header(path, header)
    # Old programs ended lines with a carriage return alone.
    plain = encoding == "utf-8-sig" and "\r" not in text.replace("\r\n", "")
    return Dialect(separator, encoding, header, plain, quote)


def uneven_row(path: Path, dialect: Dialect, *, strict: bool) -> str:
    """A clause about the first row whose number of fields is not the header's; empty if none.

    With `strict`, also about quotation marks that do not match.
    """
    wanted = len(dialect.header)
    with opened(path) as stream:
        text = io.TextIOWrapper(stream, dialect.encoding, errors="replace", newline="")
        reader = csv.reader(
            text, delimiter=dialect.separator, quotechar=dialect.quote, strict=strict
        )
        try:
            for row in reader:
                if row and len(row) != wanted:
                    fields = f"{len(row)} field{'s' * (len(row) != 1)}"
                    return f"line {reader.line_num} has {fields}, but the header {wanted}"
        except csv.Error as error:
            return f"its quotation marks do not match ({error})"
    return ""


def _names(lines: list[str], separator: str, quote: str) -> tuple[str, ...]:
    row = next(csv.reader(lines, delimiter=separator, quotechar=quote))
    return tuple(name.strip() for name in row)


def _encoding(sample: bytes) -> str:
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _separator(lines: list[str], usual: str) -> str:
    """The separator that splits the rows most evenly."""
    best, score = usual, (0.0, 0)
    for candidate in sorted(SEPARATORS, key=lambda one: one != usual):
        try:
            rows = [row for row in csv.reader(lines, delimiter=candidate) if row]
        except csv.Error:
            continue
        width = len(rows[0])
        even = sum(len(row) == width for row in rows) / len(rows)
        if width > 1 and (even, width) > score:
            best, score = candidate, (even, width)
    return best


def _check_header(path: Path, header: tuple[str, ...]) -> None:
    if not any(header):
        raise InputError(f"The first line of {path} is empty; it must hold the columns' names.")
    twice = sorted(name for name, count in Counter(header).items() if name and count > 1)
    if twice:
        raise InputError(
            f"{path} has more than one column named {listing(map(repr, twice))}; rename them."
        )
    if all(_is_number(name) for name in header) and not all(name.isdecimal() for name in header):
        raise InputError(
            f"The first line of {path} holds numbers only; add a line with the columns' names "
            "above it."
        )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
