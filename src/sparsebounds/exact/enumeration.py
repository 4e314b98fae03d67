"""Every support whose best value is below a cutoff: branch and bound that keeps what it meets.

A node is a set of supports, as in the exact search. It is closed only where its bound, rounded
down, reaches the cutoff; a feature is fixed only where the bound over the node's supports with it
the other way does. These bounds may be those of a smaller program (`exact.reduction`), which lies
below the one that is asked about. Where a node has few supports, those are listed whose bounds do
not reach the cutoff. A support S by itself is refitted in the program asked about, and there

    bound at the refit's own dual vector <= v(S) <= value of the refit,

v(S) the best objective with S paid for. S is kept unless that bound reaches the cutoff, so that
no rounding can lose it. Where the refit leaves a coefficient of S at 0, S is a smaller support; but
only a refit that its bound shows to be the best proves that. Otherwise S is `unsure`, and the list
is complete below its bound only. The cutoff falls as better models turn up, so a node once closed
stays so.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.decimals import counted
from sparsebounds._support.rounding import up
from sparsebounds.bounds import States, node_bounds
from sparsebounds.certificates import based, dual_vectors
from sparsebounds.exact.bounder import Bounded
from sparsebounds.exact.engine import BranchAndBound
from sparsebounds.exact.feature_search import FeatureSearch
from sparsebounds.exact.reduction import Reduction
from sparsebounds.models import Model, refit
from sparsebounds.program import Program

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
            f"{self.open} open of {counted(self.nodes, 'node')} in {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class Found:
    """A support, refitted: its best value is between `lower` and `model.value`."""

    model: Model
    lower: float

    def known(self, error: float) -> bool:
        """Whether its best value is known to this."""
        return self.model.value - self.lower <= error


class Listing(BranchAndBound):
    """A search whose cutoff is above the incumbent's value: supports below it are kept."""

    @abstractmethod
    def supports(self) -> Sequence[Found]:
        """The supports met that may be below the level, and others."""

    @property
    def level(self) -> float:
        """Supports of a value below this are kept."""
        return self.cutoff_at(self.incumbent.value)

    @property
    @abstractmethod
    def unseen(self) -> float:
        """No support that is not found has a smaller value; inf where none is below the level."""

    @property
    def ended(self) -> bool:
        """Whether no node is left to be split."""
        return self.least >= self.cutoff

    def progress(self) -> NearProgress:
        found = sum(one.model.value < self.level for one in self.supports())
        sides = self.incumbent.value, self.lower, self.unseen
        return NearProgress(self.nodes, self.left, found, *sides, self.seconds)


