"""Search trees in a certificate's document: compressed arrays, base64."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from sparsebounds._support.errors import CertificateError
from sparsebounds.certificates._reader import Reader
from sparsebounds.certificates.tree import Shift, Tree

MOST = 1 << 28
"""Numbers of one kind in a tree at most."""


def encode_tree(tree: Tree) -> dict[str, Any]:
    """The tree as a JSON object."""
    return {
        "splits": len(tree.parent),
        "kept_count": len(tree.kept),
        "kept": _packed(tree.kept, "<i8"),
        "removal": _packed(tree.removal, "<f8"),
        "parent": _packed(tree.parent, "<i8"),
        "feature": _packed(tree.feature, "<i4"),
        "counts": _packed(tree.counts, "<i4"),
        "support": _packed(tree.support, "<i4"),
        "values": _packed(tree.values, "<f8"),
        "intercept": _packed(tree.intercept, "<f8"),
        "fixed_counts": _packed(tree.fixed_counts, "<i4"),
        "fixed": _packed(tree.fixed, "<i4"),
        "shifts": [
            {
                "node": node,
                "coefs": len(shift.support),
                "support": _packed(shift.support, "<i4"),
                "values": _packed(shift.values, "<f8"),
                "open": len(shift.shifted),
                "shifted": _packed(shift.shifted, "<i4"),
                "diagonal": _packed(shift.diagonal, "<f8"),
            }
            for node, shift in tree.shifts.items()
        ],
    }


def decode_tree(reader: Reader, n: int, m: int) -> Tree:
    """The tree in an object, on data of n rows and m columns; CertificateError otherwise."""
    splits = reader.integer("splits", 0, MOST)
    size = 1 + 2 * splits
    places = reader.integer("kept_count", 1, m)
    kept = _within(reader, "kept", "<i8", places, 0, m - 1)
    if np.any(np.diff(kept) <= 0):
        raise CertificateError("tree.kept must ascend.")
    counts = _within(reader, "counts", "<i4", size, -1, places)
    fixed_counts = _within(reader, "fixed_counts", "<i4", size, 0, places)
    stored, settled = int(np.maximum(counts, 0).sum()), int(fixed_counts.sum())
    if max(stored, settled) > MOST:
        raise CertificateError(f"tree.counts must add up to {MOST} at most.")
    numbers = {
        "removal": reader.compressed("removal", "<f8", n),
        "values": reader.compressed("values", "<f8", stored),
        "intercept": reader.compressed("intercept", "<f8", size),
    }
    for name, values in numbers.items():
        if not np.all(np.isfinite(values)):
            raise CertificateError(f"tree.{name} must be finite numbers.")
    return Tree(
        kept=kept,
        removal=numbers["removal"].astype(np.float64),
        parent=_within(reader, "parent", "<i8", splits, 0, size - 1),
        feature=_within(reader, "feature", "<i4", splits, 0, places - 1),
        counts=counts,
        support=_within(reader, "support", "<i4", stored, 0, places - 1).astype(np.int32),
        values=numbers["values"].astype(np.float64),
        intercept=numbers["intercept"].astype(np.float64),
        fixed_counts=fixed_counts,
        fixed=_within(reader, "fixed", "<i4", settled, -places, places - 1),
        shifts=dict(_shift(item, size, places) for item in reader.items("shifts")),
    )


def _shift(reader: Reader, size: int, places: int) -> tuple[int, Shift]:
    coefs, opened = reader.integer("coefs", 0, places), reader.integer("open", 0, places)
    shift = Shift(
        support=_within(reader, "support", "<i4", coefs, 0, places - 1).astype(np.int32),
        values=reader.compressed("values", "<f8", coefs).astype(np.float64),
        shifted=_within(reader, "shifted", "<i4", opened, 0, places - 1).astype(np.int32),
        diagonal=reader.compressed("diagonal", "<f8", opened).astype(np.float64),
    )
    if not (np.all(np.isfinite(shift.values)) and np.all(np.isfinite(shift.diagonal))):
        raise CertificateError(f"{reader.path} must hold finite numbers.")
    return reader.integer("node", 0, size - 1), shift


def _within(reader: Reader, key: str, dtype: str, length: int, least: int, most: int) -> Any:
    """Integers of a range."""
    values = reader.compressed(key, dtype, length)
    if len(values) and not (least <= int(values.min()) and int(values.max()) <= most):
        raise CertificateError(f"tree.{key} must be integers from {least} to {most}.")
    return values.astype(np.int64)


def _packed(values: Any, dtype: str) -> str:
    raw = np.ascontiguousarray(values, dtype=dtype).tobytes()
    return base64.b64encode(zlib.compress(raw, 6)).decode("ascii")
