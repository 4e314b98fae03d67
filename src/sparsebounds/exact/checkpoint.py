"""A search on file: saved while it runs, taken up where it was saved.

The file is an .npz of plain arrays: the tree so far, the open nodes, the best model. It is
written whole or not at all. A search taken up makes the same nodes in the same order as one that
was never stopped. Nothing proved rests on the file: the model's objective and the tree's bound
are evaluated again from the data.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._array import Index
from sparsebounds._errors import InputError
from sparsebounds._files import write_atomically
from sparsebounds.bounds import objective_up
from sparsebounds.certificates import Problem
from sparsebounds.certificates.tree import Shift, Tree
from sparsebounds.exact.bounder import Bounded
from sparsebounds.exact.dial import Outlook
from sparsebounds.models import Model
from sparsebounds.program import Program

FORMAT = "sparsebounds-search-1"

INTERVAL = 30.0
"""Seconds of search between two savings, at least."""

SHARE = 0.05
"""Part of the time that saving may take: large searches are saved less often."""

IN_TREE = tuple(field.name for field in fields(Tree) if field.name != "shifts")
IN_SHIFT = tuple(field.name for field in fields(Shift))


@dataclass(frozen=True)
class SearchState:
    """All that a search goes on from."""

    tree: Tree
    model: Model
    """The best so far, on the features that the tree decides about."""

    open: Bounded
    places: Index
    """The open nodes' numbers in the tree."""

    closed: float
    nodes: int
    steps: int
    failures: int
    """What the bounder has learned about shifts."""

    seconds: float
    price: float
    outlook: Outlook


class Checkpoint:
    """The file of one search: a problem on its data, to a tolerance."""

    def __init__(self, path: str | os.PathLike[str], program: Program, tol: float) -> None:
        self.path = Path(path)
        self.program = program
        self._identity = {
            "format": FORMAT,
            "data": program.fingerprint,
            "problem": _digest(program),
            "tol": repr(float(tol)),
        }
        self._check_writable()
        self.saved = self._read() if self.path.exists() else None
        """What the file held; None where there was none."""

        self._next = time.perf_counter() + INTERVAL

    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.perf_counter() >= self._next

    def save(self, state: SearchState) -> None:
        """Write the state; where that fails it warns, as the search is worth more than its file."""
        began = time.perf_counter()
        arrays: dict[str, Any] = dict(self._identity)
        arrays |= {f"tree_{name}": getattr(state.tree, name) for name in IN_TREE}
        arrays |= {f"open_{f.name}": getattr(state.open, f.name) for f in fields(Bounded)}
        arrays |= _packed(state.tree.shifts)
        arrays["places"] = state.places
        arrays["counts"] = np.array([state.nodes, state.steps, state.failures])
        arrays["numbers"] = np.array(
            [state.closed, state.seconds, state.price, *astuple(state.outlook)]
        )
        arrays["w"], arrays["b_eta"] = state.model.w, np.array([state.model.b, state.model.eta])
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        try:
            write_atomically(self.path, stream.getvalue())
        except OSError as error:
            warnings.warn(f"The checkpoint {self.path} was not written: {error}.", stacklevel=2)
        ended = time.perf_counter()
        self._next = ended + max(INTERVAL, (ended - began) / SHARE)

    def _check_writable(self) -> None:
        if self.path.is_dir():
            raise InputError(f"checkpoint={str(self.path)!r} is a folder; name a file.")
        try:
            with tempfile.TemporaryFile(dir=self.path.parent):
                pass
        except OSError as error:
            raise InputError(
                f"checkpoint={str(self.path)!r} cannot be written: {error.strerror} "
                f"({self.path.parent}); name a file in a folder that exists and is yours."
            ) from error

    def _read(self) -> SearchState:
        content = self.path.read_bytes()
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            found = {name: str(arrays[name]) for name in self._identity}
        except Exception as error:  # damage has no end of names
            raise self._refusal("is damaged, or not the checkpoint of a search") from error
        for name, mine in self._identity.items():
            if found[name] != mine:
                raise self._refusal(_OTHER[name].format(theirs=found[name], mine=mine))
        try:
            state = self._state(arrays)
        except (ValueError, LookupError, TypeError) as error:
            raise self._refusal("is damaged") from error
        return state

    def _state(self, arrays: dict[str, Any]) -> SearchState:
        """The state in a file's arrays; ValueError or LookupError where they are not one."""
        parts = {name: arrays[f"tree_{name}"] for name in IN_TREE}
        tree = Tree(**parts, shifts=_unpacked(arrays))
        opened = Bounded(**{f.name: arrays[f"open_{f.name}"] for f in fields(Bounded)})
        flaw = tree.flaw(self.program.free, self.program.always)
        places, w = arrays["places"], arrays["w"]
        count, m = len(places), len(tree.kept)
        same = all(len(getattr(opened, f.name)) == count for f in fields(Bounded))
        if flaw or not same or opened.state.shape != (count, m) or w.shape != (m,):
            raise ValueError(flaw or "the open nodes do not match the tree")
        if not np.isin(places, np.setdiff1d(np.arange(tree.size), tree.parent)).all():
            raise ValueError("an open node is not a leaf of the tree")
        b, eta = arrays["b_eta"].tolist()
        value = objective_up(self.program.restricted(tree.kept), w, b)
        if not np.isfinite(value):
            raise ValueError("the model does not obey the constraints")
        nodes, steps, failures = arrays["counts"].tolist()
        closed, seconds, price, *outlook = arrays["numbers"].tolist()
        return SearchState(
            tree=tree,
            model=Model(value, w, b, eta),
            open=opened,
            places=places,
            closed=closed,
            nodes=nodes,
            steps=steps,
            failures=failures,
            seconds=seconds,
            price=price,
            outlook=Outlook(*outlook),
        )

    def _refusal(self, reason: str) -> InputError:
        return InputError(
            f"checkpoint={str(self.path)!r} {reason}; name another file, or delete this one "
            "to start again."
        )


