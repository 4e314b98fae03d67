"""A search tree as a proof: every support is in one of its leaves, and every leaf has a bound.

A node is a set of supports. Its dual vector is a = F'(Xw + b) at coefficients w that are stored
(few), so that anyone can form it again. With it a leaf is bounded; or features are
fixed, because the bound over the node's supports with the feature the other way is high enough;
or the node is split on a feature. The smallest of all these bounds holds for the whole problem.

Before the first node some features are removed: the bound with any of them in, at one dual
vector of the whole problem, is part of the proof. The tree decides about the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import U, down, gamma
from sparsebounds.bounds import (
    Curvature,
    DualPoint,
    Exhaustion,
    GramBounds,
    Minorant,
    States,
    TooMany,
    dual_point_at,
    forced_bounds,
    forced_claims,
    node_bounds,
    repair,
    together,
    widened,
)
from sparsebounds.losses import ULPS
from sparsebounds.matrices import Matrix
from sparsebounds.program import Program

MOST_TRIED = 3e7
"""Operations that trying all supports of one leaf may take."""

BATCH = 128
"""Nodes evaluated at a time."""


class TreeError(ValueError):
    """A tree that proves nothing; the message is a clause that says why."""


@dataclass(frozen=True)
class Shift:
    """How `GramBounds` closes a leaf (squared loss only): coefficients, and the curvature that is
    moved from the loss into the ridge. Both are stored by features (places among those kept) and
    numbers; what is not named is 0."""

    support: npt.NDArray[np.int32]
    values: Vector
    shifted: npt.NDArray[np.int32]
    diagonal: Vector

    @classmethod
    def of(cls, w: Vector, diagonal: Vector) -> Shift:
        """From coefficients and a diagonal with one number per feature."""
        support, shifted = np.flatnonzero(w), np.flatnonzero(diagonal)
        return cls(
            support.astype(np.int32), w[support], shifted.astype(np.int32), diagonal[shifted]
        )

    def at(self, state: States) -> tuple[Vector, Vector]:
        """(w, diagonal) at a node; TreeError where they do not fit it."""
        w, diagonal = np.zeros(len(state)), np.zeros(len(state))
        w[self.support], diagonal[self.shifted] = self.values, self.diagonal
        if np.any(diagonal[state != 0] != 0.0) or np.any(diagonal < 0.0) or np.any(w[state < 0]):
            raise TreeError("a shifted leaf does not fit its node")
        return w, diagonal


class Visit(NamedTuple):
    """A node of a tree, as it is met on the way from the root."""

    node: int
    state: States
    """What is decided where the node begins."""

    fixed: Index
    """The features that its dual vector fixes: i is in, -1 - i is out."""

    after: States
    """What is decided with these."""

    leaf: bool


@dataclass(frozen=True)
class Tree:
    """Nodes in the order they were made. Node 0 holds every support of the features kept; the
    split number p makes nodes 1 + 2p (its feature out) and 2 + 2p (in)."""

    kept: Index
    """The features that the tree decides about, in the whole problem's numbers; ascending."""

    removal: Vector = field(repr=False)
    """The dual vector per sample that proves the other features out."""

    parent: Index = field(repr=False)
    feature: Index = field(repr=False)
    """For each split: the node, and the feature (its place among `kept`)."""

    counts: Index = field(repr=False)
    """For each node: how many coefficients its dual vector comes from; -1: it has none."""

    support: npt.NDArray[np.int32] = field(repr=False)
    values: Vector = field(repr=False)
    """Those coefficients, node after node: features (places among `kept`) and numbers."""

    intercept: Vector = field(repr=False)
    """For each node."""

    fixed_counts: Index = field(repr=False)
    fixed: Index = field(repr=False)
    """Features fixed at each node, node after node: i is in, -1 - i is out."""

    shifts: Mapping[int, Shift] = field(default_factory=dict, repr=False)
    """The leaves that a shift closes, by their nodes; what they fix comes first."""

    exhausted: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    """The leaves whose supports are all tried; what they fix comes first."""

    minorant: Minorant | None = field(default=None, repr=False)
    """The program that all nodes are about, in the place of the one on the features kept."""

    @classmethod
    def root(
        cls, kept: Index, removal: Vector, support: Index, values: Vector, minorant: Minorant
    ) -> Tree:
        """The tree of one node, whose dual vector comes from these coefficients."""
        none = np.zeros(0, dtype=np.int64)
        return cls(
            kept=kept,
            removal=removal,
            parent=none,
            feature=none,
            counts=np.array([len(support)]),
            support=support.astype(np.int32),
            values=values,
            intercept=np.zeros(1),
            fixed_counts=np.zeros(1, dtype=np.int64),
            fixed=none,
            minorant=minorant,
        )

    def reduced(self, program: Program) -> Program:
        """The program that the nodes are about."""
        part = program.restricted(self.kept)
        return part if self.minorant is None else self.minorant.program(part)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.counts)

    @property
    def leaves(self) -> int:
        """The number of nodes that were not split."""
        return self.size - len(self.parent)

    def flaw(self, free: npt.NDArray[np.bool_], always: npt.NDArray[np.bool_]) -> str | None:
        """What is wrong with the tree as such, or None."""
        kept = np.zeros(len(free), dtype=np.bool_)
        kept[self.kept] = True
        if np.any(always & ~kept) or np.any(kept & ~(free | always)):
            return "the features the tree decides about are not those of the problem"
        if self.size != 1 + 2 * len(self.parent):
            return "its nodes and splits do not match"
        places = (self.feature, self.support.astype(np.int64), self.fixed, -1 - self.fixed)
        named: Index = np.concatenate(places)
        if np.any(named >= len(self.kept)):
            return "it names a feature that it does not decide about"
        if len(np.unique(self.parent)) < len(self.parent):
            return "a node is split twice"
        if np.any(self.parent < 0) or np.any(self.parent > 2 * np.arange(len(self.parent))):
            return "a node is split before it is made"
        return None

    def nodes(self, program: Program) -> Iterator[Visit]:
        """The nodes in their order; TreeError where they are no proof."""
        split = np.full(self.size, -1, dtype=np.int64)
        split[self.parent] = np.arange(len(self.parent))
        ends = np.cumsum(self.fixed_counts)
        root: States = np.zeros(program.m, dtype=np.int8)
        root[program.always] = 1
        waiting = {0: root}
        for node in range(self.size):
            state, leaf = waiting.pop(node), bool(split[node] < 0)
            fixed = self.fixed[ends[node] - self.fixed_counts[node] : ends[node]]
            if (leaf or len(fixed)) and self.counts[node] < 0:
                raise TreeError("a node that needs a bound has no dual vector")
            after = state
            if len(fixed):
                places = np.where(fixed < 0, -1 - fixed, fixed)
                after = state.copy()
                after[places] = np.where(fixed < 0, -1, 1)
                if np.any(state[places] != 0) or np.count_nonzero(after != state) < len(places):
                    raise TreeError("a node fixes a feature that is decided already")
                after = program.groups.spread(after)
            yield Visit(node, state, fixed, after, leaf)
            if leaf:
                continue
            feature = self.feature[split[node]]
            if after[feature] != 0:
                raise TreeError("a node is split on a feature that is decided already")
            for side in (0, 1):
                child = after.copy()
                child[program.groups.whole(np.array([feature]))] = 2 * side - 1
                waiting[1 + 2 * int(split[node]) + side] = child


