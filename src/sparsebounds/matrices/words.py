"""Checksums of a matrix: sum_ij r_i c_j words(x_ij) mod 2^64 for seeded odd multipliers r, c.

words(x) are the 64 bits of x with their upper half folded into the lower (and 0 for 0). A sum
does not depend on its order: every memory layout, chunking, sparse or dense storage, and float32
or its float64 value give the same number in one pass.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sparsebounds._array import Vector

Words: TypeAlias = npt.NDArray[np.uint64]
"""Checksums are integers mod 2^64."""

ROWS = (0x9E3779B97F4A7C15, 0x165667B19E3779F9)
COLS = (0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)


def words(x: Vector) -> Words:
    """The bits of each float (-0.0 read as 0.0), their upper half folded into the lower.

    Checksums are sums mod 2^64, in which an odd multiple of the sign bit is the sign bit: but
    for the fold, the signs of any two entries could change unseen.
    """
    bits = (x + 0.0).view(np.uint64)
    bits ^= bits >> np.uint64(32)
    return bits


def multipliers(count: int, seed: int) -> Words:
    """`count` odd 64-bit numbers: a mixing of seed + index."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return (x ^ (x >> np.uint64(31))) | np.uint64(1)


def seeded(shape: tuple[int, int]) -> tuple[Words, Words]:
    """The multipliers of rows and of columns, one row a seed."""
    n, m = shape
    rows = np.stack([multipliers(n, seed) for seed in ROWS])
    return rows, np.stack([multipliers(m, seed) for seed in COLS])
