"""Every support whose best value is at most a cutoff: branch and bound that keeps what it meets.

A node is a set of supports, as in the exact search. It is closed only where its bound, rounded
down, exceeds the cutoff; a feature is fixed only where the bound over the node's supports with it
the other way does. A node whose features are all decided is one support S: it is refitted, and

    bound at the refit's own dual vector <= v(S) <= value of the refit,

v(S) the best objective with S paid for. S is kept unless that bound exceeds the cutoff, so that
no rounding can lose it. The cutoff falls as better models turn up, so a node once closed stays so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.deadline import Deadline, TimeUp
from sparsebounds.bounds import States
from sparsebounds.exact.bounder import Bounded, Bounder
from sparsebounds.models import Model, refit
from sparsebounds.program import Program

BATCH = 8
"""Nodes split at a time."""

MEMORY = 1 << 30
"""Bytes of open nodes beyond which the newest is split first: depth before breadth."""

PRECISION = 1e-3
"""A node that stays open is solved about as well as if this part of the scale were at stake."""

ACCURACY = 1e-10
"""Part of the scale by which the bound at a refit's own dual vector may miss its value."""

NOTHING = 1e-12
"""A column that makes up less than this part of the fit has a coefficient of 0, or of rounding."""


@dataclass(frozen=True)
class NearProgress:
    """Where an enumeration stands."""

    nodes: int
    open: int
    found: int
    """Supports below the cutoff of the moment."""

    upper: float
    lower: float
    """No model has a smaller objective."""

    unseen: float
    """No support of a smaller value is missing so far."""

    seconds: float

    def line(self) -> str:
        """The same in a clause."""
        return (
            f"{self.found} supports, complete below {self.unseen:.6g}, best {self.upper:.6g}, "
            f"{self.open} open of {self.nodes} nodes in {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class Found:
    """A support, refitted: its best value is between `lower` and `model.value`."""

    model: Model
    lower: float


class Enumeration:
    """The search tree of a program, with a cutoff above the best value known."""

    def __init__(
        self,
        program: Program,
        bounder: Bounder,
        incumbent: Model,
        excess: Callable[[float], float],
        root: float,
    ) -> None:
        self.program, self.bounder, self.incumbent = program, bounder, incumbent
        self.excess = excess
        """How far above the best value, itself the argument, the cutoff is."""

        self.found: dict[tuple[int, ...], Found] = {}
        self.leaves = np.inf
        """The smallest bound of the supports refitted, whether kept or not."""

        self.nodes = 0
        self._root: float | None = root
        """A bound for every support, until the root has been settled."""

        self._made = 0
        self._open: dict[int, tuple[float, Bounded]] = {}
        self._queue: list[tuple[float, int]] = []

    @property
    def cutoff(self) -> float:
        """A bound above this closes a node."""
        return self.incumbent.value + self.excess(self.incumbent.value)

    @property
    def unseen(self) -> float:
        """Below every value of the supports not met yet; inf where none below the cutoff is."""
        if self._root is not None:
            return self._root
        while self._queue and self._queue[0][1] not in self._open:
            heappop(self._queue)
        least = self._queue[0][0] if self._queue else np.inf
        return np.inf if least > self.cutoff else least

    @property
    def lower(self) -> float:
        """No model has a smaller objective."""
        return min(self.unseen, self.leaves, self.incumbent.value)

    def start(self, w: Vector, b: float) -> None:
        """The root: every support. w and b are where to start from."""
        state = np.zeros((1, self.program.m), dtype=np.int8)
        state[:, self.program.always] = 1
        self._add(self._settle(state, w[None], np.array([b])))
        self._root = None

    def run(
        self,
        stop: Callable[[], bool],
        report: Callable[[NearProgress], None] | None = None,
    ) -> None:
        """Split and bound until every node is closed, or it is told to stop. Ctrl-C stops it."""
        clock = Deadline()
        try:
            while self.unseen < np.inf and not stop():
                chosen = self._choice()
                # The children come first: an interrupt leaves supports twice, never none.
                self._add(self._children(chosen))
                for node in chosen:
                    del self._open[node]
                if report is not None:
                    report(self._progress(clock.seconds))
        except (KeyboardInterrupt, TimeUp):
            # Wherever it came, the nodes are all there; their order may not be.
            self._queue = sorted((lower, node) for node, (lower, _) in self._open.items())
            raise

    def _progress(self, seconds: float) -> NearProgress:
        cutoff, upper = self.cutoff, self.incumbent.value
        found = sum(one.model.value <= cutoff for one in self.found.values())
        return NearProgress(
            self.nodes, len(self._open), found, upper, self.lower, self.unseen, seconds
        )

    def _choice(self) -> list[int]:
        """The nodes to split: those of least bound, or the newest where memory is short."""
        while len(self._open) * 17 * self.program.m > MEMORY:
            newest = next(reversed(self._open))
            if self._open[newest][0] <= self.cutoff:
                return [newest]
            del self._open[newest]
        taken: list[tuple[float, int]] = []
        while len(taken) < BATCH and self.unseen < np.inf:
            taken.append(heappop(self._queue))
        for entry in taken:
            heappush(self._queue, entry)
        return [node for _, node in taken]

    def _add(self, made: list[tuple[float, Bounded]]) -> None:
        for lower, node in made:
            self._open[self._made] = lower, node
            heappush(self._queue, (lower, self._made))
            self._made += 1

    def _children(self, chosen: list[int]) -> list[tuple[float, Bounded]]:
        state, w, b = [], [], []
        for node in chosen:
            parent = self._open[node][1]
            split = self.bounder.split(parent, 0, np.inf)
            assert split is not None
            for side, begin in zip((1, -1), split.w, strict=True):
                child = parent.state[0].copy()
                child[split.features[0]] = side
                state.append(child)
                w.append(begin)
                b.append(parent.b[0])
        return self._settle(np.stack(state), np.stack(w), np.array(b))

    def _settle(self, state: States, w: Vector, b: Vector) -> list[tuple[float, Bounded]]:
        """Bound nodes, fix features, keep the supports decided; (bound, node) for the others."""
        state, possible = self._within_budget(state)
        self.nodes += int(np.count_nonzero(possible))
        decided = np.all(state != 0, axis=1)
        rows = np.flatnonzero(possible & decided)
        if len(rows):
            # Where the start's own dual vector does not close the node, the refit's is the best.
            first = self.bounder.proved(
                np.where(state[rows] < 0, 0.0, w[rows]), b[rows], state[rows]
            )
            for place, lower in zip(rows, first.lower, strict=True):
                self._keep(state[place], float(lower))
        rows = np.flatnonzero(possible & ~decided)
        if len(rows) == 0:
            return []
        cutoff, state = self.cutoff, state[rows]
        upper = cutoff + PRECISION * self.bounder.scale
        nodes = self.bounder.bound(state, w[rows], b[rows], cutoff, upper)
        bounds = self.bounder.proved(nodes.w, nodes.b, state)
        with np.errstate(invalid="ignore"):
            inside, outside = bounds.outside > cutoff, bounds.inside > cutoff
        live = (bounds.lower <= cutoff) & ~np.any(inside & outside, axis=1)
        state = np.where(inside, 1, np.where(outside, -1, state)).astype(np.int8)
        state, possible = self._within_budget(state)
        nodes, rest = nodes.with_state(state), []
        for row in np.flatnonzero(live & possible).tolist():
            if np.any(state[row] == 0):
                rest.append((float(bounds.lower[row]), nodes.take(np.array([row]))))
            else:
                self._keep(state[row], float(bounds.lower[row]))
        return rest

    def _within_budget(self, state: States) -> tuple[States, Mask]:
        """k forms: no further feature where k are in; which nodes have no more than k in."""
        if self.program.k is None:
            return state, np.ones(len(state), dtype=np.bool_)
        counted = np.count_nonzero((state > 0) & self.program.free, axis=1)
        full = (counted >= self.program.k)[:, None] & (state == 0)
        return np.where(full, -1, state).astype(np.int8), counted <= self.program.k

    def _keep(self, state: States, lower: float) -> None:
        """Refit the one support of a node, and keep it if it may be below the cutoff."""
        if lower > self.cutoff:
            return
        chosen = np.flatnonzero((state > 0) & self.program.free)
        model = refit(self.program, chosen)
        known = self.incumbent
        if known.value < model.value and np.array_equal(known.support, model.support):
            model = (
                known  # the same support, refitted from elsewhere: its last digits may be better
            )
        own = self.bounder.proved(model.w[None], np.array([model.b]), state[None])
        lower = max(lower, float(own.lower[0]))
        if model.value - lower > ACCURACY * self.bounder.scale:
            # Ball forms: the best model and the best dual vector may belong to different points.
            with np.errstate(invalid="ignore"):
                better = self.bounder.bound(
                    state[None], model.w[None], np.array([model.b]), model.value, model.value
                )
            lower = max(lower, float(self.bounder.proved(better.w, better.b, state[None]).lower[0]))
        self.leaves = min(self.leaves, lower)
        if model.value < self.incumbent.value:
            self.incumbent = model
        # Where a coefficient is 0 the support is a smaller one, and has a node of its own.
        if lower <= self.cutoff and np.all(matters(self.program, model)[chosen]):
            self.found[tuple(chosen.tolist())] = Found(model, lower)


def matters(program: Program, model: Model) -> Mask:
    """Which coefficients are not 0, nor rounding: these move the fit by more than NOTHING of it."""
    parts = np.abs(model.w) * program.matrix.norms
    whole = float(np.sum(parts)) + abs(model.b) * np.sqrt(program.n)
    above: Mask = parts > NOTHING * whole
    return above
