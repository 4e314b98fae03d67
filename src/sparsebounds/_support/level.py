"""The level of a response far from 0: a number that is subtracted from it without rounding.

A loss of z - y does not change where y and the intercept move together. Where all of y lies within
2^-10 of one of its entries, that entry is the level c: then y_i / 2 <= c <= 2 y_i, and y_i - c is
exact in floating point (Sterbenz). What is left is of the size of y's own spread, and so is what
rounding does to sums of it.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError

NEAR = 2.0**-10
"""The spread of a response, as a share of its level, up to which the level is taken out."""


def level_of(y: Vector, offset: Vector | None) -> float:
    """The level of y, its middle entry; 0 where y, or the offset, spreads further."""
    if len(y) == 0:
        return 0.0
    low, high = float(np.min(y)), float(np.max(y))
    if high - low > 4.0 * NEAR * max(abs(low), abs(high)):
        return 0.0
    middle = float(np.partition(y, len(y) // 2)[len(y) // 2])
    spread = np.max(np.abs(y - middle))
    if offset is not None:
        spread = max(spread, np.max(np.abs(offset)))
    return middle if spread <= NEAR * abs(middle) else 0.0


def above(y: Vector, level: float) -> Vector:
    """y - level, which must be exact."""
    if level == 0.0:
        return y.view()
    rest: Vector = y - level
    back = rest - y
    # Knuth's two-sum: what the difference has lost.
    if np.any((y - (rest - back)) != level + back):
        raise InputError(f"level={level!r} cannot be subtracted from y without rounding.")
    return rest
