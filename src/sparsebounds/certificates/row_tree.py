"""A search tree for the truncated loss as a proof (`bounds.rows`).

Each split halves a node by one switch: a feature out or in, a side of a row, a cut of the
intercept. So every model is in one of the leaves, and each leaf is bounded at a point: coefficients
and what is lent to the loss there. The smallest of these bounds holds for the whole problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import (
    Lent,
    Round,
    RowBounds,
    States,
    Switches,
    outer_range,
    with_rounds,
)
from sparsebounds.certificates.tree import TreeError
from sparsebounds.losses import Truncated
from sparsebounds.program import Program


@dataclass(frozen=True, eq=False)
class SpanProof:
    """Rounds that narrow the spans of the models of a node (`bounds.row_spans`)."""

    scope: States
    rounds: tuple[tuple[int, Round], ...]
    """Each with the row of `theta` that it goes with."""


class RowLeaf(NamedTuple):
    """A leaf of a tree, with the bound at its point."""

    node: int
    state: States
    point: int
    w: Vector
    lower: float


@dataclass(frozen=True, eq=False)
class RowTree:
    """Nodes in the order they were made: split number p makes nodes 1 + 2p (-1) and 2 + 2p (+1)."""

    kept: Index
    """The features that are allowed, in the whole problem's numbers; ascending."""

    cuts: Vector = field(repr=False)
    """Intercepts that nodes are split at, ascending."""

    eta: float
    """The multiplier of the ball; 0 where there is none."""

    parent: Index = field(repr=False)
    switch: Index = field(repr=False)
    """For each split: the node, and the switch."""

    points: Index = field(repr=False)
    """For each node: the point that bounds it; -1 where it is split."""

    scope: Index = field(repr=False)
    """For each leaf: the node whose loss bounds it, itself or one above it."""

    counts: Index = field(repr=False)
    support: npt.NDArray[np.int32] = field(repr=False)
    values: Vector = field(repr=False)
    intercept: Vector = field(repr=False)
    """For each point: its coefficients (places among `kept`), point after point."""

    lent: Index = field(repr=False)
    """For each point: the row of `theta` that it goes with."""

    theta: Vector = field(repr=False)
    shares: Vector = field(repr=False)
    etas: Vector = field(repr=False)
    middles: Vector = field(repr=False)
    """What is lent: by the rows of the data, by the ridges, and by the range of the intercept."""

    sparse: Index = field(repr=False)
    """1 where open features lend by supports, and else 0."""

    spans: tuple[SpanProof, ...] = field(default=(), repr=False)
    """What is known of rows, each part from those before it."""

    level: float = np.inf
    """Spans are of models whose objective is at most this."""

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.points)

    @property
    def leaves(self) -> int:
        """The number of nodes that were not split."""
        return self.size - len(self.parent)

    @cached_property
    def lents(self) -> list[Lent]:
        """What is lent, row by row of `theta`."""
        parts = self.theta, self.shares, self.etas.tolist(), self.middles.tolist()
        return [
            Lent(theta, shares, eta, middle, bool(sparse))
            for theta, shares, eta, middle, sparse in zip(*parts, self.sparse, strict=True)
        ]

    def states(self, program: Program) -> Iterator[tuple[int, States, States, int]]:
        """The leaves, their states, those of the nodes whose losses bound them, and the points.

        TreeError where they are no proof.
        """
        count, splits = len(self.kept) + 2 * program.n + len(self.cuts), len(self.parent)
        if self.size != 1 + 2 * splits:
            raise TreeError("its nodes and splits do not match")
        split = np.full(self.size, -1, dtype=np.int64)
        late = np.any(self.parent > 2 * np.arange(splits)) or np.any(self.parent < 0)
        if late or len(np.unique(self.parent)) < splits:
            raise TreeError("a node is split twice, or before it is made")
        split[self.parent] = np.arange(splits)
        root: States = np.zeros(count, dtype=np.int8)
        root[: len(self.kept)][program.always] = 1
        waiting, named = {0: root}, {}
        scopes = set(self.scope[split < 0].tolist())
        for node in range(self.size):
            state, made = waiting.pop(node), int(split[node])
            if node in scopes:
                named[node] = state
            if made < 0:
                scope = named.get(int(self.scope[node]))
                if scope is None or np.any((scope != 0) & (scope != state)):
                    raise TreeError("a leaf is bounded at a node that it is no part of")
                if not 0 <= self.points[node] < len(self.counts):
                    raise TreeError("a leaf has no bound")
                yield node, state, scope, int(self.points[node])
                continue
            switch = int(self.switch[made])
            if not 0 <= switch < count or state[switch] != 0:
                raise TreeError("a node is split on what is decided already")
            for side in (0, 1):
                child = state.copy()
                child[switch] = 2 * side - 1
                waiting[1 + 2 * made + side] = child


