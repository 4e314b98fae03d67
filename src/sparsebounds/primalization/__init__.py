"""Primalization: from relaxed weights to binary ones, and how much that can cost."""

from __future__ import annotations

from sparsebounds.primalization.gap import GapBound, GapBounds, gap_bounds
from sparsebounds.primalization.primalize import paper_models as paper_models
from sparsebounds.primalization.primalize import primalize
from sparsebounds.primalization.result import Primalization
from sparsebounds.primalization.rounding import primalized_supports
from sparsebounds.primalization.ties import tied_point as tied_point
from sparsebounds.primalization.vertex import basis as basis
from sparsebounds.primalization.vertex import vertex as vertex

__all__ = [
    "GapBound",
    "GapBounds",
    "Primalization",
    "gap_bounds",
    "primalize",
    "primalized_supports",
]
