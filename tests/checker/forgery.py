"""Random changes of single fields of a certificate, arrays among them; the checksum is renewed."""

from __future__ import annotations

import base64
import copy
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsebounds.certificates.codec import _checksum
from sparsebounds.certificates.row_codec import ROWS, SPANS
from sparsebounds.certificates.tree_codec import MINORANT, REGION, SHIFT, TREE

Place = tuple[Any, ...]


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """The places of all values that are no objects and hold no others."""
    if isinstance(value, (dict, list)) and value:
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(child, (*path, key))
    elif path not in {("sha256",), ("format",)} and path[0] != "made_by":
        yield path


def kind(path: Place) -> str | None:
    """The type of a compressed array's numbers."""
    if "region" in path:
        return REGION.get(path[-1])
    if "minorant" in path:
        return MINORANT.get(path[-1])
    if "spans" in path:
        return SPANS.get(path[-1])
    if "shifts" in path:
        return SHIFT.get(path[-1])
    return {"tree": TREE, "rows": ROWS}.get(path[0], {}).get(path[-1])


EXTREME = (0.0, -0.0, 5e-324, 1e-300, 1e300, -1e300, 2.0**-1022, np.inf, -np.inf, np.nan)
"""What floats may be, beside numbers that were meant."""


def float_changed(value: float, rng: np.random.Generator, sizes: tuple[float, ...]) -> float:
    """Another number: near it, of the other sign, or one that nobody expects."""
    way = int(rng.integers(8))
    if way < 2:
        return float(rng.choice(EXTREME)) if way else -value
    size = float(rng.choice(sizes))
    return value * (1.0 + size * rng.normal()) + float(rng.choice([0.0, size]))


def array_changed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One number of an array changed: a little, or by much."""
    changed = values.copy()
    if not len(changed):
        return changed
    i = int(rng.integers(len(changed)))
    if changed.dtype.kind == "i":
        info = np.iinfo(changed.dtype)
        changed[i] = rng.choice([changed[i] - 2, changed[i] - 1, changed[i] + 1, 0, info.max])
    else:
        with np.errstate(over="ignore"):  # of float32
            changed[i] = float_changed(float(changed[i]), rng, (1e-9, 1e-3, 0.1, 1.0))
    return changed


def changed(document: Any, rng: np.random.Generator) -> tuple[Place, Any]:
    """A place, and the document with another value there."""
    document = copy.deepcopy(document)
    found = list(places(document))
    # A file has many leaves and few numbers: half of the changes are made near the top.
    short = [path for path in found if len(path) <= 2]
    among = short if rng.random() < 0.5 else found
    path = among[int(rng.integers(len(among)))]
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    value = holder[path[-1]]
    packed = kind(path)
    if packed is not None:
        numbers = np.frombuffer(zlib.decompress(base64.b64decode(value)), dtype=packed)
        raw = zlib.compress(array_changed(numbers, rng).tobytes())
        value = base64.b64encode(raw).decode()
    elif isinstance(value, bool):
        value = not value
    elif isinstance(value, int):
        value = int(rng.choice([value - 1, value + 1, 0, -1, 2**31, 2**63, 10**30]))
    elif isinstance(value, float):
        value = float_changed(value, rng, (1e-12, 1e-6, 1e-2, 1.0))
    elif path[-1] == "loss":
        value = str(rng.choice(["squared", "huber", "logistic", "poisson", "truncated"]))
    elif "group_names" in path:
        value = f"{value}x"
    elif isinstance(value, str) and path[0] in ("duals", "boxes", "problem"):
        floats = np.frombuffer(base64.b64decode(value), dtype="<f8")
        value = base64.b64encode(array_changed(floats, rng).tobytes()).decode()
    elif isinstance(value, list):
        value = [int(rng.integers(4))]
    elif value is None:
        value = int(rng.integers(3))
    else:
        value = None
    holder[path[-1]] = value
    document["sha256"] = _checksum(document)
    return path, document
