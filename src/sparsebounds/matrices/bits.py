"""Checksums of a matrix: sum_ij r_i c_j bits_of(x_ij) mod 2^64 for seeded odd multipliers r, c.

bits_of(x) are the 64 bits of x with their upper half folded into the lower (and 0 for 0). A sum
does not depend on its order: every memory layout, chunking, sparse or dense storage, and float32
or its float64 value give the same number in one pass.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Vector

Bits: TypeAlias = npt.NDArray[np.uint64]
"""Checksums are integers mod 2^64."""

ROWS = (0x9E3779B97F4A7C15, 0x165667B19E3779F9)
COLS = (0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)
SEEDS = len(ROWS)

BLOCK = 1 << 15
"""Multipliers made at a time: they stay in a core's cache."""


def bits_of(x: Vector, room: tuple[Vector, Vector] | None = None) -> Bits:
    """The bits of each float (-0.0 read as 0.0), their upper half folded into the lower.

    Checksums are sums mod 2^64, in which an odd multiple of the sign bit is the sign bit: but
    for the fold, the signs of any two entries could change unseen. Two arrays like x, if given,
    are the memory used.
    """
    plain, half = (np.empty_like(x), np.empty_like(x)) if room is None else room
    bits, upper = np.add(x, 0.0, out=plain).view(np.uint64), half.view(np.uint64)
    np.right_shift(bits, np.uint64(32), out=upper)
    bits ^= upper
    return bits


def multipliers(count: int, seed: int, start: int = 0) -> Bits:
    """`count` odd 64-bit numbers: a mixing of seed + index, from index `start` on."""
    out, half = np.empty(count, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint64)
    for at in range(0, count, BLOCK):
        x, upper = out[at : at + BLOCK], half[: count - at]
        x[:] = np.arange(start + at + 1, start + at + len(x) + 1, dtype=np.uint64)
        x *= np.uint64(0x9E3779B97F4A7C15)
        x += np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            x ^= np.right_shift(x, np.uint64(shift), out=upper)
            x *= np.uint64(factor)
        x |= np.uint64(1)
    return out


def seeded(rows: slice, cols: slice) -> tuple[Bits, Bits]:
    """The multipliers of these rows and of these columns, one row per seed."""
    of_rows, of_cols = (
        np.stack([multipliers(part.stop - part.start, seed, part.start) for seed in seeds])
        for part, seeds in ((rows, ROWS), (cols, COLS))
    )
    return of_rows, of_cols
