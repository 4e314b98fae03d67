"""Workspace: the working columns and their products, shared by relaxations on the same data.

Another k, l0 or fixing of the same program needs much the same columns. Their inner products with
one another are most of what a warm relaxation costs, so a path keeps them from point to point.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._array import Index
from sparsebounds.program import Program
from sparsebounds.relaxation.smooth import Smooth, smooth_part


class Workspace:
    """Columns read so far: `relax` with this as `workspace` starts from them and adds to them.

    Programs that share one have the same X, y, weights, offset, loss and intercept.
    """

    def __init__(self, program: Program) -> None:
        self.smooth: Smooth = smooth_part(program)
        self.index: Index = np.zeros(0, dtype=np.int64)

    def add(self, program: Program, features: Index) -> None:
        """Read more columns."""
        if len(features):
            self.smooth.add(program.matrix.columns(features))
            self.index = np.concatenate((self.index, features))
