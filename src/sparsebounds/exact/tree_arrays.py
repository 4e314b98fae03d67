"""A search tree as plain arrays, for the files that work in progress is saved to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from sparsebounds._checkpoint import packed, unpacked
from sparsebounds.certificates.tree import Shift, Tree

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


def tree_from(arrays: Mapping[str, Any], prefix: str = "") -> Tree:
    """What `tree_arrays` was given; ValueError or LookupError where it is no tree."""
    parts = {name: arrays[f"{prefix}tree_{name}"] for name in IN_TREE}
    split = [unpacked(arrays, f"{prefix}shift_{name}") for name in IN_SHIFT]
    nodes = arrays[f"{prefix}shift_nodes"].tolist()
    shifts = {
        node: Shift(*found)
        for node, found in zip(nodes, zip(*split, strict=True) if nodes else (), strict=True)
    }
    return Tree(**parts, shifts=shifts)
