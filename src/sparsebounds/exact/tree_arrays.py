"""A search tree as plain arrays, for the files that work in progress is saved to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from sparsebounds._support.checkpoint import numbers, packed, places, unpacked
from sparsebounds.bounds import States
from sparsebounds.certificates import Shift, Tree, TreeError
from sparsebounds.program import Program

IN_TREE = tuple(field.name for field in fields(Tree) if field.name != "shifts")
IN_SHIFT = {"support": np.int32, "values": np.float64, "shifted": np.int32, "diagonal": np.float64}


def tree_arrays(tree: Tree, prefix: str = "") -> dict[str, Any]:
    """The tree's parts, and its shifted leaves: their nodes, and each part with its lengths."""
    arrays: dict[str, Any] = {f"{prefix}tree_{name}": getattr(tree, name) for name in IN_TREE}
    arrays[f"{prefix}shift_nodes"] = np.array(list(tree.shifts), dtype=np.int64)
    for name, dtype in IN_SHIFT.items():
        parts = [getattr(shift, name) for shift in tree.shifts.values()]
        arrays |= packed(f"{prefix}shift_{name}", parts, dtype)
    return arrays


def tree_from(arrays: Mapping[str, Any], program: Program, prefix: str = "") -> Tree:
    """What `tree_arrays` was given; ValueError or LookupError where it is no tree."""
    parts = {name: arrays[f"{prefix}tree_{name}"] for name in IN_TREE}
    kept, size = places(parts["kept"], program.m), len(parts["counts"])
    m, splits = len(kept), (size - 1) // 2
    if size % 2 == 0 or m == 0 or np.any(np.diff(kept) <= 0):
        raise ValueError("the tree has no root, or its features are in disorder")
    removal = numbers(parts["removal"], program.n)
    if not np.array_equal(program.loss.clip(program.y, removal), removal):
        raise ValueError("a dual vector is outside the domain")
    for name, least, most in (("parent", 0, size), ("feature", 0, m)):
        if len(places(parts[name], most, least)) != splits:
            raise ValueError("the splits do not match the nodes")
    _runs(places(parts["counts"], m + 1, -1), places(parts["support"], m, dtype=np.int32), size)
    _runs(places(parts["fixed_counts"], m + 1), places(parts["fixed"], m, -m), size)
    numbers(parts["values"], len(parts["support"]))
    numbers(parts["intercept"], size)
    split = [unpacked(arrays, f"{prefix}shift_{name}") for name in IN_SHIFT]
    nodes = places(arrays[f"{prefix}shift_nodes"], size).tolist()
    shifts = {
        node: _shift(m, *found)
        for node, found in zip(nodes, zip(*split, strict=True) if nodes else (), strict=True)
    }
    return Tree(**parts, shifts=shifts)


def leaf_states(tree: Tree, program: Program) -> dict[int, States]:
    """The leaves that no shift closes, with their states after what they fix.

    `program` is that of the features kept; TreeError where the tree is no proof.
    """
    found = {}
    for node, state, fixed, leaf in tree.nodes(program):
        features = np.where(fixed < 0, -1 - fixed, fixed)
        if (leaf or len(fixed)) and tree.counts[node] < 0:
            raise TreeError("a node that needs a bound has no dual vector")
        if len(np.unique(features)) < len(features) or np.any(state[features] != 0):
            raise TreeError("a node fixes a feature that is decided already")
        after = state.copy()
        after[features] = np.where(fixed < 0, -1, 1)
        if leaf and node in tree.shifts:
            tree.shifts[node].at(after)
        elif leaf:
            found[node] = after
    return found


def _runs(counts: Any, joined: Any, size: int) -> None:
    """ValueError unless there are so many counts, which add up to what they are of."""
    if len(counts) != size or np.sum(np.maximum(counts, 0)) != len(joined):
        raise ValueError("the parts of the tree do not match their lengths")


def _shift(m: int, support: Any, values: Any, shifted: Any, diagonal: Any) -> Shift:
    places(support, m, dtype=np.int32)
    places(shifted, m, dtype=np.int32)
    return Shift(support, numbers(values, len(support)), shifted, numbers(diagonal, len(shifted)))
