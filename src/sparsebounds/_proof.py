"""From dual points and a model to their certificate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsebounds._array import Vector
from sparsebounds.bounds import DualPoint, best_cover, dual_point_at, enclosed
from sparsebounds.certificates import Certificate, Leaf
from sparsebounds.models import Model
from sparsebounds.program import Program


def certificate_from(
    program: Program, points: list[DualPoint], model: Model, boxes: Sequence[Vector] = ()
) -> Certificate:
    """The certificate that these dual points prove together, with the model's upper side.

    For a non-convex loss they are evaluated again on the box that the model's value justifies, cut
    by the dual vectors `boxes`: the box that whoever verifies arrives at.
    """
    convex = enclosed(program, model.value, boxes)
    if convex is not program:
        # At 0 the bound is the least loss on the box, which a poor dual vector may fall short of.
        vectors = [*(point.t for point in points), np.zeros(program.n)]
        points = [dual_point_at(convex, t) for t in vectors]
    cover = best_cover(convex, points)
    used = sorted(set(cover.points))
    leaves = [
        Leaf(node, used.index(point)) for node, point in zip(cover.nodes, cover.points, strict=True)
    ]
    duals = [points[i].t for i in used]
    return Certificate.build(
        program, duals, leaves, model.w, model.b, lower=cover.lower, boxes=boxes
    )
