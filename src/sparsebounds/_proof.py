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
    program: Program,
    points: list[DualPoint],
    model: Model,
    boxes: Sequence[Vector] = (),
    convex: Program | None = None,
) -> Certificate:
    """The certificate that these dual points prove together, with the model's upper side.

    For a non-convex loss they are evaluated again on the box that the model's value justifies, cut
    by the dual vectors `boxes`: the box that whoever verifies arrives at. `convex` is the program
    on that box where it is at hand.
    """
    if convex is None:
        convex = enclosed(program, model.value, boxes)
    if convex is not program:
        points = [dual_point_at(convex, point.t, point.scores) for point in points]
        # At 0 the bound is the least loss on the box, which a poor dual vector may fall short of.
        points.append(dual_point_at(convex, np.zeros(program.n), np.zeros(program.m)))
    lower, duals, leaves = best_leaves(convex, points)
    return Certificate.build(program, duals, leaves, model.w, model.b, lower=lower, boxes=boxes)


def best_leaves(
    program: Program, points: list[DualPoint]
) -> tuple[float, tuple[Vector, ...], tuple[Leaf, ...]]:
    """The best bound of these dual points together, the vectors it needs, and its leaves."""
    cover = best_cover(program, points)
    used = sorted(set(cover.points))
    leaves = tuple(
        Leaf(node, used.index(point)) for node, point in zip(cover.nodes, cover.points, strict=True)
    )
    return cover.lower, tuple(points[i].t for i in used), leaves
