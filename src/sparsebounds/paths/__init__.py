"""path: models and bounds along a grid of k or l0, every point certified."""

from __future__ import annotations

from sparsebounds.paths.call import budgets as budgets
from sparsebounds.paths.call import path
from sparsebounds.paths.call import path_around as path_around
from sparsebounds.paths.call import plain_path as plain_path
from sparsebounds.paths.call import prices as prices
from sparsebounds.paths.course import PathProgress
from sparsebounds.paths.plot import AXES as AXES
from sparsebounds.paths.plot import MEMBERS as MEMBERS
from sparsebounds.paths.plot import MOST_NAMES as MOST_NAMES
from sparsebounds.paths.plot import entry_order as entry_order
from sparsebounds.paths.plot import members as members
from sparsebounds.paths.plot import places as places
from sparsebounds.paths.plot import program_coefs as program_coefs
from sparsebounds.paths.result import CertifiedPoint as CertifiedPoint
from sparsebounds.paths.result import Path, PathPoint
from sparsebounds.paths.result import changes as changes
from sparsebounds.paths.result import printed as printed
from sparsebounds.paths.solution import through as through

__all__ = ["Path", "PathPoint", "PathProgress", "path"]
