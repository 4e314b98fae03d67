"""A search over rows as it stands, in memory and on file (`exact.checkpoint`).

What is read is proved again from the data: the model's objective, the spans, and the bound of every
leaf, of which no more is taken over than that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.checkpoint import numbers, places
from sparsebounds.bounds import RowBounds, objective_up
from sparsebounds.certificates import (
    RowTree,
    row_bounds,
    row_leaves,
    row_tree_arrays,
    row_tree_from,
)
from sparsebounds.exact.checkpoint import SearchFile
from sparsebounds.exact.reduction import on_all
from sparsebounds.exact.row_basis import Basis
from sparsebounds.exact.row_models import DIGEST
from sparsebounds.exact.row_record import Record
from sparsebounds.fitting import Model
from sparsebounds.relaxation import Node


@dataclass(frozen=True, eq=False)
class RowState:
    """All that a search goes on from, or goes back to."""

    basis: Basis
    bounds: RowBounds
    """With the spans that the record proves."""

    record: Record
    open: dict[int, Node]
    """The open nodes by their places in the tree."""

    model: Model
    """The best so far, on the features that are allowed."""

    met: frozenset[bytes]
    """What was refitted (`RowModels`)."""

    narrowed: frozenset[int]
    hopeless: float
    """Places of nodes whose spans were narrowed, and what that has taught (`Narrower`)."""

    round: int
    changed: bool
    agenda: tuple[int, ...]
    floor: float
    """Where the rounds stand (`RowSearch`)."""

    work: float
    nodes: int
    seconds: float = 0.0

    def tree(self) -> RowTree:
        """The proof as it stands."""
        return self.record.tree(self.basis, self.open)


class RowCheckpoint(SearchFile[RowState]):
    """The file of a search over rows."""

    def _arrays(self, state: RowState) -> dict[str, Any]:
        model, closed, boxes = state.model, state.record.closed, state.basis.boxes
        leaves = [*closed.values(), *state.open.values()]
        told = [state.basis.level, state.hopeless, state.floor, state.work, state.seconds]
        whole = {"closed": [*closed], "open": [*state.open], "narrowed": sorted(state.narrowed)}
        whole |= {
            "agenda": [*state.agenda],
            "counts": [state.nodes, state.round, int(state.changed)],
        }
        return row_tree_arrays(state.tree()) | {
            **{name: np.array(values, dtype=np.int64) for name, values in whole.items()},
            "lower": np.array([node.lower for node in leaves]),
            "value": np.array([node.value for node in leaves]),
            "boxes": np.array(boxes).reshape(len(boxes), self.program.n),
            "w": model.w,
            "b_eta_value": np.array([model.b, model.eta, model.value]),
            "met": np.frombuffer(b"".join(sorted(state.met)), dtype=np.uint8),
            "numbers": np.array(told),
        }

    def _state(self, arrays: Mapping[str, Any]) -> RowState:
        tree = row_tree_from(arrays, self.program)
        level, hopeless, floor, work, seconds = numbers(arrays["numbers"], 5).tolist()
        boxes = tuple(numbers(arrays["boxes"], None, self.program.n))
        model = self._model(arrays, tree)
        if level < model.value or tree.level not in (level, math.inf):
            raise ValueError("the level is not that of the search")
        bounds = row_bounds(self.program, tree, level, boxes, claim=True)
        closed, opened, narrowed, agenda = (
            places(arrays[name], tree.size).tolist()
            for name in ("closed", "open", "narrowed", "agenda")
        )
        nodes = _leaves(bounds, tree, [*closed, *opened], arrays)
        parts = [
            (part.scope, [replace(one, lent=tree.lents[place]) for place, one in part.rounds])
            for part in tree.spans
        ]
        count, round_, changed = places(arrays["counts"], 1 << 62).tolist()
        met = arrays["met"]
        if met.dtype != np.uint8 or min(work, seconds) < 0.0:
            raise ValueError("a count or a time is none")
        return RowState(
            basis=Basis(tree.kept, bounds.with_spans(), tree.eta, boxes, level),
            bounds=bounds,
            record=Record(
                tree.parent.tolist(),
                tree.switch.tolist(),
                {node: nodes[node] for node in closed},
                parts,
            ),
            open={node: nodes[node] for node in opened},
            model=model,
            met=frozenset(digest.tobytes() for digest in met.reshape(-1, DIGEST)),
            narrowed=frozenset(narrowed),
            hopeless=hopeless,
            round=round_,
            changed=bool(changed),
            agenda=tuple(agenda),
            floor=floor,
            work=work,
            nodes=count,
            seconds=seconds,
        )

    def _model(self, arrays: Mapping[str, Any], tree: RowTree) -> Model:
        """The model, of no smaller value than it has."""
        w, (b, eta, value) = numbers(arrays["w"], len(tree.kept)), arrays["b_eta_value"].tolist()
        model = Model(value, w, b, eta)
        least = objective_up(self.program, on_all(model, tree.kept, self.program.m).w, b)
        if not np.isfinite(max(value, least)) or np.isinf(eta):
            raise ValueError("the model does not obey the constraints")
        return replace(model, value=max(value, least))


def _leaves(
    bounds: RowBounds, tree: RowTree, order: list[int], arrays: Mapping[str, Any]
) -> dict[int, Node]:
    """The leaves by their places, each with its bound in a file, or less where that is not proved.

    `order` is that of the file.
    """
    lower, value = arrays["lower"], arrays["value"]
    at = {node: i for i, node in enumerate(order)}
    if any(part.dtype != np.float64 or part.shape != (len(order),) for part in (lower, value)):
        raise ValueError("the bounds of the leaves are none")
    # Leaves that were bounded at one point share it.
    points: dict[int, Vector] = {}
    nodes = {
        leaf.node: Node(
            state=leaf.state,
            w=points.setdefault(leaf.point, leaf.w),
            b=float(tree.intercept[leaf.point]),
            lent=tree.lents[tree.lent[leaf.point]],
            lower=min(leaf.lower, float(lower[at[leaf.node]])),
            value=float(value[at[leaf.node]]),
            scope=int(tree.scope[leaf.node]),
        )
        for leaf in row_leaves(bounds, tree)
    }
    if len(nodes) < len(order) or np.any(np.isnan(lower)):
        raise ValueError("the leaves do not match the tree")
    return nodes
