"""Columns as the predictions see them: up to a constant where there is an intercept.

An unpenalised intercept makes up for any constant, so that ranks and lengths are those of the
columns less their weighted means. A length is that of the centred column, however large its mean:
what is small beside the mean may be all there is to the feature. Only what rounding can leave of a
constant column, n eps of its length, counts as 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.program import Program


class Centred(NamedTuple):
    """Columns, their norms, and the means that were taken away."""

    columns: Vector
    lengths: Vector
    means: Vector


def centred(program: Program, block: Vector) -> Centred:
    """A block of columns, centred where the program has an intercept."""
    lengths, means = np.linalg.norm(block, axis=0), np.zeros(block.shape[1])
    if not program.fit_intercept:
        return Centred(block, lengths, means)
    columns = block
    for _ in range(2):  # once more for what rounding leaves of the first mean
        rest = program.F.p @ columns
        columns, means = columns - rest, means + rest
    left = np.linalg.norm(columns, axis=0)
    something = left > program.n * np.finfo(np.float64).eps * lengths
    return Centred(np.where(something, columns, 0.0), np.where(something, left, 0.0), means)
