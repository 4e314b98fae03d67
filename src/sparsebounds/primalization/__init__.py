"""Primalization: from relaxed weights to binary ones, and how much that can cost."""

from __future__ import annotations

from sparsebounds.primalization.gap import GapBound, GapBounds, gap_bounds
from sparsebounds.primalization.primalize import primalize
from sparsebounds.primalization.result import Primalization
from sparsebounds.primalization.rounding import primalized_supports

__all__ = [
    "GapBound",
    "GapBounds",
    "Primalization",
    "gap_bounds",
    "primalize",
    "primalized_supports",
]
