"""A path on file: saved after its points, taken up where it was saved.

The file holds the points done (models, dual vectors, what is proved from which), the last relaxed
point, the columns read and the supports that the beam goes on from. A walk that is taken up does
what one that was never stopped would have done, number for number, on matrices whose products do
not depend on the moment.

Nothing proved rests on the file. Models are evaluated again. Dual vectors are scored again, many in
a pass; as products taken together differ from single ones in last digits, a bound is kept if the
data prove at least as much, and else evaluated as it was the first time: bounds of points are
rounded down to 44 bits (`shared.coarse`), so that this is rare. Trees are evaluated again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.checkpoint import CheckpointFile, numbers, packed, places, unpacked
from sparsebounds.bounds import (
    WIDER,
    DualPoint,
    Node,
    claim_at,
    dual_points_at,
    floor,
    screen_at,
    widened,
)
from sparsebounds.certificates import (
    Certificate,
    Leaf,
    leaf_claim,
    tree_arrays,
    tree_bound,
    tree_from,
    uncovered,
)
from sparsebounds.paths.rows import Row
from sparsebounds.paths.shared import coarse
from sparsebounds.problem import Problem
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation

FORMAT = "sparsebounds-path-1"

TOGETHER = 32
"""Dual vectors scored in one pass."""

NO_LIMIT = -1
"""`high` of a leaf that has none."""


@dataclass(frozen=True)
class WalkState:
    """All that a walk goes on from."""

    rows: tuple[Row, ...]
    duals: tuple[Vector, ...]
    """Every dual vector of the path, per sample, in the order they were found."""

    curves: tuple[Vector, ...]
    """What each was found to prove on the cells: proofs are chosen by these numbers, and claim what
    the data prove again."""

    batches: tuple[Index, ...]
    """Columns of the workspace, as they were read."""

    last: Relaxation
    before: Vector | None
    """Relaxed coefficients at the point before the last one; None at the first."""

    known: tuple[Index, ...]
    sizes: dict[int, Vector]
    """Dual vectors of the budgets that a path in l0 keeps."""

    relaxed_sizes: tuple[int, ...]
    steps: int
    passes: float
    seconds: float


class PathCheckpoint:
    """The file of one path: a problem on its data, a grid, and what its models depend on."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        program: Program,
        grid: list[int] | list[float],
        tol: float,
        stop: float | None,
        most_nodes: float | str | None,
    ) -> None:
        """`most_nodes` are those of each exact search, or how they are chosen; None: no search."""
        self._program = program
        self._grid = grid
        exact = "no" if most_nodes is None else f"up to {most_nodes} nodes a point"
        identity = {
            "format": FORMAT,
            "data": program.fingerprint,
            "problem": Problem.of(program.with_budget(0)).digest,
            "grid": " ".join(map(repr, grid)),
            "tol": repr(float(tol)),
            "stop": repr(None if stop is None else float(stop)),
            "exact": exact,
        }
        self._file = CheckpointFile(path, identity, _OTHER, "a path", 0.0)
        self._arrays = self._file.read()
        self._written: WalkState | None = None

    def read(
        self, posed: Callable[[float], Program], curve: Callable[[DualPoint], Vector]
    ) -> tuple[WalkState, list[Vector]] | None:
        """The state in the file, its models and proofs evaluated again, and the curves that are
        proved; None without a file."""
        arrays = self._arrays
        if arrays is None:
            return None
        return self._file.read_as(
            lambda: _proved_again(self._program, self._state(arrays, posed), curve)
        )

    def save(self, state: WalkState, *, now: bool) -> None:
        """Write the state, where it is time for that, or `now`."""
        if state is self._written or not (now or self._file.due()):
            return
        self._file.write(_arrays(state))
        self._written = state

    def _state(self, arrays: dict[str, Any], posed: Callable[[float], Program]) -> WalkState:
        n, m = self._program.n, self._program.m
        duals, curves = list(numbers(arrays["duals"], None, n)), arrays["curves"]
        lower, eta = arrays["lower"], float(arrays["eta"])
        if any(x.dtype != np.float64 or np.any(np.isnan(x)) for x in (curves, lower)):
            raise ValueError("the curves or the bounds are not numbers")
        if np.isinf(eta):
            raise ValueError("the multiplier of the ball is infinite")
        batches = [places(part, m) for part in unpacked(arrays, "batches")]
        read = np.concatenate(batches) if batches else np.zeros(0)
        if len(np.unique(read)) < len(read):
            raise ValueError("a column was read twice")
        b, passes, seconds = numbers(arrays["numbers"], 3).tolist()
        sizes = places(arrays["sizes"], m + 1).tolist()
        by_size = [duals[i] for i in places(arrays["size_duals"], len(duals))]
        rows = tuple(self._rows(arrays, duals, posed))
        w, t = numbers(arrays["w"], m), duals[places(arrays["t"], len(duals))[0]]
        return WalkState(
            rows=rows,
            duals=tuple(duals),
            curves=tuple(curves),
            batches=tuple(batches),
            last=Relaxation.to_start_from(rows[-1].program, w, b, eta, t),
            before=numbers(arrays["before"], m) if "before" in arrays else None,
            known=tuple(places(part, m) for part in unpacked(arrays, "known")),
            sizes=dict(zip(sizes, by_size, strict=True)),
            relaxed_sizes=tuple(places(arrays["relaxed_sizes"], m + 1).tolist()),
            steps=int(arrays["steps"]),
            passes=passes,
            seconds=seconds,
        )

    def _rows(
        self, arrays: dict[str, Any], duals: list[Vector], posed: Callable[[float], Program]
    ) -> Iterator[Row]:
        """The points done, with their claims as the file has them, on models evaluated again."""
        m = self._program.m
        supports = [places(part, m) for part in unpacked(arrays, "supports")]
        coefs = unpacked(arrays, "coefs")
        fixed = [places(part, m) for part in unpacked(arrays, "fixed_in")]
        leaves, used = unpacked(arrays, "leaves"), unpacked(arrays, "leaf_duals")
        roots = places(arrays["roots"], len(duals))
        counts, parts = arrays["row_counts"], numbers(arrays["row_numbers"], None, 3)
        if not 1 <= len(supports) <= len(self._grid) or len(arrays["lower"]) != len(supports):
            raise ValueError("the number of points is not that of the grid")
        for i, (value, support) in enumerate(zip(self._grid, supports, strict=False)):
            program = posed(value)
            _, nodes, searched = places(counts[i], 1 << 62).tolist()
            intercept, unpriced, seconds = parts[i].tolist()
            tree = tree_from(arrays, program, f"row{i}_") if searched else None
            vectors = [duals[place] for place in places(used[i], len(duals))]
            values = numbers(coefs[i], None)
            w, b = _model(program, support, values, intercept)
            cover = () if searched else _leaves(program, leaves[i], len(vectors))
            lower = float(arrays["lower"][i])
            claimed = Certificate.build(program, vectors, cover, w, b, lower=lower, tree=tree)
            if not np.isfinite(claimed.upper):
                raise ValueError("a model does not obey the constraints")
            dual = duals[roots[i]]
            found = (support, values, intercept, unpriced, dual, fixed[i], nodes, seconds)
            yield Row(program, claimed, *found)


