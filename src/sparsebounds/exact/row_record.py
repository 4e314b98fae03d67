"""Choices of a search over rows, and the tree that they grow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from sparsebounds.bounds import Lent, Round, States
from sparsebounds.certificates import RowTree, SpanProof
from sparsebounds.exact.record import Splits
from sparsebounds.exact.row_basis import Basis
from sparsebounds.relaxation import Node


@dataclass(frozen=True, eq=False)
class Choice:
    """Ways that a node can go, as a chain of splits: each sets one child aside."""

    switches: tuple[int, ...]
    sides: tuple[int, ...]
    """The side of the child that each split sets aside."""

    ways: tuple[Node, ...]
    """The children set aside, then what the last split goes on with."""


def chained(state: States, chain: Sequence[tuple[int, int]]) -> list[States]:
    """The states that a chain of switches and sides sets aside, then that which it leaves."""
    states = []
    for switch, side in chain:
        aside, state = state.copy(), state.copy()
        aside[switch], state[switch] = side, -side
        states.append(aside)
    return [*states, state]


Maker: TypeAlias = Callable[[States], Choice | None]
"""Makes a choice at a state; None where it is made already."""


@dataclass
class Record(Splits):
    """The tree as it grows: switches that it is split by, leaves closed, spans narrowed."""

    closed: dict[int, Node] = field(default_factory=dict)
    """By their places."""

    parts: list[tuple[States, list[Round]]] = field(default_factory=list)
    """Nodes whose spans were narrowed, with the rounds that prove it."""

    def copy(self) -> Record:
        """One that grows apart."""
        return Record(self.parent[:], self.switch[:], self.closed.copy(), self.parts[:])

    def tree(self, basis: Basis, open_: dict[int, Node]) -> RowTree:
        """The proof as it stands."""
        leaves = self.closed | open_
        points: dict[tuple[int, int], int] = {}
        distinct: list[Node] = []
        lents: dict[int, int] = {}
        table: list[Lent] = []

        def number(lent: Lent) -> int:
            place = lents.setdefault(id(lent), len(table))
            if place == len(table):
                table.append(lent)
            return place

        at = np.full(1 + 2 * len(self.parent), -1, dtype=np.int64)
        scope = np.arange(len(at))
        for place, node in leaves.items():
            key = id(node.w), id(node.lent)
            if key not in points:
                points[key] = len(distinct)
                distinct.append(node)
                number(node.lent)
            at[place] = points[key]
            scope[place] = place if node.scope is None else node.scope
        supports = [np.flatnonzero(node.w) for node in distinct]
        proofs = tuple(
            SpanProof(scope, tuple((number(one.lent), one) for one in rounds))
            for scope, rounds in self.parts
        )
        return RowTree(
            kept=basis.kept,
            cuts=basis.bounds.switches.cuts,
            eta=basis.eta,
            parent=np.array(self.parent, dtype=np.int64),
            switch=np.array(self.switch, dtype=np.int64),
            points=at,
            scope=scope,
            counts=np.array([len(support) for support in supports], dtype=np.int64),
            support=np.concatenate(supports).astype(np.int32),
            values=np.concatenate(
                [node.w[support] for node, support in zip(distinct, supports, strict=True)]
            ),
            intercept=np.array([node.b for node in distinct]),
            lent=np.array([lents[id(node.lent)] for node in distinct], dtype=np.int64),
            theta=np.stack([one.theta for one in table]),
            shares=np.stack([one.shares for one in table]),
            etas=np.array([one.eta for one in table]),
            middles=np.array([one.middle for one in table]),
            sparse=np.array([one.sparse for one in table], dtype=np.int64),
            spans=proofs,
            level=basis.level if proofs else np.inf,
        )


def part_of(node: Node, state: States) -> Node:
    """The same bound, for a part of the node."""
    return replace(node, state=state)


def with_last(choice: Choice, alive: Node) -> Choice:
    """The chain with the one way that is left at its end."""
    if choice.ways[-1] is alive:
        return choice
    *_, inner = choice.ways
    if len(choice.switches) == 1:
        return Choice(choice.switches, (-choice.sides[0],), (inner, choice.ways[0]))
    # The bound of an outlier on one side is the same whether or not its other side is known.
    above, below = choice.switches
    up_, down_ = choice.ways[:2]
    if alive is down_:
        return Choice((above, below), (1, -1), (up_, inner, down_))
    first, last = down_.state.copy(), up_.state.copy()
    first[above], last[below] = 0, -1
    return Choice((below, above), (1, -1), (part_of(down_, first), inner, part_of(up_, last)))
