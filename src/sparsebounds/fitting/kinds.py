"""Responses of which there are few: classes, and small counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.losses import MeanLoss

KINDS, GLANCE = 16, 1000
"""Values that are few, and entries that show whether they are."""

FEWER = 2
"""Rows that are not alike are worth gathering where so many times as many are."""


@dataclass(frozen=True)
class Kinds:
    """The values of an array that has few, and which of them each entry is."""

    values: Vector
    kind: Index

    @classmethod
    def of(cls, array: Vector) -> Self | None:
        """Those of an array; None where its entries have more than few values."""
        if len(np.unique(array.ravel()[:GLANCE])) > KINDS:
            return None
        values = np.unique(array)
        if len(values) > KINDS:
            return None
        return cls(values, np.searchsorted(values, array).astype(np.uint8))

    @classmethod
    def responses(cls, F: MeanLoss) -> Self | None:
        """Those of a data term; None where rows differ in more than few responses."""
        return None if F.offset is not None else cls.of(F.y)

    def at(self, some: Index) -> Kinds:
        """Some of the entries."""
        return Kinds(self.values, self.kind[some])