def tree_bound(program: Program, tree: Tree, *, claim: bool = False) -> float:
    """The lower bound that the tree proves: the smallest of its leaves' and its fixings'.

    TreeError, with a clause, where it is no proof. With `claim`, what a certificate may claim: no
    machine finds less.
    """
    flaw = tree.flaw(~program.never, program.always)
    if flaw is not None or len(program.groups.whole(tree.kept)) > len(tree.kept):
        raise TreeError(flaw or "it decides about a part of a group")
    reduced, base = program.restricted(tree.kept), 0.0
    removal = removal_bound(program, tree, claim=claim)
    if tree.minorant is not None:
        curvature = tree.minorant.curvature(reduced, tree.removal, claim=claim)
        base = -np.inf if curvature is None else tree.minorant.base(curvature, claim=claim)
        if base == -np.inf:
            raise TreeError("its minorant is not proved to lie below the problem")
        removal = min(removal, tree.minorant.level)
        reduced = tree.minorant.program(reduced)
    columns = reduced.matrix.gathered(np.arange(reduced.m))
    return min(removal, based(base, nodes_bound(reduced, columns, tree, {}, claim=claim)))


def based(base: float, bound: float) -> float:
    """A bound of the small program as one of the larger: their sum, rounded down."""
    return bound if base == 0.0 else float(down(base + bound))