def row_tree_bound(
    program: Program,
    tree: RowTree,
    level: float,
    boxes: Sequence[Vector] = (),
    *,
    claim: bool = False,
) -> float:
    """The lower bound that the tree proves on models whose objective is at most `level`.

    `boxes` are dual vectors that cut the range of the intercept (`bounds.enclosure`). TreeError,
    with a clause, where it is no proof. With `claim`, what a certificate may claim.
    """
    bounds = row_bounds(program, tree, level, boxes, claim=claim)
    # Other models are above the level.
    lower = tree.level if tree.spans else np.inf
    for leaf in row_leaves(bounds, tree):
        lower = min(lower, leaf.lower)
    return float(min(lower, bounds.outer[1]))


def row_bounds(
    program: Program, tree: RowTree, level: float, boxes: Sequence[Vector], *, claim: bool
) -> RowBounds:
    """What bounds the nodes of a tree, its spans proved; TreeError where they are not."""
    if not RowBounds.known(program):
        raise TreeError("a tree over rows is for robust losses and the ramp")
    if not np.array_equal(tree.kept, np.flatnonzero(~program.never)):
        raise TreeError("the features the tree decides about are not those of the problem")
    ascending = np.all(np.isfinite(tree.cuts)) and np.all(np.diff(tree.cuts) > 0.0)
    if not ascending or (program.ball is None) != (tree.eta == 0.0):
        raise TreeError("its cuts do not ascend, or its multiplier is not that of a ball")
    if not program.fit_intercept and np.any(tree.intercept):
        raise TreeError("a point has an intercept that the problem does not have")
    reduced = program.restricted(tree.kept)
    switches = Switches(reduced.m, reduced.n, tree.cuts)
    outer = outer_range(program, level, boxes, claim=claim)
    bounds = RowBounds(reduced, switches, outer, eta=tree.eta, claim=claim)
    if not np.all(bounds.own > 0.0):
        raise TreeError("its multiplier is not above 0")
    return _spanned(bounds, tree) if tree.spans else bounds


def row_leaves(bounds: RowBounds, tree: RowTree) -> Iterator[RowLeaf]:
    """The leaves of a tree; TreeError where they are no proof."""
    ends = np.cumsum(tree.counts)
    for node, state, scope, point in tree.states(bounds.program):
        part = slice(ends[point] - tree.counts[point], ends[point])
        w = np.zeros(bounds.program.m)
        w[tree.support[part]] = tree.values[part]
        b, lent = float(tree.intercept[point]), tree.lents[tree.lent[point]]
        yield RowLeaf(node, state, point, w, bounds.bound(state, w, b, lent, scope))


def _spanned(bounds: RowBounds, tree: RowTree) -> RowBounds:
    """The bounds with what is known of rows; TreeError where it is not proved."""
    program = bounds.program
    if not isinstance(program.loss, Truncated):
        raise TreeError("spans of rows are for the truncated loss")
    for part in tree.spans:
        scope = part.scope.copy()
        last = program.n - (not program.fit_intercept)
        if any(np.any(one.row > last) for _, one in part.rounds):
            raise TreeError("spans are of an intercept that the problem does not have")
        if np.any(scope[: program.m][program.always] < 0):
            raise TreeError("spans are of models without a feature that is always in")
        scope[: program.m][program.always] = 1
        rounds = (replace(one, lent=tree.lents[place]) for place, one in part.rounds)
        known = with_rounds(bounds, scope, rounds, tree.level)
        if known is None:
            raise TreeError("a span of a row is not proved")
        bounds = known
    return bounds
