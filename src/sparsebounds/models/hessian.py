"""H = A A^T - mass c c^T, whose rows are formed when they are asked for.

A has a row per feature of the pool. A descent of a few swaps needs the rows of the features that
are in the support, or come into it: a small part of all products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.linear import product


class Hessian:
    """The products of all pairs of rows, which are the caller's no longer; c with its mass."""

    def __init__(self, rows: Vector, mean: Vector, mass: float) -> None:
        self._rows, self._mean, self._mass = rows, mean, mass
        self._diagonal: Vector = np.einsum("ij,ij->i", rows, rows) - mass * mean**2
        self._formed: Mask = np.zeros(len(rows), dtype=np.bool_)
        self._values = np.empty((len(rows), len(rows)))

    def diagonal(self) -> Vector:
        """The curvature of each feature."""
        return self._diagonal

    def scaled(self, unit: Vector) -> Hessian:
        """The same in other units of the features; in the place of this one."""
        self._rows *= unit[:, None]
        return Hessian(self._rows, self._mean * unit, self._mass)

    def __getitem__(self, key: Any) -> Any:
        """As of an array: some rows, or (rows, columns)."""
        asked = np.zeros(len(self._formed), dtype=np.bool_)
        asked[key[0] if isinstance(key, tuple) else key] = True
        fresh = (asked > self._formed).nonzero()[0]
        if len(fresh):
            found = product(self._rows[fresh], self._rows.T)
            if self._mass:
                found -= (self._mass * self._mean[fresh])[:, None] * self._mean
            self._values[fresh] = found
            self._formed[fresh] = True
        return self._values[key]