def _proved_again(
    program: Program, state: WalkState, curve: Callable[[DualPoint], Vector]
) -> tuple[WalkState, list[Vector]]:
    """The state with what the data prove of its claims, and what they prove of its curves."""
    rows, curves = list(state.rows), []
    found, lower = [row.fixed_in[:0] for row in rows], [np.inf for _ in rows]
    for point, claimed in zip(_points(program, state.duals), state.curves, strict=True):
        mine = curve(point)
        if mine.shape != claimed.shape:
            raise ValueError("the curves are not on the cells of the path")
        curves.append(np.minimum(mine, claimed))
        for i, row in enumerate(rows):
            for leaf in row.certificate.leaves:
                if row.certificate.duals[leaf.dual] is point.t:
                    wide = widened(row.program, point)
                    lower[i] = min(lower[i], claim_at(row.program, wide, leaf.node))
            if row.dual is point.t:
                screened = screen_at(row.program, point, row.certificate.upper)
                found[i] = np.intersect1d(row.fixed_in, screened.fixed_in)
    for i, row in enumerate(rows):
        rows[i] = replace(row, certificate=_sound(row, lower[i]), fixed_in=found[i])
    return replace(state, rows=tuple(rows)), curves


def _points(program: Program, duals: tuple[Vector, ...]) -> Iterator[DualPoint]:
    """Every dual vector scored; `t` of a point is the vector itself."""
    for start in range(0, len(duals), TOGETHER):
        part = duals[start : start + TOGETHER]
        for t, point in zip(part, dual_points_at(program, np.stack(part)), strict=True):
            yield replace(point, t=t)