@dataclass(eq=False)
class Enumeration(Listing, FeatureSearch):
    """The supports below the cutoff, searched over features.

    Nodes, their bounds and the cutoff are those of the smaller program; models and what is said
    about them are those of the program on the features kept, `part`.
    """

    reduction: Reduction
    found: dict[tuple[int, ...], Found] = field(default_factory=dict, init=False)
    unsure: float = field(default=np.inf, init=False)
    """The smallest bound of the supports of which it is not known whether they are smaller ones."""

    def __post_init__(self) -> None:
        self.part, self.base = self.reduction.part, self.reduction.base
        self.lengths = lengths(self.part)
        self.scale = max(abs(self.part.null), 1e-300)

    @property
    def cutoff(self) -> float:
        return up(self.level - self.base)

    @property
    def lower(self) -> float:
        return min(based(self.base, min(self.closed, self.least)), self.incumbent.value)

    @property
    def unseen(self) -> float:
        least = np.inf if self.ended else based(self.base, self.least)
        return least if self.unsure >= self.level else min(least, self.unsure)

    @property
    def aim(self) -> float:
        """Infinite: nodes are split on one feature at a time."""
        return np.inf

    def supports(self) -> Sequence[Found]:
        return list(self.found.values())

    def settle(self, state: States, w: Vector, b: Vector, at: Index) -> tuple[Bounded, Index]:
        """Bound nodes, fix features, keep the supports decided; the other nodes stay open."""
        state, possible = self._within_budget(state)
        self.nodes += int(np.count_nonzero(possible))
        decided = np.all(state != 0, axis=1)
        rows = np.flatnonzero(possible & decided)
        if len(rows):
            # One support each: where the start's dual vector does not close it, it is refitted.
            first = self.bounder.proved(
                np.where(state[rows] < 0, 0.0, w[rows]), b[rows], state[rows]
            )
            for place, lower in zip(rows, first.lower, strict=True):
                self._keep(state[place], float(lower))
        rows = np.flatnonzero(possible & ~decided)
        if len(rows) == 0:
            return Bounded.none(self.program.m), at[rows]
        cutoff, state = self.cutoff, state[rows]
        upper = cutoff + PRECISION * self.scale
        nodes = self.bounder.bound(state, w[rows], b[rows], cutoff, upper)
        bounds = self.bounder.proved(nodes.w, nodes.b, state)
        with np.errstate(invalid="ignore"):
            inside, outside = bounds.outside >= cutoff, bounds.inside >= cutoff
        live = (bounds.lower < cutoff) & ~np.any(inside & outside, axis=1)
        state = np.where(inside, 1, np.where(outside, -1, state)).astype(np.int8)
        state = self.program.groups.spread(state)
        state, possible = self._within_budget(state)
        live, decided = live & possible, np.all(state != 0, axis=1)
        for row in np.flatnonzero(live & decided):
            self._keep(state[row], float(bounds.lower[row]))
        live &= ~decided
        for row in np.flatnonzero(live):
            listed = self.bounder.listed(state[row], cutoff, self.nodes)
            if listed is not None:
                live[row] = False
                for one, lower in zip(*listed, strict=True):
                    self._keep(one, float(lower))
        left = np.flatnonzero(live)
        nodes = replace(nodes, state=state, lower=bounds.lower)
        return nodes.take(left), at[rows[left]]

    def _within_budget(self, state: States) -> tuple[States, Mask]:
        """k forms: no further feature where k are in; which nodes have no more than k in."""
        if self.program.k is None:
            return state, np.ones(len(state), dtype=np.bool_)
        counted = np.count_nonzero((state > 0) & self.program.free, axis=1)
        full = (counted >= self.program.k)[:, None] & (state == 0)
        return np.where(full, -1, state).astype(np.int8), counted <= self.program.k

    def _keep(self, state: States, lower: float) -> None:
        """Refit the one support of a node, and keep it if it may be below the cutoff."""
        if lower >= self.cutoff:
            return
        self.bounder.deadline.require()
        chosen = np.flatnonzero((state > 0) & self.program.free)
        model = refit(self.part, chosen)
        known = self.incumbent
        if known.value < model.value and np.array_equal(known.support, model.support):
            # The same support, refitted from elsewhere: its last digits may be better.
            model = known
        lower = max(lower, based(-self.base, self._own_bound(model, state)))
        error = ACCURACY * max(self.scale, abs(model.value))
        # Where a coefficient is 0 the support is a smaller one, and has a node of its own.
        whole = bool(np.all(self.part.groups.held(matters(self.lengths, model))[chosen]))
        doubtful = self.part.ball is not None or not whole
        if doubtful and not Found(model, based(self.base, lower)).known(error):
            # The best model and the best dual vector may belong to different points of the ball,
            # or the refit has failed.
            w, b, value = model.w[None], np.array([model.b]), up(model.value - self.base)
            with np.errstate(invalid="ignore"):
                better = self.bounder.bound(state[None], w, b, value, value)
            lower = max(lower, float(self.bounder.proved(better.w, better.b, state[None]).lower[0]))
        self.close(lower)
        self.offer(model)
        one = Found(model, based(self.base, lower))
        if lower < self.cutoff and whole:
            self.found[tuple(chosen.tolist())] = one
        elif lower < self.cutoff and not one.known(error):
            self.unsure = min(self.unsure, one.lower)

    def _own_bound(self, model: Model, state: States) -> float:
        """The bound of a support at the dual vector of its own model."""
        used, part = model.support, self.part
        columns, b = part.matrix.gathered(used), np.array([model.b])
        t = dual_vectors(part, columns, model.w[None, used], b)
        return float(node_bounds(part, t, state[None]).lower[0])


def lengths(program: Program) -> Vector:
    """Root mean squares of the columns; their norms, which are rounded up, may be far above."""
    mean, spread = program.matrix.moments(np.full(program.n, 1.0 / program.n))
    return np.hypot(mean, np.sqrt(spread))


def matters(lengths: Vector, model: Model) -> Mask:
    """Which coefficients are not 0, nor rounding: these move the fit by more than NOTHING of it."""
    parts = np.abs(model.w) * lengths
    above: Mask = parts > NOTHING * (float(np.sum(parts)) + abs(model.b))
    return above
