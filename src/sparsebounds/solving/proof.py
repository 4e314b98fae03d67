"""From dual points and a model to their certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds.bounds import (
    WIDER,
    DualPoint,
    best_cover,
    dual_point_at,
    enclosed,
    objective_up,
)
from sparsebounds.certificates import Certificate, Leaf, Tree, leaf_claim, row_tree_bound
from sparsebounds.exact import RootProof, RowSearch, root_proof
from sparsebounds.models import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation


def certificate_from(
    program: Program,
    points: list[DualPoint],
    model: Model,
    boxes: Sequence[Vector] = (),
    convex: Program | None = None,
) -> Certificate:
    """The certificate that these dual points prove together, with the model's upper side.

    For a non-convex loss they are evaluated again on the box that the claimed value of the model
    justifies, cut by the dual vectors `boxes`. `convex` is the program on that box (`claimed_box`)
    where it is at hand.
    """
    if convex is None:
        convex = claimed_box(program, model, boxes)
    if convex is not program:
        points = [dual_point_at(convex, point.t, point.scores) for point in points]
        # At 0 the bound is the least loss on the box, which a poor dual vector may fall short of.
        points.append(dual_point_at(convex, np.zeros(program.n), np.zeros(program.m)))
    lower, duals, leaves = best_leaves(convex, points)
    return Certificate.build(program, duals, leaves, model.w, model.b, lower=lower, boxes=boxes)


def with_tree(program: Program, model: Model, tree: Tree, lower: float) -> Certificate:
    """The certificate of a tree that may claim `lower`, with the model's upper side."""
    return Certificate.build(program, (), (), model.w, model.b, lower=lower, tree=tree)


def better_rows(
    program: Program, model: Model, certificate: Certificate, rows: RowSearch
) -> Certificate:
    """The certificate of a search over rows, where that may claim more than this one.

    What a search proved may not be what its tree proves: the rounding of a node's curvature may be
    larger than that of a node above it.
    """
    if rows.lower <= certificate.lower:
        return certificate
    boxes = rows.basis.boxes
    tree, upper = rows.tree(), objective_up(program, model.w, model.b, wider=WIDER)
    lower = min(rows.lower, row_tree_bound(program, tree, upper, boxes, claim=True))
    if lower <= certificate.lower:
        return certificate
    return Certificate.build(program, (), (), model.w, model.b, lower=lower, rows=tree, boxes=boxes)


def wide_gap(program: Program, certificate: Certificate, tol: float) -> bool:
    """Whether a certificate leaves more than the tolerance."""
    return program.relative(certificate.gap, certificate.upper) > tol


def better_root(
    program: Program,
    relaxed: Relaxation,
    model: Model,
    certificate: Certificate,
    tol: float,
    deadline: Deadline,
    *,
    alone: bool = True,
) -> RootProof | None:
    """What curvature moved into the ridge proves beyond a certificate; None: nothing.

    It is `alone` where no search comes after it.
    """
    if not wide_gap(program, certificate, tol):
        return None
    goal = model.value - 0.5 * tol * program.size(model.value)
    proof = root_proof(program, relaxed, model, goal, deadline, alone=alone)
    return None if proof is None or proof.lower <= certificate.lower else proof


def claimed_box(program: Program, model: Model, boxes: Sequence[Vector]) -> Program:
    """The convex program on a box that contains the one that `verify` will find.

    A program with a convex loss is returned as it is.
    """
    if program.loss.convex:
        return program
    return enclosed(program, objective_up(program, model.w, model.b, wider=WIDER), boxes, WIDER)


def best_leaves(
    program: Program, points: list[DualPoint]
) -> tuple[float, tuple[Vector, ...], tuple[Leaf, ...]]:
    """What these dual points may claim together, the vectors it needs, and its leaves."""
    cover = best_cover(program, points)
    used = sorted(set(cover.points))
    leaves = tuple(
        Leaf(node, used.index(point)) for node, point in zip(cover.nodes, cover.points, strict=True)
    )
    duals = tuple(points[i].t for i in used)
    chosen = {place: points[i] for place, i in enumerate(used)}
    return leaf_claim(program, duals, leaves, chosen), duals, leaves


def proved(program: Program, certificate: Certificate, tol: float) -> dict[str, Any]:
    """Fields of a solution, or of a point of a path: its certificate, and what that says."""
    distance = program.relative(certificate.gap, certificate.upper)
    return {
        "certificate": certificate,
        "feature_names": program.feature_names,
        "classes": program.classes,
        "upper": certificate.upper,
        "lower": certificate.lower,
        "rel_gap": distance,
        "null_gap": program.null_share(certificate.gap, certificate.upper),
        "status": "optimal" if distance <= tol else "bounded",
    }
