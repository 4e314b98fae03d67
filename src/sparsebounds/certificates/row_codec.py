"""Trees over rows in certificates: JSON with compressed arrays (`certificates.tree_codec`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebounds._support.errors import CertificateError
from sparsebounds.bounds import Lent, Round, States
from sparsebounds.certificates._reader import Reader
from sparsebounds.certificates.row_tree import RowTree, SpanProof
from sparsebounds.certificates.tree_codec import MOST, compressed, texts

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
    document = sizes | texts(vars(tree) | {"eta": np.array([tree.eta])}, ROWS)
    return document | ({"spans": _encode_spans(tree)} if tree.spans else {})


def decode_row_tree(reader: Reader, n: int, m: int) -> RowTree:
    """The tree over rows in an object, on data of n rows and m columns."""
    count, cuts = reader.integer("kept_count", 1, m), reader.integer("cut_count", 0, MOST)
    splits, points = reader.integer("splits", 0, MOST), reader.integer("point_count", 1, MOST)
    lents, arrays = reader.integer("lent_count", 1, MOST), compressed(reader, ROWS)
    size = 1 + 2 * splits
    counts = arrays.places("counts", points, 0, count)
    stored = int(counts.sum())
    no_sparse = np.zeros(lents, dtype=np.int64)
    if max(stored, lents * max(n, m)) > MOST:
        raise CertificateError(f"{reader.path} must hold {MOST} numbers of a kind at most.")
    tree = RowTree(
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
        sparse=arrays.places("sparse", lents, 0, 1) if "sparse" in reader.content else no_sparse,
    )
    if "spans" not in reader.content:
        return tree
    spans, level = _decode_spans(reader.record("spans"), count, n, cuts, lents)
    return replace(tree, spans=spans, level=level)


def _encode_spans(tree: RowTree) -> dict[str, Any]:
    """Spans as a JSON object: parts, their rounds, and the ends of these."""
    spans = tree.spans
    scopes = [np.flatnonzero(part.scope) for part in spans]
    rounds = [pair for part in spans for pair in part.rounds]
    ends = [one for _, one in rounds]
    arrays = {
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
    sizes = {"parts": len(spans), "rounds": len(rounds), "ends": len(arrays["row"])}
    return sizes | texts(arrays, SPANS)


def _joined(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0)


def _decode_spans(
    reader: Reader, kept: int, n: int, cuts: int, lents: int
) -> tuple[tuple[SpanProof, ...], float]:
    """The spans in an object and their level; CertificateError where arrays do not fit."""
    parts, rounds = reader.integer("parts", 1, MOST), reader.integer("rounds", 0, MOST)
    ends, arrays = reader.integer("ends", 0, MOST), compressed(reader, SPANS)
    if ends * kept > MOST:
        raise CertificateError(f"{reader.path} must hold {MOST} numbers of a kind at most.")
    switches = kept + 2 * n + cuts
    sizes = arrays.places("scope_counts", parts, 0, switches)
    signed = arrays.places("scope", int(sizes.sum()), -switches, switches)
    own = arrays.places("part_rounds", parts, 0, rounds)
    counts = arrays.places("counts", rounds, 0, ends)
    if own.sum() != rounds or counts.sum() != ends or np.any(signed == 0):
        raise CertificateError(f"{reader.path} has parts, rounds and ends that do not add up.")
    lent = arrays.places("lent", rounds, 0, lents - 1)
    row, tilt = arrays.places("row", ends, 0, n), arrays.numbers("tilt", ends)
    intercept, end = arrays.numbers("intercept", ends), arrays.numbers("end", ends)
    values = arrays.numbers("values", ends * kept).reshape(ends, kept)
    if np.any(tilt == 0.0):
        raise CertificateError(f"{reader.path}.tilt must not be 0.")
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
            raise CertificateError(f"{reader.path}.scope names a switch twice.")
        chosen = range(int(first[place]), int(first[place] + own[place]))
        proofs.append(SpanProof(state, tuple((int(lent[one]), made[one]) for one in chosen)))
    return tuple(proofs), float(arrays.numbers("level", 1)[0])
