"""NumPy's files, .npy and .npz, by whoever wrote them.

What a header claims is compared with the bytes that are there and with the free memory before
anything is unpacked or allocated. Nothing in such a file is executed: Python objects are refused.
"""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from sparsebounds._support.errors import InputError
from sparsebounds._support.memory import check_room

STORED = (zipfile.ZIP_STORED,)
PACKED = (*STORED, zipfile.ZIP_DEFLATED)
"""How NumPy stores the members of a .npz file: as they are, or compressed."""

MOST = 1000
"""Arrays in one file."""

MAGIC = b"PK"
Array = np.ndarray[Any, Any]


def read_arrays(
    stream: IO[bytes], said: str, kind: str, ways: tuple[int, ...] = PACKED
) -> Array | dict[str, Array]:
    """The array of a .npy file, or those of a .npz file by their names.

    `said` names the file, and `kind` what it should be, in the sentence of the InputError that
    everything else ends in; `ways` are those that its arrays may be packed in.
    """
    try:
        archive = stream.read(len(MAGIC)) == MAGIC
        stream.seek(0)
        return _archive(stream, said, ways) if archive else _single(stream, said)
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        reason = str(error).rstrip(".") or type(error).__name__
        raise InputError(f"{said} cannot be read as {kind}: {reason}.") from error


def _single(stream: IO[bytes], said: str) -> Array:
    size = os.fstat(stream.fileno()).st_size
    check_room(said, _cost(stream, size), "pass fewer rows or columns")
    stream.seek(0)
    return npy.read_array(stream, allow_pickle=False)


def _archive(stream: IO[bytes], said: str, ways: tuple[int, ...]) -> dict[str, Array]:
    with zipfile.ZipFile(stream) as archive:
        members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
        if len(members) > MOST:
            raise ValueError(f"it holds {len(members)} arrays, more than {MOST}")
        if len({one.filename for one in members}) < len(members):
            raise ValueError("it holds an array twice")
        needed = 0
        for member in members:
            if member.compress_type not in ways or member.flag_bits & 1:
                raise ValueError(f"{member.filename!r} is packed in another way than it should be")
            with archive.open(member) as part:
                needed += _cost(part, member.file_size)
        check_room(said, needed, "pass fewer rows or columns")
        found = {}
        for member in members:
            with archive.open(member) as part:
                array = npy.read_array(part, allow_pickle=False)
                found[member.filename.removesuffix(".npy")] = array
        return found


def _cost(stream: IO[bytes], size: int) -> int:
    """Memory for the array whose header comes next, in a file of `size` bytes; ValueError where
    the two do not go together."""
    version = npy.read_magic(stream)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read; save numbers or text")
    if dtype.itemsize == 0 or min(shape, default=0) < 0:
        raise ValueError("its header is damaged")
    there = size - stream.tell()
    if math.prod(shape) * dtype.itemsize > there:
        raise ValueError(
            f"it claims an array of shape {shape} and dtype {dtype}, but holds {there} bytes of it"
        )
    # Numbers become float64, text becomes Python's; a length without entries is counted too.
    extra = {"f": 0, "U": 64, "S": 64}.get(dtype.kind, 8)
    return math.prod(max(length, 1) for length in shape) * (dtype.itemsize + extra)