def removal_bound(
    program: Program, tree: Tree, *, claim: bool, point: DualPoint | None = None
) -> float:
    """The bound over the supports with a feature that the tree does not decide about.

    `point` is the dual point at `tree.removal`, where it is at hand.
    """
    removed = program.free.copy()
    removed[tree.kept] = False
    if not removed.any():
        return np.inf
    point = dual_point_at(program, tree.removal) if point is None else point
    if claim:
        features, inside, _ = forced_claims(program, widened(program, point))
    else:
        forced = forced_bounds(program, point)
        features, inside = forced.features, forced.inside
    return float(np.min(inside[removed[features]]))


def nodes_bound(
    reduced: Program, columns: Matrix, tree: Tree, proved: Mapping[int, float], *, claim: bool
) -> float:
    """The bound over the others: on the program of the features kept, whose columns are given.

    `proved` are bounds of leaves with a shift that are at hand.
    """
    left = [shift for node, shift in tree.shifts.items() if node not in proved]
    tried = set(tree.exhausted.tolist())
    curvature = Curvature(reduced) if left or tried - proved.keys() else None
    shifted = exhaustion = None
    if curvature is not None:
        curvature.expect(sum(len(shift.diagonal) ** 2 for shift in left))
        shifted = GramBounds(reduced, curvature, claim=claim)
        exhaustion = Exhaustion(curvature, claim=claim) if tried else None
    ends = np.cumsum(np.maximum(tree.counts, 0))

    def closed(node: int, after: States) -> float:
        """The bound of a leaf that a shift, or trying all its supports, closes."""
        if node in proved:
            return proved[node]
        if node in tree.shifts:
            assert shifted is not None
            return shifted.bound(after, *tree.shifts[node].at(after))
        assert exhaustion is not None
        try:
            if exhaustion.effort(after) > MOST_TRIED:
                raise TooMany
            return exhaustion.search(after).lower
        except TooMany as end:
            raise TreeError("a leaf has too many supports to try them all") from end

    def least(batch: list[Visit]) -> float:
        """The smallest bound that these nodes contribute."""
        w = np.zeros((len(batch), reduced.m))
        for row, (node, *_) in enumerate(batch):
            part = slice(ends[node] - tree.counts[node], ends[node])
            w[row, tree.support[part]] = tree.values[part]
        b = tree.intercept[[visit.node for visit in batch]]
        t = dual_vectors(reduced, columns, w, b)
        slip = dual_slips(reduced, columns, w, b, t) if claim else None
        bounds = node_bounds(reduced, t, np.stack([visit.state for visit in batch]), slip)
        found = np.inf
        for row, (node, _, fixed, after, leaf) in enumerate(batch):
            lower, special = float(bounds.lower[row]), node in tree.shifts or node in tried
            if not leaf or special:
                inside, outside = fixed[fixed >= 0], -1 - fixed[fixed < 0]
                for forced, features in ((bounds.outside, inside), (bounds.inside, outside)):
                    found = min(found, float(np.min(forced[row, features], initial=np.inf)))
            if leaf and special:
                # The node's own dual vector is a bound too, weaker where the other is sound.
                lower = max(closed(node, after), lower)
            found = min(found, lower) if leaf else found
        return found

    lower, batch, most = np.inf, [], together(reduced, BATCH)
    for visit in tree.nodes(reduced):
        if visit.leaf or len(visit.fixed):
            batch.append(visit)
        if len(batch) == most:
            lower, batch = min(lower, least(batch)), []
    return min(lower, least(batch)) if batch else lower


