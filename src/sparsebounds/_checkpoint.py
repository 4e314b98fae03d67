"""Checkpoint files: long work on file, saved while it runs and taken up where it was saved.

A file is an .npz of plain arrays, written whole or not at all, with an identity: its format, the
data, the problem, and what else the work depends on. A file of other work is refused before
anything is done. What the arrays mean is up to the work (`exact.checkpoint`, `_path.checkpoint`),
which evaluates again, from the data, whatever a bound rests on.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._array import Index
from sparsebounds._errors import InputError
from sparsebounds._files import check_output, write_atomically
from sparsebounds.certificates import Problem
from sparsebounds.program import Program

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
        self.path = Path(path)
        self._identity, self._others, self._kind = dict(identity), others, kind
        self._interval = interval
        check_output(path, f"checkpoint={str(path)!r}")
        self._next = time.perf_counter() + interval

    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.perf_counter() >= self._next

    def write(self, arrays: Mapping[str, Any]) -> None:
        """Write the arrays; where that fails it warns, as the work is worth more than its file."""
        began = time.perf_counter()
        content: dict[str, Any] = {**self._identity, **arrays}
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
        if not self.path.exists():
            return None
        content = self.path.read_bytes()
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            found = {name: str(arrays[name]) for name in self._identity if name in arrays}
            if "format" not in found:
                raise LookupError("format")
        except Exception as error:  # damage has no end of names
            raise self.refusal(f"is damaged, or not the checkpoint of {self._kind}") from error
        for name, mine in self._identity.items():
            if found.get(name) != mine:
                sentence = self._others[name].format(theirs=found.get(name), mine=mine)
                raise self.refusal(sentence)
        return arrays

    def refusal(self, reason: str) -> InputError:
        """What is wrong with the file, and what to do."""
        return InputError(
            f"checkpoint={str(self.path)!r} {reason}; name another file, or delete this one "
            "to start again."
        )


def digest(program: Program) -> str:
    """Identifies the problem without its data."""
    found = hashlib.sha256()
    problem = Problem.of(program)
    for field in fields(Problem):
        value = getattr(problem, field.name)
        parts = value if isinstance(value, tuple) else (value,)
        found.update(f"{field.name}:".encode())
        for part in parts:
            array = isinstance(part, np.ndarray)
            found.update(part.tobytes() if array else repr(part).encode())
            found.update(b";")
    return found.hexdigest()


def packed(name: str, parts: Sequence[Any], dtype: Any) -> dict[str, Any]:
    """Arrays of different lengths as two: all of them in a row, and where each ends."""
    joined = np.concatenate(parts) if parts else np.zeros(0)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return {name: joined.astype(dtype, copy=False), f"{name}_ends": ends}


def unpacked(arrays: Mapping[str, Any], name: str) -> list[Any]:
    """What `packed` packed; ValueError where it was not."""
    joined, ends = arrays[name], arrays[f"{name}_ends"]
    starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    whole = int(ends[-1]) if len(ends) else 0
    if joined.ndim != 1 or len(joined) != whole or np.any(ends < starts):
        raise ValueError(f"the parts of {name} do not match their lengths")
    return [joined[i:j] for i, j in zip(starts, ends, strict=True)]


def places(array: Any, count: int) -> Index:
    """An array of indices from 0 to count - 1; ValueError where it is something else."""
    if array.dtype != np.int64 or array.ndim != 1 or np.any((array < 0) | (array >= count)):
        raise ValueError("an index is out of range")
    index: Index = array
    return index
