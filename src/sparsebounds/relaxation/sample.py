"""Some rows of a tall table, from which work on all of them starts.

With n rows, a minimum over a sample of s of them is off by about 1 / s of the number of its
coefficients, in units of the loss: near enough for Newton's method to need a step or two on all
rows. Nothing is proved on the sample, and no model of it is returned.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.derived import derived
from sparsebounds.data import Data
from sparsebounds.matrices import DenseMatrix
from sparsebounds.program import Program

SHARE = 16
"""One row in so many is drawn."""

LEAST, PER_COLUMN, FEW = 5000, 25, 8
"""More are drawn where these are few: so many rows at least, and so many per column. There is no
sample where that is more than one row in FEW."""


def sampled(program: Program) -> Program | None:
    """The program on a part of its rows, the same each time; None where that would not help.

    For losses other than the squared one: n drops out of that (`compressed`).
    """
    plain = program.loss.convex and program.box is None and program.loss.name != "squared"
    tall = program.matrix.tall and isinstance(program.data.matrix, DenseMatrix)
    data = _sampled(program.data) if plain and tall else None
    return None if data is None else program.on(data)


@derived
def _sampled(data: Data) -> Data | None:
    n, m = data.matrix.shape
    count = max(n // SHARE, LEAST, PER_COLUMN * m)
    if FEW * count > n:
        return None
    # One in each stretch of rows: neither sorted nor periodic rows are all alike.
    ends = np.linspace(0, n, count + 1).astype(np.int64)
    keep = np.zeros(n, dtype=bool)
    keep[np.random.default_rng(0).integers(ends[:-1], ends[1:])] = True
    found = data.of_rows(keep)
    found.matrix.tall = True  # for the same reason: its columns are not copied
    return None if np.all(found.y == found.y[0]) else found
