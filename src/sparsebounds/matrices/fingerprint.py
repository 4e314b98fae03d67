"""Fingerprint of a data set: its shape, a hash of y, weights and offset, checksums of X.

The checksums (`matrices.bits`) are equal for every layout and storage of X. The fingerprint
recognises other data; it is not a cryptographic hash. Soundness never rests on it: a verifier
recomputes both bounds from the data.
"""

from __future__ import annotations

import hashlib

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.matrices import Matrix


def fingerprint(matrix: Matrix, y: Vector, weights: Vector, offset: Vector | None) -> str:
    """The data set's identity as a short string."""
    n, m = matrix.shape
    digest = hashlib.sha256()
    for vector in (y, weights, np.zeros(n) if offset is None else offset):
        digest.update(np.ascontiguousarray(vector + 0.0, dtype="<f8").tobytes())
    sums = matrix.signature.tolist()
    return f"{n}x{m}-{digest.hexdigest()[:16]}-" + "".join(f"{total:016x}" for total in sums)
