"""Models that a search over rows meets: local optima on what its relaxed points suggest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds.bounds import RowBounds
from sparsebounds.fitting import Model, local_refit
from sparsebounds.relaxation import Node

DIGEST = 16
"""Bytes that stand for a support with its inliers."""


class RowModels:
    """Fits models, each support with its inliers once; `take` is given them and their supports."""

    def __init__(self, bounds: RowBounds, take: Callable[[Model, Index], None]) -> None:
        self.bounds, self.program, self._take = bounds, bounds.program, take
        self.met = set[bytes]()
        """The digests of what was fitted."""

    def suggested(self, node: Node) -> None:
        """Fit the model that a relaxed point suggests."""
        program, w = self.program, node.w
        size = np.abs(w) * np.sqrt(self.bounds.own)
        chosen = np.flatnonzero((w != 0.0) & program.free)
        if program.k is not None and len(chosen) > program.k:
            chosen = chosen[np.argsort(-size[chosen], kind="stable")[: program.k]]
        self.fit(chosen, node)

    def fit(self, chosen: Index, node: Node) -> None:
        """Fit a local optimum on some features and those always in, from a node's residuals."""
        program, r = self.program, self.bounds.residuals(node.w, node.b)
        support = np.union1d(chosen, np.flatnonzero(program.always)).astype(np.int64)
        key = support.tobytes() + np.packbits(np.abs(r) < self.bounds.c).tobytes()
        digest = hashlib.blake2b(key, digest_size=DIGEST).digest()
        if digest in self.met:
            return
        self.met.add(digest)
        columns = np.ascontiguousarray(self.bounds.rows[support].T)
        self._take(local_refit(program, support, columns, [r + self.bounds.target]), support)
