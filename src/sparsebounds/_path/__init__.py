"""path: models and bounds along a grid of k or l0, every point certified."""

from __future__ import annotations

from sparsebounds._path.call import path, path_of
from sparsebounds._path.result import Path, PathPoint
from sparsebounds._path.walk import PathProgress

__all__ = ["Path", "PathPoint", "PathProgress", "path", "path_of"]