def _sound(row: Row, lower: float) -> Certificate:
    """A row's certificate with no more than it proves; `lower` is what its leaves do.

    A file may claim less, and that is true as well.
    """
    program, known = row.program, row.certificate
    if known.tree is not None:
        with np.errstate(all="ignore"):
            lower = tree_bound(program, known.tree, claim=True)
    elif lower < known.lower:
        lower = leaf_claim(program, known.duals, known.leaves)
    lower = min(known.lower, coarse(program, lower))
    return replace(known, lower=max(lower, floor(program, WIDER)))


def _leaves(program: Program, stored: Any, vectors: int) -> tuple[Leaf, ...]:
    """The leaves of a proof, by that many dual vectors; they must cover every support."""
    free = int(np.count_nonzero(program.free))
    found = []
    for low, high, dual in stored.reshape(-1, 3).tolist():
        places(np.array([dual]), vectors)
        found.append(Leaf(Node(low=low, high=None if high == NO_LIMIT else high), dual))
    most = free if program.k is None else min(free, program.k)
    missing = uncovered([leaf.node for leaf in found], free, most)
    if missing is not None:
        raise ValueError(missing)
    return tuple(found)


def _model(
    program: Program, support: Index, values: Vector, intercept: float
) -> tuple[Vector, float]:
    """A model on the program's own columns, from what the user gets of it."""
    coef = np.zeros(program.m)
    coef[support] = values
    w, b = program.to_program(coef, intercept)
    whole = program.groups.whole
    if not np.array_equal(whole(np.flatnonzero(w)), whole(support)):
        raise ValueError("a model's support is not where its coefficients are")
    return w, b


def _arrays(state: WalkState) -> dict[str, Any]:
    """The state as plain arrays; dual vectors are stored once, and named by their place."""
    place = {id(t): i for i, t in enumerate(state.duals)}
    rows, known = state.rows, [row.certificate for row in state.rows]
    leaves = [
        np.array([_triple(leaf) for leaf in one.leaves], dtype=np.int64).ravel() for one in known
    ]
    used = [np.array([place[id(t)] for t in one.duals], dtype=np.int64) for one in known]
    # The first, once the number of models tried, is always 0: files keep their format.
    counts = [(0, row.nodes, int(row.certificate.tree is not None)) for row in rows]
    parts = [(row.intercept, row.unpriced, row.seconds) for row in rows]
    arrays: dict[str, Any] = {
        "duals": np.stack(state.duals),
        "curves": np.stack(state.curves),
        "w": state.last.w,
        "t": np.array([place[id(state.last.point.t)]]),
        "numbers": np.array([state.last.b, state.passes, state.seconds]),
        "eta": np.array(state.last.eta),
        "steps": np.array(state.steps),
        "sizes": np.array(list(state.sizes), dtype=np.int64),
        "size_duals": np.array([place[id(t)] for t in state.sizes.values()], dtype=np.int64),
        "relaxed_sizes": np.array(state.relaxed_sizes, dtype=np.int64),
        "lower": np.array([one.lower for one in known]),
        "roots": np.array([place[id(row.dual)] for row in rows]),
        "row_counts": np.array(counts, dtype=np.int64),
        "row_numbers": np.array(parts),
    }
    if state.before is not None:
        arrays["before"] = state.before
    arrays |= packed("batches", state.batches, np.int64)
    arrays |= packed("known", state.known, np.int64)
    arrays |= packed("supports", [row.support for row in rows], np.int64)
    arrays |= packed("coefs", [row.values for row in rows], np.float64)
    arrays |= packed("fixed_in", [row.fixed_in for row in rows], np.int64)
    arrays |= packed("leaves", leaves, np.int64)
    arrays |= packed("leaf_duals", used, np.int64)
    for i, one in enumerate(known):
        if one.tree is not None:
            arrays |= tree_arrays(one.tree, f"row{i}_")
    return arrays


def _triple(leaf: Leaf) -> tuple[int, int, int]:
    """A leaf of a range of cardinalities: low, high, and its place among the dual vectors."""
    return leaf.node.low, NO_LIMIT if leaf.node.high is None else leaf.node.high, leaf.dual


_OTHER = {
    "format": "is no path's checkpoint, or of another version ({theirs}; this reads {mine})",
    "data": "belongs to a path on other data (X, y, sample_weight or offset)",
    "problem": "belongs to a path of another problem on these data",
    "grid": "belongs to a path along another grid ({theirs})",
    "tol": "belongs to a path with tol={theirs}, not {mine}",
    "stop": "belongs to a path with stop={theirs}, not {mine}",
    "exact": "belongs to a path with another exact search ({theirs}; asked for: {mine})",
}
"""What a difference from the path at hand means."""
