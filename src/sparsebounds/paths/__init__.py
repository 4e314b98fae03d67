"""path: models and bounds along a grid of k or l0, every point certified."""

from __future__ import annotations

from sparsebounds.paths.call import path, path_of
from sparsebounds.paths.result import Path, PathPoint
from sparsebounds.paths.walk import PathProgress

__all__ = ["Path", "PathPoint", "PathProgress", "path", "path_of"]
