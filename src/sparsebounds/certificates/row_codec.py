"""Trees over rows in certificates and checkpoints, as `certificates.tree_codec` has the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebounds._support.errors import CertificateError
from sparsebounds.bounds import Lent, Round, States
from sparsebounds.certificates._reader import Reader
from sparsebounds.certificates.row_tree import RowTree, SpanProof
from sparsebounds.certificates.tree_codec import MOST, Arrays, as_stored, compressed, texts
from sparsebounds.program import Program

ROWS = {
    "kept": "<i8",
    "cuts": "<f8",
    "eta": "<f8",
    "parent": "<i8",
    "switch": "<i4",
    "points": "<i4",
    "scope": "<i4",
    "counts": "<i4",
    "support": "<i4",
    "values": "<f8",
    "intercept": "<f8",
    "lent": "<i4",
    "theta": "<f4",
    "shares": "<f4",
    "etas": "<f8",
    "middles": "<f8",
    "sparse": "<i4",
}
SPANS = {
    "level": "<f8",
    "scope_counts": "<i4",
    "scope": "<i4",
    "part_rounds": "<i4",
    "lent": "<i4",
    "counts": "<i4",
    "row": "<i4",
    "tilt": "<f8",
    "intercept": "<f8",
    "end": "<f8",
    "values": "<f4",
}
"""The arrays of a tree over rows and of spans, with their types in a certificate."""


def encode_row_tree(tree: RowTree) -> dict[str, Any]:
    """A tree over rows as a JSON object."""
    sizes = {"kept_count": len(tree.kept), "cut_count": len(tree.cuts), "splits": len(tree.parent)}
    sizes |= {"point_count": len(tree.counts), "lent_count": len(tree.etas)}
    document: dict[str, Any] = sizes | texts(vars(tree) | {"eta": np.array([tree.eta])}, ROWS)
    if tree.spans:
        arrays = _span_arrays(tree)
        ends = {"parts": len(tree.spans), "rounds": len(arrays["lent"]), "ends": len(arrays["row"])}
        document["spans"] = ends | texts(arrays, SPANS)
    return document


def decode_row_tree(reader: Reader, n: int, m: int) -> RowTree:
    """The tree over rows in an object, on data of n rows and m columns."""
    count, cuts = reader.integer("kept_count", 1, m), reader.integer("cut_count", 0, MOST)
    splits, points = reader.integer("splits", 0, MOST), reader.integer("point_count", 1, MOST)
    sizes = count, cuts, splits, points, reader.integer("lent_count", 1, MOST)
    tree = _row_tree(compressed(reader, ROWS), sizes, n, m, old="sparse" not in reader.content)
    if "spans" not in reader.content:
        return tree
    record = reader.record("spans")
    parts, rounds = record.integer("parts", 1, MOST), record.integer("rounds", 0, MOST)
    ends = parts, rounds, record.integer("ends", 0, MOST)
    return _with_spans(tree, compressed(record, SPANS), ends, n)


def row_tree_arrays(tree: RowTree) -> dict[str, Any]:
    """The arrays of a tree over rows for a checkpoint."""
    values = {f"tree_{name}": np.atleast_1d(vars(tree)[name]).ravel() for name in ROWS}
    if tree.spans:
        values |= {
            f"span_{name}": np.asarray(part, dtype=np.float64 if "f" in SPANS[name] else np.int64)
            for name, part in _span_arrays(tree).items()
        }
    return values


def row_tree_from(arrays: Mapping[str, Any], program: Program) -> RowTree:
    """What `row_tree_arrays` was given; ValueError or LookupError where it is no tree."""
    held = {name: arrays[f"tree_{name}"] for name in ROWS}
    sizes = tuple(len(held[name]) for name in ("kept", "cuts", "parent", "counts", "etas"))
    tree = _row_tree(as_stored(held), sizes, program.n, program.m)
    if "span_level" not in arrays:
        return tree
    held = {name: arrays[f"span_{name}"] for name in SPANS}
    ends = tuple(len(held[name]) for name in ("part_rounds", "counts", "row"))
    return _with_spans(tree, as_stored(held), ends, program.n)


def _row_tree(
    arrays: Arrays, sizes: tuple[int, ...], n: int, m: int, *, old: bool = False
) -> RowTree:
    """The tree, without its spans; `old` ones do not say where features lend by supports."""
    count, cuts, splits, points, lents = sizes
    size = 1 + 2 * splits
    counts = arrays.places("counts", points, 0, count)
    stored = int(counts.sum())
    no_sparse = np.zeros(lents, dtype=np.int64)
    if max(stored, lents * max(n, m)) > MOST:
        raise CertificateError(f"{arrays.path} must hold {MOST} numbers of a kind at most.")
    return RowTree(
        kept=arrays.places("kept", count, 0, m - 1),
        cuts=arrays.numbers("cuts", cuts),
        eta=float(arrays.numbers("eta", 1)[0]),
        parent=arrays.places("parent", splits, 0, size - 1),
        switch=arrays.places("switch", splits, 0, count + 2 * n + cuts - 1),
        points=arrays.places("points", size, -1, points - 1),
        scope=arrays.places("scope", size, 0, size - 1),
        counts=counts,
        support=arrays.places("support", stored, 0, count - 1, np.int32),
        values=arrays.numbers("values", stored),
        intercept=arrays.numbers("intercept", points),
        lent=arrays.places("lent", points, 0, lents - 1),
        theta=arrays.numbers("theta", lents * n).reshape(lents, n),
        shares=arrays.numbers("shares", lents * count).reshape(lents, count),
        etas=arrays.numbers("etas", lents),
        middles=arrays.numbers("middles", lents),
        sparse=no_sparse if old else arrays.places("sparse", lents, 0, 1),
    )


def _span_arrays(tree: RowTree) -> dict[str, Any]:
    """Spans as arrays: parts, their rounds, and the ends of these."""
    spans = tree.spans
    scopes = [np.flatnonzero(part.scope) for part in spans]
    rounds = [pair for part in spans for pair in part.rounds]
    ends = [one for _, one in rounds]
    return {
        "level": [tree.level],
        "scope_counts": [len(scope) for scope in scopes],
        "scope": _joined(
            [(one + 1) * part.scope[one] for part, one in zip(spans, scopes, strict=True)]
        ),
        "part_rounds": [len(part.rounds) for part in spans],
        "lent": [place for place, _ in rounds],
        "counts": [len(one.row) for one in ends],
        "row": _joined([one.row for one in ends]),
        "tilt": _joined([one.tau for one in ends]),
        "intercept": _joined([one.b for one in ends]),
        "end": _joined([one.end for one in ends]),
        "values": _joined([one.W.ravel() for one in ends]),
    }


def _joined(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0)


def _with_spans(tree: RowTree, arrays: Arrays, lengths: tuple[int, ...], n: int) -> RowTree:
    """The tree with the spans in these arrays; CertificateError where they do not fit."""
    parts, rounds, ends = lengths
    kept, cuts, lents = len(tree.kept), len(tree.cuts), len(tree.etas)
    if ends * kept > MOST:
        raise CertificateError(f"{arrays.path} must hold {MOST} numbers of a kind at most.")
    switches = kept + 2 * n + cuts
    sizes = arrays.places("scope_counts", parts, 0, switches)
    signed = arrays.places("scope", int(sizes.sum()), -switches, switches)
    own = arrays.places("part_rounds", parts, 0, rounds)
    counts = arrays.places("counts", rounds, 0, ends)
    if own.sum() != rounds or counts.sum() != ends or np.any(signed == 0):
        raise CertificateError(f"{arrays.path} has parts, rounds and ends that do not add up.")
    lent = arrays.places("lent", rounds, 0, lents - 1)
    row, tilt = arrays.places("row", ends, 0, n), arrays.numbers("tilt", ends)
    intercept, end = arrays.numbers("intercept", ends), arrays.numbers("end", ends)
    values = arrays.numbers("values", ends * kept).reshape(ends, kept)
    if np.any(tilt == 0.0):
        raise CertificateError(f"{arrays.path}.tilt must not be 0.")
    last, nothing = np.cumsum(counts), Lent.nothing(n, kept)
    made = []
    for number in range(rounds):
        part = slice(int(last[number] - counts[number]), int(last[number]))
        made.append(Round(nothing, row[part], tilt[part], values[part], intercept[part], end[part]))
    proofs, first = [], np.cumsum(own) - own
    for place, scope in enumerate(np.split(signed, np.cumsum(sizes)[:-1])):
        state: States = np.zeros(switches, dtype=np.int8)
        state[np.abs(scope) - 1] = np.sign(scope)
        if np.count_nonzero(state) != len(scope):
            raise CertificateError(f"{arrays.path}.scope names a switch twice.")
        chosen = range(int(first[place]), int(first[place] + own[place]))
        proofs.append(SpanProof(state, tuple((int(lent[one]), made[one]) for one in chosen)))
    return replace(tree, spans=tuple(proofs), level=float(arrays.numbers("level", 1)[0]))
