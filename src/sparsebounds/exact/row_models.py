"""Models that a search over rows meets: local optima on what its relaxed points suggest."""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds.bounds import RowBounds
from sparsebounds.fitting import Model, local_refit
from sparsebounds.relaxation import Node


class RowModels:
    """The best model so far, and what was tried."""

    def __init__(self, bounds: RowBounds, best: Model) -> None:
        self.bounds, self.program, self.best = bounds, bounds.program, best
        self._tried: set[bytes] = set()

    def offer(self, node: Node) -> None:
        """Try the model that a relaxed point suggests."""
        program, w = self.program, node.w
        size = np.abs(w) * np.sqrt(self.bounds.own)
        chosen = np.flatnonzero((w != 0.0) & program.free)
        if program.k is not None and len(chosen) > program.k:
            chosen = chosen[np.argsort(-size[chosen], kind="stable")[: program.k]]
        self.fit(chosen, node)

    def fit(self, chosen: Index, node: Node) -> None:
        """A local optimum on some features and those always in, from a node's residuals.

        Once for each set of inliers.
        """
        program, r = self.program, self.bounds.residuals(node.w, node.b)
        support = np.union1d(chosen, np.flatnonzero(program.always)).astype(np.int64)
        key = support.tobytes() + np.packbits(np.abs(r) < self.bounds.c).tobytes()
        if key in self._tried:
            return
        self._tried.add(key)
        columns = np.ascontiguousarray(self.bounds.rows[support].T)
        target = program.y if program.offset is None else program.y - program.offset
        self.take(local_refit(program, support, columns, [r + target]), support)

    def take(self, model: Model, support: Index) -> None:
        """Keep a model with this support, or a smaller one, if it is the best."""
        if model.value < self.best.value:
            self.best = model
