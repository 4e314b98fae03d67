"""What a search asks about its nodes: bounds, features that these fix, where to split."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.bounds import NodeBounds, States, Tried, node_bounds
from sparsebounds.certificates import Shift, dual_vectors
from sparsebounds.penalties import Penalty
from sparsebounds.program import Program
from sparsebounds.relaxation import smooth_part, tall_part

SETTLED = 0.1
"""A node that stays open is solved until its own gap is this part of what is left to prove."""


PIECE, LEAST_WIDTH = 1 << 32, 32
"""Columns are read in pieces of about so many multiplications, but of so many columns at least, and
the clock is asked before each."""


@dataclass(frozen=True)
class Bounded:
    """Nodes with their bounds, one row each."""

    state: States
    w: Vector
    """Coefficients whose gradient is the node's dual vector."""

    b: Vector
    lower: Vector
    gradient: Vector
    """X^T a at that dual vector."""

    def take(self, rows: Index) -> Bounded:
        """Some of the nodes."""
        return Bounded(
            self.state[rows], self.w[rows], self.b[rows], self.lower[rows], self.gradient[rows]
        )

    @classmethod
    def none(cls, m: int) -> Bounded:
        """No node at all, of a program with m features."""
        rows = np.zeros((0, m))
        return cls(rows.astype(np.int8), rows, np.zeros(0), np.zeros(0), rows)

    @property
    def bytes(self) -> int:
        """Memory that the nodes take."""
        return self.state.nbytes + self.w.nbytes + self.gradient.nbytes


@dataclass(frozen=True)
class Split:
    """A chain of splits: each sets one child aside and goes on with the other.

    Split number i, on features[i], sets aside the child with that feature on sides[i] (+1: in,
    -1: out), to be bounded from w[i]; what the last one goes on with is bounded from w[-1].
    """

    features: Index
    sides: Index
    w: Vector


class Bounder(ABC):
    """The relaxation of a program's nodes, on columns held in memory."""

    def __init__(self, program: Program, price: float, deadline: Deadline = NEVER) -> None:
        """TimeUp where that would not end before the `deadline`, as for what is asked later."""
        self.program, self.deadline = program, deadline
        every = np.arange(program.m)
        self.columns = program.matrix.gathered(every)
        if program.matrix.tall:
            self.smooth = tall_part(program)
        else:
            self.smooth = smooth_part(program)
            self.smooth.reserve(program.m)
            width = max(LEAST_WIDTH, PIECE // (program.n * program.m))
            for at in range(0, program.m, width):
                columns = self.columns.columns(every[at : at + width])
                deadline.require(product=self.smooth.price(program.m - at))
                with deadline.timed("product", self.smooth.price(columns.shape[1])):
                    self.smooth.add(columns)
        self.scale = max(abs(program.null), 1e-300)
        self.price = price
        """What a feature costs, about: the unit of what a split gains."""

        self.steps = 0
        """Newton steps so far."""

        self.trying = 0.0
        """Operations on supports of nodes so far, about: those of tries given up too."""

        self.allowed = np.inf
        """With groups, supports are tried while that took at most so many operations per node."""

        self.space = np.inf
        """Bytes that trying the supports of the root may hold."""

    @abstractmethod
    def bound(self, state: States, w: Vector, b: Vector, cutoff: float, upper: float) -> Bounded:
        """Bounds of at least `cutoff` where little work gives them, else good ones.

        `w` and `b` are where to start from; `upper` is the best value known.
        """

    @abstractmethod
    def fix(self, nodes: Bounded, upper: float) -> States:
        """The nodes' states, with the features decided that their bounds decide."""

    @abstractmethod
    def weights(self, nodes: Bounded, row: int) -> Vector:
        """The relaxed u of a node; 0 for features that are out."""

    @abstractmethod
    def split(self, nodes: Bounded, row: int, cutoff: float) -> Split | None:
        """How to split a node that has to reach `cutoff`; None where all features are decided.

        With an infinite cutoff the node is split on one feature only.
        """

    @property
    def memory(self) -> tuple[int, int, int]:
        """What it has learned that decides what it does next.

        (Newton steps, failed shifts, nodes whose supports were too many after all)
        """
        return self.steps, 0, 0

    @memory.setter
    def memory(self, memory: tuple[int, int, int]) -> None:
        self.steps = memory[0]

    def shift(
        self, nodes: Bounded, row: int, cutoff: float, upper: float
    ) -> tuple[Shift, float] | None:
        """A shift of curvature into the ridge that closes a node, with its proved bound, if any."""
        return None

    def exhaust(self, state: States, nodes: int) -> Tried | None:
        """All supports of a node, tried, where they are few next to the nodes so far."""
        return None

    def listed(self, state: States, level: float, nodes: int) -> tuple[States, Vector] | None:
        """The supports of a node that may be below a level, and their bounds, where all are few."""
        return None

    def proved(self, w: Vector, b: Vector, state: States) -> NodeBounds:
        """The bounds of nodes at the dual vectors of rows w, rounded as the proof rounds them."""
        return node_bounds(self.program, dual_vectors(self.program, self.columns, w, b), state)

    def penalty(
        self, state: States, ridge: float | None = None, features: Index | slice = slice(None)
    ) -> Penalty:
        """h at a node, or on some features there; `ridge` stands in for the ball."""
        k = None if self.program.k is None else int(self.room(state[None])[0])
        own = state[features]
        return self.program.penalty(features, ridge, inside=own > 0, outside=own < 0, k=k)

    def closed(self, w: Vector, feature: int) -> Vector:
        """Coefficients with a feature, and its group, out."""
        w = w.copy()
        w[self.program.groups.whole(np.array([feature]))] = 0.0
        return w

    def room(self, state: States) -> Index:
        """k forms: how many open features each node may still take."""
        counted = np.count_nonzero((state > 0) & self.program.free, axis=1)
        room: Index = np.maximum(int(self.program.k or 0) - counted, 0)
        return room

    def splitting(self, state: States, u: Vector, score: Vector) -> int:
        """The open feature with the largest u below 1; failing that, with the largest score."""
        opened = (state == 0) & self.program.groups.lead
        partial = opened & (u > 0.0) & (u < 1.0 - 1e-9)
        if partial.any():
            return int(np.argmax(np.where(partial, u, 0.0)))
        left = np.flatnonzero(opened)
        return int(left[np.argmax(score[left])]) if len(left) else -1
