"""Every support whose best value is below a cutoff, for the truncated loss.

The search over rows and features (`exact.rows`) with a cutoff above the best value. A node is
closed where its bound reaches the cutoff, or where it has one support S alone, and its bound the
value of the best model that is known on S: so v(S) is known to ACCURACY once all nodes of S are
closed. Nodes are split by all features, also those that the relaxation does not take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.bounds import States
from sparsebounds.exact.enumeration import Found, Listing, lengths, matters
from sparsebounds.exact.row_checkpoint import RowState
from sparsebounds.exact.rows import RowSearch
from sparsebounds.fitting import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import Node

ACCURACY = 1e-6
"""To which values of supports are proved, relatively."""


class RowEnumeration(Listing, RowSearch):
    """The supports below the cutoff, searched over rows and features."""

    def __init__(
        self,
        program: Program,
        model: Model,
        cutoff_at: Callable[[float], float],
        eta: float,
        deadline: Deadline = NEVER,
    ) -> None:
        super().__init__(program, model, ACCURACY, eta, (), deadline, cutoff_at(model.value))
        self.cutoff_at = cutoff_at
        self.lowers: dict[tuple[int, ...], float] = {}
        """Bounds on the values of the supports met."""

        self.of: dict[tuple[int, ...], Model] = {}
        """Their best models so far."""

        self.lengths = lengths(self.program)
        self._take(self.incumbent, self.incumbent.support)

    @property
    def unseen(self) -> float:
        met = self._met(whole=False)
        # Nodes are closed at ACCURACY; the other half is for the rounding of that comparison.
        unsure = [one.lower for one in met if not one.known(2.0 * ACCURACY * abs(one.model.value))]
        return min([math.inf if self.ended else self.least, *unsure])

    @property
    def beyond(self) -> float:
        return self.cutoff

    def supports(self) -> Sequence[Found]:
        return self._met(whole=True)

    def _met(self, *, whole: bool) -> list[Found]:
        """Those with a model that is nonzero on all of the support, or those with another.

        Where a coefficient is 0 the support is a smaller one, and has a node of its own.
        """
        listed = []
        for support, lower in self.lowers.items():
            model = self.of[support]
            used = bool(np.all(matters(self.lengths, model)[list(support)]))
            if lower < self.cutoff and used == whole:
                listed.append(Found(model, lower))
        return listed

    def _support(self, state: States) -> tuple[int, ...] | None:
        """The support of a node that has one alone."""
        if len(self.bounds.opened(state)) and self.bounds.room(state) > 0:
            return None
        chosen = np.flatnonzero((state[: self.program.m] > 0) & self.program.free)
        return tuple(chosen.tolist())

    def _enough(self, node: Node | None) -> float:
        support = None if node is None else self._support(node.state)
        if support is None or support not in self.of:
            return self.cutoff
        value = self.of[support].value
        return min(self.cutoff, value - ACCURACY * abs(value))

    def _take(self, model: Model, support: Index) -> None:
        super()._take(model, support)
        key = tuple(support[self.program.free[support]].tolist())
        if key not in self.of or model.value < self.of[key].value:
            self.of[key] = model

    def _push(self, place: int, node: Node) -> None:
        support = self._support(node.state)
        if support is not None and node.lower < self.cutoff:
            self.models.fit(np.array(support, dtype=np.int64), node)
        super()._push(place, node)

    def _shut(self, place: int, node: Node) -> None:
        super()._shut(place, node)
        self._note(node)

    def _note(self, node: Node) -> None:
        """Take note of the bound of a node that is closed."""
        support = self._support(node.state)
        if support is not None and node.lower < self.cutoff:
            self.lowers[support] = min(self.lowers.get(support, math.inf), node.lower)

    def _go_back(self, mark: RowState) -> None:
        super()._go_back(mark)
        self.lowers.clear()
        for node in self.record.closed.values():
            self._note(node)

    def _features(self, node: Node) -> Index:
        if self._support(node.state) is not None:
            return np.zeros(0, dtype=np.int64)
        opened = self.bounds.opened(node.state)
        size = np.abs(node.w[opened]) * np.sqrt(self.bounds.own[opened])
        order: Index = opened[np.argsort(-size, kind="stable")]
        return order
