"""The relaxation: the convex bidual of a sparse program, solved in a handful of passes."""

from __future__ import annotations

from sparsebounds.relaxation.ball import solve_ball as solve_ball
from sparsebounds.relaxation.cardinality import dual_points
from sparsebounds.relaxation.compressed import compressed as compressed
from sparsebounds.relaxation.compressed import intercept_at as intercept_at
from sparsebounds.relaxation.compressed import tall_part as tall_part
from sparsebounds.relaxation.diagonal import best_diagonal as best_diagonal
from sparsebounds.relaxation.diagonal import central_diagonal as central_diagonal
from sparsebounds.relaxation.diagonal import minorant_at as minorant_at
from sparsebounds.relaxation.general_part import least_bend as least_bend
from sparsebounds.relaxation.gram_part import GramPart as GramPart
from sparsebounds.relaxation.newton import newton as newton
from sparsebounds.relaxation.newton import newton_point as newton_point
from sparsebounds.relaxation.points import SmoothPoint as SmoothPoint
from sparsebounds.relaxation.points import SmoothPoints as SmoothPoints
from sparsebounds.relaxation.progress import Progress
from sparsebounds.relaxation.region import region_at as region_at
from sparsebounds.relaxation.relax import RelaxationWarning, relax
from sparsebounds.relaxation.relax import relaxation_of as relaxation_of
from sparsebounds.relaxation.result import Relaxation, RelaxationStats
from sparsebounds.relaxation.row_shares import Effort as Effort
from sparsebounds.relaxation.row_shares import best_shares as best_shares
from sparsebounds.relaxation.row_spans import Ends as Ends
from sparsebounds.relaxation.row_spans import Reaching as Reaching
from sparsebounds.relaxation.row_spans import wanted as wanted
from sparsebounds.relaxation.rows import Node as Node
from sparsebounds.relaxation.rows import node_penalty as node_penalty
from sparsebounds.relaxation.rows import relaxed_node as relaxed_node
from sparsebounds.relaxation.sample import sampled as sampled
from sparsebounds.relaxation.sparse_part import smooth_part as smooth_part
from sparsebounds.relaxation.sparse_part import working_part as working_part
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
