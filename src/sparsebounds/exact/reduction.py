"""The program that a search runs on: without features that the relaxation rules out, and with
curvature moved into the ridge where that is possible (`bounds.minorant`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds.bounds import Curvature, DualPoint, Minorant, can_be_tried, effort, forced_bounds
from sparsebounds.certificates import Tree
from sparsebounds.exact.ball import BallBounder
from sparsebounds.exact.bounder import Bounder
from sparsebounds.exact.ridge import ROOM, RidgeBounder, most_tried
from sparsebounds.models import Model, refit
from sparsebounds.program import Program
from sparsebounds.relaxation import central_diagonal, minorant_at, smooth_part

MOST = 500
"""Features of which a minorant is made at most: it takes the cube of their number."""

LARGE = 2.5e8
"""Entries of X beyond which nothing is proved unasked but by the relaxation: the features that are
left may be few, but reading their columns takes passes over all of X."""

FEW = 0.9
"""A minorant is made where fewer features than this part of the rows are left."""


def kept_without(program: Program, ruled_out: Index) -> Index:
    """The features that are allowed and not ruled out: at least one, as no matrix is empty."""
    out, groups = np.zeros(program.m, dtype=np.bool_), program.groups
    out[groups.whole(ruled_out)] = True
    if out[~program.never].all():
        out[groups.whole(np.flatnonzero(program.free)[:1])] = False
    return np.flatnonzero(~(out | program.never))


def require_time(program: Program, count: int, deadline: Deadline) -> None:
    """TimeUp where there is no time to begin a search on so many features of a program."""
    products = smooth_part(program).price(count)
    # Their columns are copied a few times.
    deadline.require(scan=4.0 * count / program.m, product=products)


def bounder_of(reduced: Program, price: float, deadline: Deadline) -> Bounder:
    """The bounder for the form of a program."""
    kind = RidgeBounder if reduced.ball is None else BallBounder
    return kind(reduced, price, deadline)


def on_kept(model: Model, kept: Index) -> Model:
    """A model, all of whose features are kept, on these alone."""
    return replace(model, w=model.w[kept])


def on_all(model: Model, kept: Index, m: int) -> Model:
    """A model of the features kept as one of all m features."""
    w = np.zeros(m)
    w[kept] = model.w
    return replace(model, w=w)


def features_left(program: Program, point: DualPoint, level: float) -> Index:
    """The features that a model of at most this value may have, as a dual point proves it."""
    forced = forced_bounds(program, point)
    return kept_without(program, forced.features[forced.inside > level])


def few(program: Program, kept: Index) -> bool:
    """Whether the supports among these features are so few that all are tried at once, unasked."""
    if not can_be_tried(program):
        return False
    assert program.k is not None
    groups = int(program.free[kept].sum())
    return effort(program.k, groups, len(kept)) <= most_tried(len(kept), ROOM)


def has_room(program: Program, count: int) -> bool:
    """Whether features are few enough for a minorant, next to the rows and for its price."""
    return count <= MOST and count <= FEW * program.n


@dataclass(frozen=True, eq=False)
class Reduction:
    """A program, and the smaller one in its place."""

    whole: Program
    part: Program
    """The program on the features kept."""

    kept: Index
    removal: Vector
    """The dual vector per sample that proves the other features out."""

    minorant: Minorant | None = None
    base: float = 0.0
    """What is added to the values of the smaller program."""

    @classmethod
    def at(
        cls, whole: Program, kept: Index, removal: Vector, model: Model, most_lost: float
    ) -> Reduction:
        """On the features kept, with a part of their curvature in the ridge.

        Without, where the value of a model would lose more than `most_lost` by rounding, and with a
        ball, whose nodes need multipliers of their own.
        """
        found = cls(whole, whole.restricted(kept), kept, removal)
        curved = Curvature.known(whole) and whole.ball is None
        tried = few(whole, kept) and not whole.matrix.tall
        if not curved or not has_room(whole, len(kept)) or tried:
            return found
        curvature = Curvature(found.part)
        if not np.all(np.isfinite(curvature.gram)) or not np.isin(model.support, kept).all():
            return found
        diagonal = central_diagonal(curvature, found.part.ridges)
        minorant = None if diagonal is None else minorant_at(curvature, diagonal)
        if minorant is None:
            return found
        small = replace(found, minorant=minorant, base=minorant.base(curvature, claim=True))
        value = small.program.objective(model.w[kept]) + small.base
        return small if model.value - value <= most_lost else found

    @classmethod
    def of(cls, whole: Program, tree: Tree) -> Reduction:
        """That of a search whose tree was saved."""
        part = whole.restricted(tree.kept)
        base = 0.0
        if tree.minorant is not None:
            base = tree.minorant.base(Curvature(part), claim=True)
        return cls(whole, part, tree.kept, tree.removal, tree.minorant, base)

    @cached_property
    def program(self) -> Program:
        """The smaller program."""
        return self.part if self.minorant is None else self.minorant.program(self.part)

    def inward(self, model: Model) -> Model:
        """A model, all of whose features are kept, as one of the smaller program."""
        b = model.b if self.minorant is None else 0.0
        return replace(model, w=model.w[self.kept], b=b, value=model.value - self.base)


def outward(whole: Program, tree: Tree, model: Model) -> Model:
    """A model of the program that the nodes of a tree are about, as one of the whole."""
    if tree.minorant is None:
        return on_all(model, tree.kept, whole.m)
    return refit(whole, tree.kept[model.support])
