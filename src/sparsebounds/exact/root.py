"""The bound at the root with the best diagonal moved into the ridge: a tree of one node.

It takes a few relaxations on the features that the first one leaves, and no search. Losses other
than the squared one have curvature on a region of models up to a level, and then the bound is the
smaller of the level and what the curvature proves. The best level is where both are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebounds._support.array import HOST, Index, Vector, nonzeros
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.bounds import Curvature, Region, dual_point_at
from sparsebounds.certificates import Tree, based, nodes_bound, removal_bound
from sparsebounds.exact.reduction import LARGE, features_left, few, has_room
from sparsebounds.models import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import (
    GramPart,
    Relaxation,
    best_diagonal,
    compressed,
    minorant_at,
    newton,
    region_at,
)

INACTIVE = 1e-9
"""A multiplier of the ball below this, next to the least curvature of a column, counts as 0."""

MOST_WORK = 6e9
"""Products that the curvature may take: about a second."""

LENT = 0.9
"""The part of its ridge that a feature lends to the curvature on a region: that may be singular."""

FIRST, NEXT = 0.5, 0.22
"""The first level, as a part of the way from the lower to the upper bound; and the second, as a
part of the way from what the first one proves to that level."""

NEAR, LITTLE, SAFE = 0.06, 0.01, 0.01
"""Parts of the gap. There is no second level where the first one is so near to what it proves, or
where that is so little more than the relaxation proves. At the second level a bound that exceeds
it by the part SAFE, or is so near to the best one, is enough."""

REGIONS, ROW = 12.0, 1000.0
"""Times that the curvature is formed on the way to a region, about; and what the loss of one row
takes each time, in products."""


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
    if program.never.all() or program.matrix.entries > LARGE:
        return None
    if Region.known(program):
        return _by_levels(program, relaxed, model.value, goal, deadline)
    if not Curvature.known(program):
        return None
    kept = features_left(program, relaxed.point, model.value)
    if (few(program, kept) and not alone) or not _affordable(program, len(kept), 1.0, deadline):
        return None
    part = program.restricted(kept)
    smooth = _gram_part(compressed(part) or part)
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
    proof = _proof(program, relaxed, kept, curvature, diagonal, w, eta or 0.0)
    return proof if proof is not None and proof.lower > relaxed.lower else None


def _by_levels(
    program: Program, relaxed: Relaxation, upper: float, goal: float, deadline: Deadline
) -> RootProof | None:
    """The better proof of two levels; None where neither has one."""
    lower, gap = relaxed.lower, upper - relaxed.lower
    level = lower + FIRST * gap
    tried = [_at_level(program, relaxed, level, goal, 2.0 * SAFE * gap, deadline)]
    inner = lower if tried[0] is None else tried[0].inner
    near = abs(level - inner) <= NEAR * gap
    useless = tried[0] is not None and inner - lower < LITTLE * gap
    if not (near or useless or min(level, inner) >= goal):
        level = inner + NEXT * (level - inner)
        enough = min(goal, level + SAFE * gap)
        tried.append(_at_level(program, relaxed, level, enough, SAFE * gap, deadline, tried[0]))
    for found in sorted(filter(None, tried), key=lambda one: -one.lower):
        proof = found.proof(program, relaxed)
        if proof is not None and proof.lower > lower:
            return proof
    return None


@dataclass(frozen=True)
class _Found:
    """A diagonal on a region, and what its curvature proves there, to a few digits."""

    kept: Index
    region: Region
    curvature: Curvature
    diagonal: Vector
    w: Vector
    inner: float

    @property
    def lower(self) -> float:
        return min(self.region.level, self.inner)

    def proof(self, program: Program, relaxed: Relaxation) -> RootProof | None:
        return _proof(
            program, relaxed, self.kept, self.curvature, self.diagonal, self.w, 0.0, self.region
        )


def _at_level(
    program: Program,
    relaxed: Relaxation,
    level: float,
    enough: float,
    within: float,
    deadline: Deadline,
    other: _Found | None = None,
) -> _Found | None:
    """A diagonal on the region of the models up to a level; None where it proves nothing new.

    A bound that is `enough`, or `within` so much of the best one, ends the work. `other` is what
    was found at another level.
    """
    left = np.zeros(program.m, dtype=np.bool_)
    left[features_left(program, relaxed.point, level)] = True
    left[program.groups.whole(nonzeros(relaxed.w))] = True
    kept = np.flatnonzero(left)
    if not level > relaxed.lower or not _affordable(program, len(kept), REGIONS, deadline):
        return None
    part, t = program.restricted(kept), relaxed.point.t
    w, b = relaxed.w[kept], relaxed.b
    lent, near = LENT * part.ridges, None
    bend = None if other is None else other.region.bend
    if other is not None and level < other.region.level and np.isin(kept, other.kept).all():
        # On a smaller region the loss has more curvature.
        near = other.diagonal[np.searchsorted(other.kept, kept)] + lent
    point = dual_point_at(part, t)
    region = region_at(part, point, w, b, level, bend)
    if region is None:
        return None
    curvature = region.curvature(part, t, claim=True, point=point)
    if curvature is None:
        return None
    first = minorant_at(curvature, -lent)
    if first is None:
        return None
    # A minorant that leaves the ridge its smallest part is a squared loss to begin with.
    small, base = first.program(part), first.base(curvature, proof=False)
    smooth = _gram_part(small)
    value, diagonal, w = best_diagonal(
        small,
        smooth,
        Curvature(small, gram=smooth.gram),
        w,
        lambda bound: bound + base >= enough,
        within=within,
        near=near,
    )
    if not value + base > relaxed.lower:
        return None
    return _Found(kept, region, curvature, diagonal - lent, w, value + base)


def _affordable(program: Program, count: int, times: float, deadline: Deadline) -> bool:
    """Whether there is room and time for the curvature of so many features."""
    # Forming it, so many times, with the losses of all rows, and factoring it a few times.
    work = float(program.n) * (times * count**2 + (times - 1.0) * ROW) + 40.0 * count**3
    late = deadline.late(scan=4.0 * count / program.m, product=work)
    return has_room(program, count) and work <= MOST_WORK and not late


def _proof(
    program: Program,
    relaxed: Relaxation,
    kept: Index,
    curvature: Curvature,
    diagonal: Vector,
    w: Vector,
    eta: float,
    region: Region | None = None,
) -> RootProof | None:
    """The proof with this diagonal; w is nearly the relaxed solution of its minorant."""
    minorant = minorant_at(curvature, diagonal, eta)
    if minorant is None:
        return None
    small = minorant.program(curvature.program)
    w = _settled(small, w)
    support = nonzeros(w)
    minorant = replace(minorant, region=region)
    tree = Tree.root(kept, relaxed.point.t, support, w[support], minorant)
    base = minorant.base(curvature, claim=True)
    columns = small.matrix.gathered(np.arange(small.m))
    removal = removal_bound(program, tree, claim=True, point=relaxed.point)
    inner = based(base, nodes_bound(small, columns, tree, {}, claim=True))
    return RootProof(tree, min(removal, minorant.level, inner))


def _gram_part(program: Program) -> GramPart:
    """The smooth part of a squared loss on all features."""
    smooth = GramPart(program, HOST)
    smooth.add(program.matrix.columns(np.arange(program.m)))
    return smooth


def _settled(small: Program, w: Vector) -> Vector:
    """The relaxed solution of the small program, from one nearby."""
    smooth, scale = _gram_part(small), abs(small.null)
    return newton(
        smooth, small.penalty(), smooth.at(w, 0.0), 1e-9 * scale, scale, most_steps=100
    ).best.w
