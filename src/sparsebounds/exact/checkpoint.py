"""A search on file: saved while it runs, taken up where it was saved.

The file holds the tree so far, the open nodes and the best model. A search taken up makes the same
nodes in the same order as one that was never stopped. Nothing proved rests on the file: the
model's objective and the tree's bound are evaluated again from the data.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.checkpoint import CheckpointFile, numbers, places
from sparsebounds._support.validate import LARGEST
from sparsebounds.bounds import Curvature, Exhaustion, objective_up
from sparsebounds.certificates import MOST_TRIED, Tree, tree_arrays, tree_from
from sparsebounds.exact.bounder import Bounded
from sparsebounds.exact.difficulty import Outlook
from sparsebounds.models import Model
from sparsebounds.problem import Problem
from sparsebounds.program import Program

FORMAT = "sparsebounds-search-1"

INTERVAL = 30.0
"""Seconds of search between two savings, at least."""


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
    memory: tuple[int, int, int]
    """What the bounder has learned (`Bounder.memory`)."""

    seconds: float
    price: float
    outlook: Outlook


State = TypeVar("State")


class SearchFile(ABC, Generic[State]):
    """The file of one search: a problem on its data, to a tolerance."""

    def __init__(self, path: str | os.PathLike[str], program: Program, tol: float) -> None:
        self.program = program
        identity = {
            "format": FORMAT,
            "data": program.fingerprint,
            "problem": Problem.of(program).digest,
            "tol": repr(float(tol)),
        }
        self._file = CheckpointFile(path, identity, _OTHER, "a search", INTERVAL)
        arrays = self._file.read()
        self.saved = None if arrays is None else self._file.read_as(lambda: self._state(arrays))
        """What the file held; None where there was none."""

    def due(self) -> bool:
        """Whether it is time to save again."""
        return self._file.due()

    def save(self, state: State) -> None:
        """Write the state."""
        self._file.write(self._arrays(state))

    @abstractmethod
    def _arrays(self, state: State) -> dict[str, Any]:
        """A state as arrays."""

    @abstractmethod
    def _state(self, arrays: dict[str, Any]) -> State:
        """The state in a file's arrays; an error where they are not one."""


class Checkpoint(SearchFile[SearchState]):
    """The file of a search over features."""

    def _arrays(self, state: SearchState) -> dict[str, Any]:
        arrays = tree_arrays(state.tree)
        arrays |= {f"open_{f.name}": getattr(state.open, f.name) for f in fields(Bounded)}
        arrays["places"] = state.places
        arrays["counts"] = np.array([state.nodes, *state.memory])
        slack = state.outlook.root_gap / state.price
        arrays["numbers"] = np.array([state.closed, state.seconds, state.price, slack])
        arrays["w"], arrays["b_eta"] = state.model.w, np.array([state.model.b, state.model.eta])
        return arrays

    def _state(self, arrays: dict[str, Any]) -> SearchState:
        tree = tree_from(arrays, self.program)
        flaw = tree.flaw(~self.program.never, self.program.always)
        if flaw:
            raise ValueError(flaw)
        reduced, minorant = tree.reduced(self.program), tree.minorant
        if minorant is not None:
            whole = Curvature(self.program.restricted(tree.kept))
            if minorant.base(whole, claim=True) == -np.inf:
                raise ValueError("the minorant is not proved to lie below the problem")
        leaves, tried = {}, set(tree.exhausted.tolist())
        exhaustion = Exhaustion(Curvature(reduced)) if tried else None
        for visit in tree.nodes(reduced):
            if visit.leaf and visit.node in tree.shifts:
                tree.shifts[visit.node].at(visit.after)
            elif visit.leaf and exhaustion is not None and visit.node in tried:
                if exhaustion.effort(visit.after) > MOST_TRIED:
                    raise ValueError("a leaf has too many supports to try them all")
            elif visit.leaf:
                leaves[visit.node] = visit.after
        opened = Bounded(**{f.name: arrays[f"open_{f.name}"] for f in fields(Bounded)})
        at = places(arrays["places"], tree.size)
        count, m = len(at), len(tree.kept)
        if len(np.unique(at)) < count or opened.state.dtype != np.int8:
            raise ValueError("the open nodes are not nodes")
        if opened.state.shape != (count, m):
            raise ValueError("the open nodes do not match the tree")
        for node, state in zip(at.tolist(), opened.state, strict=True):
            if not np.array_equal(leaves[node], state):
                raise ValueError("an open node is not what the tree says")
        parts = numbers(opened.w, count, m) * reduced.matrix.norms
        gradient, level = numbers(opened.gradient, count, m), numbers(opened.b, count)
        if any(np.any(np.abs(part) > LARGEST) for part in (parts, gradient, level)):
            raise ValueError("an open node has numbers that no solution has")
        lower = opened.lower
        if lower.dtype != np.float64 or lower.shape != (count,) or not np.all(lower < np.inf):
            raise ValueError("the bounds of the open nodes are none")
        w, (b, eta) = numbers(arrays["w"], m), arrays["b_eta"].tolist()
        value = objective_up(reduced, w, b)
        if not np.isfinite(value) or np.isinf(eta):
            raise ValueError("the model does not obey the constraints")
        counts = places(arrays["counts"], 1 << 62, -(1 << 62)).tolist()
        # Files of version 0.1 have no count of nodes whose supports were too many.
        nodes, steps, failures, fruitless = (*counts, 0) if len(counts) == 3 else counts
        closed, seconds, price, slack, *_ = arrays["numbers"].tolist()
        if (
            nodes < 1
            or min(steps, fruitless) < 0
            or np.isnan(closed)
            or not 0.0 <= seconds < np.inf
        ):
            raise ValueError("a count or a time is none")
        if not 0.0 < price < np.inf:
            raise ValueError("the price of a feature is none")
        gap = value - min(closed, float(np.min(lower, initial=np.inf)), value)
        return SearchState(
            tree=tree,
            model=Model(value, w, b, eta),
            open=opened,
            places=at,
            closed=closed,
            nodes=nodes,
            memory=(steps, failures, fruitless),
            seconds=seconds,
            price=price,
            outlook=Outlook(nodes, count, gap, slack * price, seconds, self.program.k is not None),
        )


_OTHER = {
    "format": "is of another version ({theirs}; this reads {mine})",
    "data": "belongs to a search on other data (X, y, sample_weight or offset)",
    "problem": "belongs to a search for another problem on these data",
    "tol": "belongs to a search with tol={theirs}, not {mine}",
}
"""What a difference from the search at hand means."""
