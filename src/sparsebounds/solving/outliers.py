"""Outliers: which rows every best model fits, which ones none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._support.array import Index

if TYPE_CHECKING:
    from sparsebounds.bounds import States
    from sparsebounds.program import Program


@dataclass(frozen=True, eq=False)
class Outliers:
    """Rows by what is proved about them, for the truncated loss: numbers of the rows of X.

    A row is an outlier of a model where its residual is at least c in size. Rows of weight 0 are
    not listed.
    """

    proved_out: Index
    """Outliers of every best model."""

    proved_in: Index
    """Inliers of every best model."""

    in_doubt: Index
    """The others."""

    @classmethod
    def of(cls, program: Program, rows: States) -> Outliers:
        """From 1 for inliers, -1 for outliers, 0 in doubt: one number per row of the program."""
        kept = program.data.kept
        places = np.arange(program.n) if kept is None else kept
        return cls(*(places[rows == kind] for kind in (-1, 1, 0)))

    def among(self, rows: Index) -> Outliers:
        """The same by other numbers: row i is rows[i]."""
        return Outliers(rows[self.proved_out], rows[self.proved_in], rows[self.in_doubt])

    def __str__(self) -> str:
        out, inside, doubt = map(len, (self.proved_out, self.proved_in, self.in_doubt))
        return (
            f"{out} row{'s are outliers' if out != 1 else ' is an outlier'} of every best model, "
            f"{inside} {'are inliers' if inside != 1 else 'is an inlier'}, {doubt} in doubt"
        )
