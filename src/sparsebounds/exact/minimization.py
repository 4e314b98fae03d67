"""The search for the best model: nodes are closed by bounds, and the tree is a proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.decimals import counted
from sparsebounds.bounds import States
from sparsebounds.exact.bounder import Bounded
from sparsebounds.exact.checkpoint import SearchState
from sparsebounds.exact.difficulty import Outlook
from sparsebounds.exact.feature_search import FeatureSearch
from sparsebounds.exact.frontier import Frontier
from sparsebounds.exact.record import Record
from sparsebounds.models import refit

NEARLY = 3
"""Features that may be undecided in a relaxed solution that is tried as a model."""


@dataclass(frozen=True)
class SearchProgress:
    """Where a search stands."""

    nodes: int
    open: int
    upper: float
    lower: float
    """The smallest bound of the open nodes, as computed; the certificate's is rounded."""

    seconds: float
    outlook: Outlook | None = None
    """What is expected of it."""

    def line(self) -> str:
        """The same in a clause."""
        gap = (self.upper - self.lower) / max(abs(self.upper), 1e-300)
        rate = self.nodes / max(self.seconds, 1e-9)
        return (
            f"best {self.upper:.6g}, bound {self.lower:.6g}, gap {gap:.2%}, "
            f"{self.open} open of {counted(self.nodes, 'node')}, {rate:.0f} per second"
        )


@dataclass(eq=False)
class Minimization(FeatureSearch):
    """Its cutoff is below the incumbent's value, by what a proof may leave open."""

    root_gap: float = field(default=np.inf, init=False)
    """The gap that the root leaves."""

    _tried: set[tuple[int, ...]] = field(default_factory=set, init=False)
    """The supports refitted so far."""

    def resume(self, state: SearchState) -> None:
        """Go on where another search stood."""
        self.record, self.open = Record.of(state.tree), Frontier(state.open, state.places)
        self.closed, self.nodes, self.seconds = state.closed, state.nodes, state.seconds
        self.bounder.memory, self.root_gap = state.memory, state.outlook.root_gap

    def start(self, w: Vector, b: float) -> None:
        super().start(w, b)
        self.root_gap = self.gap

    @property
    def gap(self) -> float:
        """What is left to prove."""
        return self.incumbent.value - self.lower

    @property
    def outlook(self) -> Outlook:
        """How long it will go on."""
        sized = self.program.k is not None
        return Outlook(self.nodes, self.left, self.gap, self.root_gap, self.seconds, sized)

    def progress(self) -> SearchProgress:
        upper, now = self.incumbent.value, self.outlook
        return SearchProgress(self.nodes, now.open, upper, self.lower, self.seconds, now)

    def settle(self, state: States, w: Vector, b: Vector, at: Index) -> tuple[Bounded, Index]:
        """Record the bounds, look for models, close nodes, fix features in those that stay open."""
        nodes = self.bounder.bound(state, w, b, self.cutoff, self.incumbent.value)
        self.nodes += len(at)
        for row, node in enumerate(at.tolist()):
            self.record.bound(node, nodes.w[row], float(nodes.b[row]))
        for support in self._candidates(nodes, np.flatnonzero(nodes.lower < self.cutoff)):
            self.offer(refit(self.program, support))
        live = nodes.lower < self.cutoff
        self.close(nodes.lower[~live])
        nodes, at = nodes.take(np.flatnonzero(live)), at[live]
        fixed, groups = self.bounder.fix(nodes, self.incumbent.value), self.program.groups
        for row, node in enumerate(at.tolist()):
            left = np.flatnonzero(nodes.state[row] == 0)
            if len(left) and not np.any(fixed[row] == 0):
                # One support is left. One feature stays open all the same: the node will be split,
                # and that support bounded at a dual vector of its own.
                fixed[row, left[0]] = 0
                fixed[row] = groups.spread(fixed[row])
            new = np.where((nodes.state[row] == 0) & groups.lead, fixed[row], 0)
            self.record.fix(node, np.flatnonzero(new > 0), np.flatnonzero(new < 0))
        nodes = replace(nodes, state=fixed)
        live = np.array(
            [
                not (self._exhaust(nodes, *p) or self._shift(nodes, *p))
                for p in enumerate(at.tolist())
            ],
            dtype=np.bool_,
        )
        return nodes.take(np.flatnonzero(live)), at[live]

    def _exhaust(self, nodes: Bounded, row: int, node: int) -> bool:
        """Close a node by trying all its supports, if they are few."""
        tried = self.bounder.exhaust(nodes.state[row], self.nodes)
        if tried is None:
            return False
        known = np.isin(self.incumbent.support, tried.support).all()
        if tried.lower < self.incumbent.value and not known:
            self.offer(refit(self.program, tried.support))
        if tried.lower < self.cutoff:
            return False
        self.record.exhaust(node, tried.lower)
        self.close(np.array(tried.lower))
        return True

    def _shift(self, nodes: Bounded, row: int, node: int) -> bool:
        """Close a node by moving curvature into the ridge, if that is possible and pays."""
        found = self.bounder.shift(nodes, row, self.cutoff, self.incumbent.value)
        if found is None:
            return False
        self.record.shift(node, *found)
        self.close(found[1])
        return True

    def _candidates(self, nodes: Bounded, rows: Index) -> Iterator[Index]:
        """Supports of relaxed solutions in which nearly every feature is in or out, once each."""
        program = self.program
        for row in rows:
            u = self.bounder.weights(nodes, row)
            if np.count_nonzero((u > 0.0) & (u < 1.0) & program.groups.lead) > NEARLY:
                continue
            chosen = np.flatnonzero((u >= 0.5) | (nodes.state[row] > 0))
            too_many = program.k is not None and np.count_nonzero(program.free[chosen]) > program.k
            key = tuple(chosen.tolist())
            if too_many or key in self._tried:
                continue
            yield chosen
            # After the refit: one that is interrupted will be tried again.
            self._tried.add(key)
