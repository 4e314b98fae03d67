"""Checkpoint files: long work on file, saved while it runs and taken up where it was saved.

A file is an .npz of plain arrays, written whole or not at all, with an identity: its format, the
data, the problem, and what else the work depends on; and with a checksum of all that. A file of
other work is refused before anything is done, and so is a damaged one: no array is made before it
is known to be as large as the file says, and no object is unpickled. What the arrays mean is up to
the work (`exact.checkpoint`, `paths.checkpoint`), which evaluates again, from the data, whatever a
bound rests on: a file whose checksum was forged is refused, or proves nothing false.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.files import check_output, write_atomically
from sparsebounds._support.npy import STORED, read_arrays

T = TypeVar("T")

CHECKSUM = "checksum"
"""The name of the array that holds it."""

SHARE = 0.05
"""Part of the time that saving may take: large states are saved less often."""


class CheckpointFile:
    """The file of one piece of work."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        identity: Mapping[str, str],
        others: Mapping[str, str],
        kind: str,
        interval: float,
    ) -> None:
        """`others` says what a difference in identity means; {theirs} and {mine} are put in.

        `kind` names the work, as "a search"; `interval` are the seconds between two savings, at
        least.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise InputTypeError(f"checkpoint={path!r} must be the name of a file.")
        self.path = Path(path)
        self._identity, self._others, self._kind = dict(identity), others, kind
        self._interval = interval
        said = f"checkpoint={str(path)!r}"
        if self.path.exists() and not (self.path.is_file() or self.path.is_dir()):
            raise InputError(f"{said} is a device or a pipe; name a file.")
        check_output(path, said)
        self._next = time.perf_counter() + interval

    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.perf_counter() >= self._next

    def write(self, arrays: Mapping[str, Any]) -> None:
        """Write the arrays; where that fails it warns, as the work is worth more than its file."""
        began = time.perf_counter()
        content: dict[str, Any] = {**self._identity, **arrays}
        content = {name: np.asarray(array) for name, array in content.items()}
        content[CHECKSUM] = np.array(_checksum(content))
        stream = io.BytesIO()
        np.savez(stream, **content)
        try:
            write_atomically(self.path, stream.getvalue())
        except OSError as error:
            warnings.warn(f"The checkpoint {self.path} was not written: {error}.", stacklevel=3)
        ended = time.perf_counter()
        self._next = ended + max(self._interval, (ended - began) / SHARE)

    def read(self) -> dict[str, Any] | None:
        """The arrays of the file; None where there is none. InputError where it is not ours."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            return None
        try:
            with self.path.open("rb") as stream:
                # Never compressed: a small file cannot hold large arrays.
                arrays = read_arrays(stream, str(self.path), "a checkpoint", STORED)
            if not isinstance(arrays, dict):
                raise LookupError("arrays with names")
            found = {name: str(arrays[name]) for name in self._identity if name in arrays}
            if "format" not in found:
                raise LookupError("format")
            # Files of earlier versions have none.
            claimed = arrays.pop(CHECKSUM, None)
            if claimed is not None and str(claimed) != _checksum(arrays):
                raise ValueError("the checksum is another one")
        except Exception as error:  # a damaged file may raise anything
            raise self.refusal(f"is damaged, or not the checkpoint of {self._kind}") from error
        for name, mine in self._identity.items():
            if found.get(name) != mine:
                sentence = self._others[name].format(theirs=found.get(name), mine=mine)
                raise self.refusal(sentence)
        return arrays

    def read_as(self, what: Callable[[], T]) -> T:
        """What the arrays mean; InputError where they are not what this work writes."""
        try:
            # Numbers of any size are rated, and judged by what they prove.
            with np.errstate(all="ignore"):
                return what()
        except Exception as error:  # as above
            raise self.refusal("is damaged") from error

    def refusal(self, reason: str) -> InputError:
        """What is wrong with the file, and what to do."""
        return InputError(
            f"checkpoint={str(self.path)!r} {reason}; name another file, or delete this one "
            "to start again."
        )


def _checksum(arrays: Mapping[str, Any]) -> str:
    """Of names, types, shapes and values."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def packed(name: str, parts: Sequence[Any], dtype: Any) -> dict[str, Any]:
    """Arrays of different lengths as two: all of them in a row, and where each ends."""
    joined = np.concatenate(parts) if parts else np.zeros(0)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return {name: joined.astype(dtype, copy=False), f"{name}_ends": ends}


def unpacked(arrays: Mapping[str, Any], name: str) -> list[Any]:
    """What `packed` packed; ValueError where it was not."""
    joined, ends = arrays[name], arrays[f"{name}_ends"]
    if ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError(f"the lengths of {name} are not whole numbers")
    starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    whole = int(ends[-1]) if len(ends) else 0
    if joined.ndim != 1 or len(joined) != whole or np.any(ends < starts):
        raise ValueError(f"the parts of {name} do not match their lengths")
    return [joined[i:j] for i, j in zip(starts, ends, strict=True)]


def places(array: Any, count: int, least: int = 0, dtype: Any = np.int64) -> Any:
    """An array of whole numbers from `least` to count - 1; ValueError where it is none."""
    if array.dtype != dtype or array.ndim != 1 or np.any((array < least) | (array >= count)):
        raise ValueError("an index is out of range")
    return array


def numbers(array: Any, *shape: int | None) -> Vector:
    """An array of finite float64 of this shape; ValueError where it is something else."""
    if array.dtype != np.float64 or not np.all(np.isfinite(array)) or len(shape) != array.ndim:
        raise ValueError("an array is not of finite numbers")
    if any(size not in (None, found) for size, found in zip(shape, array.shape, strict=True)):
        raise ValueError("an array is of another size")
    found: Vector = array
    return found
