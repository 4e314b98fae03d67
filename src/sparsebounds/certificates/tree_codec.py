"""Search trees as plain arrays, in two kinds of files: certificates and checkpoints.

A certificate is JSON, and holds compressed arrays in base64; a checkpoint holds the arrays as they
are. Names, lengths and ranges are the same in both, and so is what reads them. The parts of the
shifts are listed leaf by leaf in a certificate, and joined, with their ends, in a checkpoint.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.checkpoint import packed, places, unpacked
from sparsebounds._support.errors import CertificateError
from sparsebounds.bounds import Minorant, Region
from sparsebounds.certificates._reader import Reader
from sparsebounds.certificates.tree import Shift, Tree
from sparsebounds.program import Program

MOST = 1 << 28
"""Numbers of one kind in a tree at most."""

TREE = {
    "kept": "<i8",
    "removal": "<f8",
    "parent": "<i8",
    "feature": "<i4",
    "counts": "<i4",
    "support": "<i4",
    "values": "<f8",
    "intercept": "<f8",
    "fixed_counts": "<i4",
    "fixed": "<i4",
}
MINORANT = {"factor": "<f8", "target": "<f8", "ridge": "<f8", "eta": "<f8"}
REGION = {"level": "<f8", "center": "<f8", "intercept": "<f8", "share": "<f8", "bend": "<f8"}
SHIFT = {"support": "<i4", "values": "<f8", "shifted": "<i4", "diagonal": "<f8"}
"""The arrays of a tree, of its minorant, of that one's region and of a shift, with their types in a
certificate."""


def encode_tree(tree: Tree) -> dict[str, Any]:
    """The tree as a JSON object."""
    more: dict[str, Any] = {}
    if tree.minorant is not None:
        more["minorant"] = texts(_flat(tree.minorant), MINORANT)
        if tree.minorant.region is not None:
            more["minorant"]["region"] = texts(vars(tree.minorant.region), REGION)
    if len(tree.exhausted):
        more["exhausted"] = tree.exhausted.tolist()
    return {
        "splits": len(tree.parent),
        "kept_count": len(tree.kept),
        **texts(vars(tree), TREE),
        "shifts": [
            {"node": node, "coefs": len(shift.support), "open": len(shift.shifted)}
            | texts(vars(shift), SHIFT)
            for node, shift in tree.shifts.items()
        ],
        **more,
    }


def decode_tree(reader: Reader, n: int, m: int) -> Tree:
    """The tree in an object, on data of n rows and m columns; CertificateError otherwise."""
    splits = reader.integer("splits", 0, MOST)
    count = reader.integer("kept_count", 1, m)
    tree = _tree(compressed(reader, TREE), splits, count, n, m)
    shifts = {}
    for item in reader.items("shifts"):
        coefs, opened = item.integer("coefs", 0, count), item.integer("open", 0, count)
        shift = _shift(compressed(item, SHIFT), coefs, opened, count)
        node = item.integer("node", 0, tree.size - 1)
        if node in shifts:
            raise CertificateError(f"{item.path}.node has a shift already.")
        shifts[node] = shift
    more: dict[str, Any] = {"shifts": shifts}
    if "exhausted" in reader.content:
        more["exhausted"] = reader.integers("exhausted", 0, tree.size - 1)
    if "minorant" in reader.content:
        record = reader.record("minorant")
        minorant = _minorant(compressed(record, MINORANT), count)
        if "region" in record.content:
            region = _region(compressed(record.record("region"), REGION), count, n)
            minorant = replace(minorant, region=region)
        more["minorant"] = minorant
    return replace(tree, **more)


def tree_arrays(tree: Tree, prefix: str = "") -> dict[str, Any]:
    """The arrays of a tree for a checkpoint; `prefix` opens their names."""
    arrays = {f"{prefix}tree_{name}": getattr(tree, name) for name in TREE}
    arrays[f"{prefix}tree_exhausted"] = tree.exhausted
    if tree.minorant is not None:
        flat = _flat(tree.minorant)
        arrays |= {f"{prefix}minorant_{name}": flat[name] for name in MINORANT}
        if tree.minorant.region is not None:
            values = vars(tree.minorant.region)
            arrays |= {f"{prefix}region_{name}": np.atleast_1d(values[name]) for name in REGION}
    arrays[f"{prefix}shift_nodes"] = np.array(list(tree.shifts), dtype=np.int64)
    for name, dtype in SHIFT.items():
        parts = [getattr(shift, name) for shift in tree.shifts.values()]
        arrays |= packed(f"{prefix}shift_{name}", parts, np.dtype(dtype).newbyteorder("="))
    return arrays


def tree_from(arrays: Mapping[str, Any], program: Program, prefix: str = "") -> Tree:
    """What `tree_arrays` was given; ValueError or LookupError where it is no tree."""
    held = {name: arrays[f"{prefix}tree_{name}"] for name in TREE}
    splits, count = len(held["parent"]), len(held["kept"])
    tree = _tree(as_stored(held), splits, count, program.n, program.m)
    if not np.array_equal(program.loss.clip(program.y, tree.removal), tree.removal):
        raise ValueError("a dual vector is outside the domain")
    nodes = places(arrays[f"{prefix}shift_nodes"], tree.size).tolist()
    if len(set(nodes)) < len(nodes):
        raise ValueError("a node has two shifts")
    shifts = {}
    for node, *parts in zip(
        nodes, *(unpacked(arrays, f"{prefix}shift_{name}") for name in SHIFT), strict=True
    ):
        held = dict(zip(SHIFT, parts, strict=True))
        sizes = len(held["support"]), len(held["shifted"])
        shifts[node] = _shift(as_stored(held), *sizes, count)
    more: dict[str, Any] = {"shifts": shifts}
    if f"{prefix}tree_exhausted" in arrays:
        more["exhausted"] = places(arrays[f"{prefix}tree_exhausted"], tree.size)
    if f"{prefix}minorant_factor" in arrays:
        held = {name: arrays[f"{prefix}minorant_{name}"] for name in MINORANT}
        minorant = _minorant(as_stored(held), count)
        if f"{prefix}region_level" in arrays:
            held = {name: arrays[f"{prefix}region_{name}"] for name in REGION}
            minorant = replace(minorant, region=_region(as_stored(held), count, program.n))
        more["minorant"] = minorant
    return replace(tree, **more)


def _tree(arrays: Arrays, splits: int, count: int, n: int, m: int) -> Tree:
    """The tree, without its shifts, of so many splits that decides about `count` features."""
    size = 1 + 2 * splits
    kept = arrays.places("kept", count, 0, m - 1)
    if count == 0 or np.any(np.diff(kept) <= 0):
        raise CertificateError("tree.kept must ascend.")
    counts = arrays.places("counts", size, -1, count)
    fixed_counts = arrays.places("fixed_counts", size, 0, count)
    stored, settled = int(np.maximum(counts, 0).sum()), int(fixed_counts.sum())
    if max(stored, settled) > MOST:
        raise CertificateError(f"tree.counts must add up to {MOST} at most.")
    return Tree(
        kept=kept,
        removal=arrays.numbers("removal", n),
        parent=arrays.places("parent", splits, 0, size - 1),
        feature=arrays.places("feature", splits, 0, count - 1),
        counts=counts,
        support=arrays.places("support", stored, 0, count - 1, np.int32),
        values=arrays.numbers("values", stored),
        intercept=arrays.numbers("intercept", size),
        fixed_counts=fixed_counts,
        fixed=arrays.places("fixed", settled, -count, count - 1),
    )


def _flat(minorant: Minorant) -> dict[str, Vector]:
    """The arrays of a minorant: its factor is triangular, and half of it is kept."""
    rows = np.triu_indices(len(minorant.factor))
    return vars(minorant) | {"factor": minorant.factor[rows], "eta": np.array([minorant.eta])}


def _minorant(arrays: Arrays, count: int) -> Minorant:
    half = arrays.numbers("factor", count * (count + 1) // 2)
    factor = np.zeros((count, count), order="F")
    factor[np.triu_indices(count)] = half
    ridge = arrays.numbers("ridge", count)
    eta = float(arrays.numbers("eta", 1)[0])
    if not (np.all(ridge > 0.0) and eta >= 0.0):
        raise CertificateError(f"{arrays.path}.ridge must be above 0, and eta 0 or more.")
    return Minorant(factor, arrays.numbers("target", count), ridge, eta)


def _region(arrays: Arrays, count: int, n: int) -> Region:
    return Region(
        level=float(arrays.numbers("level", 1)[0]),
        center=arrays.numbers("center", count),
        intercept=float(arrays.numbers("intercept", 1)[0]),
        share=arrays.numbers("share", count),
        bend=arrays.numbers("bend", n),
    )


def _shift(arrays: Arrays, coefs: int, opened: int, count: int) -> Shift:
    return Shift(
        support=arrays.places("support", coefs, 0, count - 1, np.int32),
        values=arrays.numbers("values", coefs),
        shifted=arrays.places("shifted", opened, 0, count - 1, np.int32),
        diagonal=arrays.numbers("diagonal", opened),
    )


@dataclass(frozen=True)
class Arrays:
    """The arrays of a file by their names: read when the length is known, and checked."""

    path: str
    read: Callable[[str, int, Any], Any]

    def places(self, name: str, length: int, least: int, most: int, dtype: Any = np.int64) -> Any:
        """Integers of a range."""
        values = self.read(name, length, dtype)
        if len(values) and not (least <= int(values.min()) and int(values.max()) <= most):
            raise CertificateError(f"{self.path}.{name} must be integers from {least} to {most}.")
        return values

    def numbers(self, name: str, length: int) -> Vector:
        """Finite numbers."""
        values: Vector = self.read(name, length, np.float64)
        if not np.all(np.isfinite(values)):
            raise CertificateError(f"{self.path}.{name} must be finite numbers.")
        return values


def compressed(reader: Reader, types: Mapping[str, str]) -> Arrays:
    def read(name: str, length: int, dtype: Any) -> Any:
        return reader.compressed(name, types[name], length).astype(dtype)

    return Arrays(reader.path, read)


def as_stored(held: Mapping[str, Any]) -> Arrays:
    def read(name: str, length: int, dtype: Any) -> Any:
        if held[name].dtype != dtype or held[name].shape != (length,):
            raise ValueError(f"{name} is not an array of that type and length")
        return held[name]

    return Arrays("tree", read)


def texts(values: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, str]:
    """Arrays of these types, compressed."""
    raw = {name: np.ascontiguousarray(values[name], dtype=types[name]).tobytes() for name in types}
    return {name: base64.b64encode(zlib.compress(raw[name], 6)).decode("ascii") for name in types}
