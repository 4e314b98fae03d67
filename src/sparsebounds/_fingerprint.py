"""Fingerprint of a data set: its shape, a hash of y, weights and offset, a checksum of X.

The checksum is sum_ij r_i c_j words(x_ij) mod 2^64, for two seeded pairs of odd multipliers
r, c; words(x) are the 64 bits of x with their upper half folded into the lower (and 0 for 0).
A sum does not depend on its order, so every memory layout, chunking, sparse or dense storage,
and float32 or its float64 value give the same number in one pass.
It recognises other data; it is not a cryptographic hash. Soundness never rests on it: a
verifier recomputes both bounds from the data.
"""

from __future__ import annotations

import hashlib

import numpy as np

from sparsebounds._array import Vector
from sparsebounds.matrices import Matrix
from sparsebounds.matrices.base import Words

ROWS = (0x9E3779B97F4A7C15, 0x165667B19E3779F9)
COLS = (0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)


def multipliers(count: int, seed: int) -> Words:
    """`count` odd 64-bit numbers: a mixing of seed + index."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return (x ^ (x >> np.uint64(31))) | np.uint64(1)


def fingerprint(matrix: Matrix, y: Vector, weights: Vector, offset: Vector | None) -> str:
    """The data set's identity as a short string."""
    n, m = matrix.shape
    digest = hashlib.sha256()
    for vector in (y, weights, np.zeros(n) if offset is None else offset):
        digest.update(np.ascontiguousarray(vector + 0.0, dtype="<f8").tobytes())
    rows = np.stack([multipliers(n, seed) for seed in ROWS])
    cols = np.stack([multipliers(m, seed) for seed in COLS])
    sums = matrix.checksum(rows, cols).tolist()
    return f"{n}x{m}-{digest.hexdigest()[:16]}-" + "".join(f"{total:016x}" for total in sums)
