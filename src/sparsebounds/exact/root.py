"""The bound at the root with the best diagonal moved into the ridge: a tree of one node.

It takes a few relaxations on the features that the first one leaves, and no search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import HOST, Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.bounds import Curvature
from sparsebounds.certificates import Tree, based, nodes_bound, removal_bound
from sparsebounds.exact.reduction import LARGE, features_left, few, has_room
from sparsebounds.models import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import GramPart, Relaxation, best_diagonal, minorant_at, newton

INACTIVE = 1e-9
"""A multiplier of the ball below this, next to the least curvature of a column, counts as 0."""

MOST_WORK = 6e9
"""Products that the curvature may take: about a second."""


@dataclass(frozen=True)
class RootProof:
    """The tree of one node, and the bound that it may claim."""

    tree: Tree
    lower: float


# Overflow far from the solution is an infinite value, not news for the user.
@np.errstate(all="ignore")
def root_proof(
    program: Program,
    relaxed: Relaxation,
    model: Model,
    goal: float,
    deadline: Deadline = NEVER,
    *,
    alone: bool = True,
) -> RootProof | None:
    """The bound that a diagonal proves, as near to `goal` as it comes.

    None where there is no curvature to move, or no time; or where a search that comes after it (it
    is not `alone`) will try all supports.
    """
    if not Curvature.known(program) or program.never.all() or program.matrix.entries > LARGE:
        return None
    kept = features_left(program, relaxed.point, model.value)
    count = len(kept)
    if not has_room(program, count) or (few(program, kept) and not alone):
        return None
    # Forming the curvature, and factoring it a few times.
    work = float(program.n) * count**2 + 40.0 * count**3
    if work > MOST_WORK or deadline.late(scan=4.0 * count / program.m, product=work):
        return None
    part = program.restricted(kept)
    smooth = GramPart(part, HOST)
    smooth.add(part.matrix.columns(np.arange(count)))
    curvature = Curvature(part, gram=smooth.gram)
    eta = None if program.ball is None else relaxed.eta
    if eta is not None and not eta > INACTIVE * float(np.max(curvature.spread, initial=0.0)):
        return None
    # The multiplier of the ball counts as a ridge, less a constant.
    fixed = 0.0 if eta is None or program.ball is None else 0.5 * eta * program.ball
    value, diagonal, w = best_diagonal(
        part, smooth, curvature, relaxed.w[kept], lambda bound: bound - fixed >= goal, eta
    )
    if not value - fixed > relaxed.lower:
        return None
    minorant = minorant_at(curvature, diagonal, eta or 0.0)
    if minorant is None:
        return None
    small = minorant.program(part)
    w = _settled(small, w)
    support = np.flatnonzero(w)
    tree = Tree.root(kept, relaxed.point.t, support, w[support], minorant)
    base = minorant.base(curvature, claim=True)
    columns = small.matrix.columns(np.arange(count))
    removal = removal_bound(program, tree, claim=True, point=relaxed.point)
    lower = min(removal, based(base, nodes_bound(small, columns, tree, {}, claim=True)))
    return RootProof(tree, lower) if lower > relaxed.lower else None


def _settled(small: Program, w: Vector) -> Vector:
    """The relaxed solution of the small program, from one nearby."""
    smooth = GramPart(small, HOST)
    smooth.add(small.matrix.columns(np.arange(small.m)))
    scale = abs(small.null)
    return newton(
        smooth, small.penalty(), smooth.at(w, 0.0), 1e-9 * scale, scale, most_steps=100
    ).best.w