def dual_vectors(program: Program, columns: Matrix, w: Vector, b: Vector) -> Vector:
    """The dual vector per sample at every row of w: F'(Xw + b), repaired."""
    t = _gradients(program, _predictions(program, columns, w, b))
    if program.fit_intercept:
        return np.stack([repair(program, row) for row in t])
    return repair(program, t)


def dual_slips(program: Program, columns: Matrix, w: Vector, b: Vector, t: Vector) -> Vector:
    """Bounds of what `dual_vectors` elsewhere may differ by from these, t, entry by entry.

    Predictions depend on the order of their sums, the gradient follows them, and repairing it for
    an intercept takes sums again. Twice of everything: neither side is exact.
    """
    loss, y, p = program.loss, program.y, program.F.p
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        z = _predictions(program, columns, w, b)
        slip = _predictions(program, columns, w, b, np.abs)
        slip *= 2.0 * gamma(w.shape[1] + 8)
        bend: Any = loss.smoothness
        if np.isnan(bend):
            bend = np.maximum(loss.curvature(y, z - slip), loss.curvature(y, z + slip))
        raw = _gradients(program, z)
        slip = bend * slip + 4.0 * ULPS * U * (np.abs(raw) + np.abs(y))
        if program.fit_intercept:
            size = np.abs(loss.clip(y, raw))
            mean = (slip @ p)[:, None]
            # Balancing takes the mean away, or scales one sign by a quotient of two sums; twice.
            share = np.minimum(8.0 * mean / np.maximum(0.5 * (size @ p)[:, None], mean), 1.0)
            slip += 4.0 * mean + share * size
            slip += 64.0 * U * (size + (size @ p)[:, None]) + _last_moves(program, t)
    return np.where(np.isnan(slip), np.inf, slip)


def _last_moves(program: Program, t: Vector) -> Vector:
    """How far the last steps of `repair` may move entries: one takes up what is left of the sum."""
    size, weights = np.abs(t), program.weights
    if program.data.equal is not None:
        most = np.max(size, axis=1, keepdims=True)
        grid = 2.0**-49 * most
        taken = np.where(size >= most - 4.0 * program.n * grid, 2.0 * program.n * grid, 0.0)
        return np.asarray(4.0 * grid + taken)
    parts = size * weights
    left = 64.0 * U * np.sum(parts, axis=1, keepdims=True)
    least = np.min(np.where(parts > 0.0, parts, np.inf), axis=1, keepdims=True)
    return np.where(parts <= 2.0 * least + left, left / weights, 0.0)


def _predictions(
    program: Program,
    columns: Matrix,
    w: Vector,
    b: Vector,
    size: Callable[[Vector], Vector] = np.asarray,
) -> Vector:
    """Xw + b and the offset, for every row of w; with `size` np.abs, their terms' magnitudes."""
    used = np.flatnonzero(np.any(w != 0.0, axis=0))
    some, z = size(w[:, used]), np.empty((len(w), program.n))
    for rows, block in columns.row_blocks(used):
        np.matmul(some, size(block).T, out=z[:, rows])
    z += size(b)[:, None]
    return z if program.offset is None else z + size(program.offset)


def _gradients(program: Program, z: Vector) -> Vector:
    with np.errstate(over="ignore", invalid="ignore"):
        t = program.loss.gradient(program.y, z)
    return np.where(np.isnan(t), 0.0, t)
