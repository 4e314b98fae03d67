"""The relaxation: the convex bidual of a sparse program, solved in a handful of passes."""

from __future__ import annotations

from sparsebounds.relaxation.cardinality import dual_points
from sparsebounds.relaxation.progress import Progress
from sparsebounds.relaxation.relax import RelaxationWarning, relax
from sparsebounds.relaxation.result import Relaxation, RelaxationStats
from sparsebounds.relaxation.workspace import Workspace

__all__ = [
    "Progress",
    "Relaxation",
    "RelaxationStats",
    "RelaxationWarning",
    "Workspace",
    "dual_points",
    "relax",
]
