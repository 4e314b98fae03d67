"""The numerical rank of X, in one pass and without an SVD: a basis of its range grows by blocks.

Columns are scaled to length 1 and centred where there is an intercept, which asks for predictions
only up to a constant. What a block adds to the range is found by a pivoted QR of its distance from
the basis so far; a distance below 1e-10 counts as none. In exact arithmetic a matrix of floats that
was computed as one of low rank has full rank, so that every statement about r is one about a matrix
within that distance, and says so. Data of full rank are through after min(n, m) columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from sparsebounds.primalization.vertex import DEPENDENT
from sparsebounds.program import Program

BLOCK = 128
"""Columns read at a time."""

WORK = 1e11
"""Operations after which min(n, m) stands in for the rank."""


@dataclass(frozen=True)
class Rank:
    """The rank of X, or a number it does not exceed."""

    value: int
    known: bool
    """Whether `value` is the rank; else it is only an upper bound, min(n, m)."""

    def __str__(self) -> str:
        if not self.known:
            return f"r <= {self.value} (the rank of X, which was not computed)"
        return f"r = {self.value} (the rank of X: distances below {DEPENDENT:g} of a column are 0)"


def numerical_rank(program: Program, work: float = WORK) -> Rank:
    """The rank of the free columns, centred where the program has an intercept."""
    free = np.flatnonzero(program.free)
    most = min(program.n - int(program.fit_intercept), len(free))
    basis, done = np.zeros((program.n, 0)), 0.0
    for start in range(0, len(free), BLOCK):
        if basis.shape[1] == most:
            break
        if done > work:
            return Rank(most, known=False)
        block = program.matrix.columns(free[start : start + BLOCK])
        norms = np.linalg.norm(block, axis=0)
        block = block / np.where(norms > 0.0, norms, 1.0)
        if program.fit_intercept:
            block = block - np.mean(block, axis=0)
        for _ in range(2):  # once more for what rounding leaves of the first projection
            block = block - basis @ (basis.T @ block)
        done += 8.0 * block.size * basis.shape[1] + 4.0 * block.size * block.shape[1]
        block = block[:, np.linalg.norm(block, axis=0) > DEPENDENT]
        if block.shape[1] == 0:
            continue
        fresh, triangle, _ = qr(block, mode="economic", pivoting=True)
        count = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > DEPENDENT))
        basis = np.concatenate((basis, fresh[:, :count]), axis=1)
    return Rank(min(basis.shape[1], most), known=True)
