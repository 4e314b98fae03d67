"""Text files, plain or gzip'd: a packed one is unpacked in a stream that counts as it goes.

A few bytes can unpack to a thousand times as many. What a table will take is counted, its bytes
and 16 more for each cell (the column that is read, and X), and compared with the free memory
before more is unpacked. Where the first 32 MiB came from less than 1/200 of as many, the rest of
the file is taken to be like them, and 256 MiB are the most, so that a hostile file is refused at
once; and so is a line without end.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sparsebounds._support.errors import InputError
from sparsebounds._support.memory import check_room, room

GZIP = b"\x1f\x8b"
STEP = 1 << 22
ENOUGH = 1 << 25
"""Bytes from which the whole of a file is estimated."""

SUSPECT = 200
"""Bytes from one packed byte, from which it is."""

LONGEST = 1 << 26
"""Bytes of a line, and of a header with millions of names."""

MOST = 1 << 28
"""Bytes that a file may unpack to if it is."""

CELL = 16
"""Bytes that a cell takes in memory: in its column, and in X."""


def packed(path: Path) -> bool:
    """Whether a file is gzip'd."""
    with path.open("rb") as stream:
        return stream.read(2) == GZIP


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where it is gzip'd."""
    return gzip.open(path) if packed(path) else path.open("rb")  # type: ignore[return-value]


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """A sentence where a gzip'd file is cut or damaged."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path} cannot be unpacked: it is cut or damaged ({error}).") from error


def content(path: Path, separator: str, copies: int) -> bytes:
    """All bytes of a text table, of which `copies` will be held at a time."""
    if not packed(path):
        return path.read_bytes()
    found, counted, cells, ends = io.BytesIO(), 0, 0, separator.encode()
    line = 0
    limit = room()
    with path.open("rb") as raw, unpacking(path), gzip.GzipFile(fileobj=raw) as stream:
        whole = os.fstat(raw.fileno()).st_size
        while part := stream.read(STEP):
            found.write(part)
            size, read = found.tell(), raw.tell()
            line = size - len(part) + end if (end := part.rfind(b"\n")) >= 0 else line
            if size - line > LONGEST:
                raise InputError(
                    f"{path} has a line of more than {LONGEST >> 20} MiB; is it a table with a "
                    "line per row?"
                )
            alike = size >= ENOUGH and size > SUSPECT * read
            scale = whole / read if alike else 1.0
            if alike and scale * size > MOST:
                raise InputError(
                    f"{path} would unpack to about {int(scale * size) >> 20} MiB, more than "
                    f"{SUSPECT} times its size; if it is genuine, unpack it before you read it."
                )
            if scale * (copies + CELL) * size <= limit:
                continue  # even if every byte ended a cell
            with found.getbuffer()[counted:] as fresh:
                text = bytes(fresh)
            cells += text.count(ends) + text.count(b"\n")
            counted = size
            needed = int(scale * (copies * size + CELL * cells))
            check_room(f"{path}, unpacked,", needed, "unpack it and read it in parts")
    return found.getvalue()