_OTHER = {
    "format": "is of another version ({theirs}; this reads {mine})",
    "data": "belongs to a search on other data (X, y, sample_weight or offset)",
    "problem": "belongs to a search for another problem on these data",
    "tol": "belongs to a search with tol={theirs}, not {mine}",
}
"""What a difference from the search at hand means."""


def _packed(shifts: Mapping[int, Shift]) -> dict[str, Any]:
    """The shifted leaves as arrays: their nodes, and each part with its lengths."""
    arrays: dict[str, Any] = {"shift_nodes": np.array(list(shifts), dtype=np.int64)}
    for name in IN_SHIFT:
        parts = [getattr(shift, name) for shift in shifts.values()]
        arrays[f"shift_{name}"] = np.concatenate(parts) if parts else np.zeros(0)
        arrays[f"shift_{name}_ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return arrays


def _unpacked(arrays: Mapping[str, Any]) -> dict[int, Shift]:
    """What `_packed` packed."""
    split = [
        np.split(arrays[f"shift_{name}"], arrays[f"shift_{name}_ends"][:-1]) for name in IN_SHIFT
    ]
    nodes = arrays["shift_nodes"].tolist()
    shifts = zip(nodes, zip(*split, strict=True), strict=True) if nodes else ()
    return {node: Shift(*parts) for node, parts in shifts}


def _digest(program: Program) -> str:
    """Identifies the problem without its data."""
    digest = hashlib.sha256()
    problem = Problem.of(program)
    for field in fields(Problem):
        value = getattr(problem, field.name)
        parts = value if isinstance(value, tuple) else (value,)
        digest.update(f"{field.name}:".encode())
        for part in parts:
            array = isinstance(part, np.ndarray)
            digest.update(part.tobytes() if array else repr(part).encode())
            digest.update(b";")
    return digest.hexdigest()
