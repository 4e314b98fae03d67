"""Every support whose best value is below a cutoff, for the truncated loss.

The search over rows and features (`exact.rows`) with a cutoff above the best value. A node is
closed where its bound reaches the cutoff, or where it has one support S alone, and its bound the
value of the best model that is known on S: so v(S) is known to ACCURACY once all nodes of S are
closed. Nodes are split by all features, also those that the relaxation does not take.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.bounds import RowBounds, States
from sparsebounds.exact.enumeration import Found, NearProgress, lengths, matters
from sparsebounds.exact.row_models import RowModels
from sparsebounds.exact.rows import RowSearch
from sparsebounds.fitting import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import Node

ACCURACY = 1e-6
"""To which values of supports are proved, relatively."""


class SupportModels(RowModels):
    """The best models so far, one per support."""

    def __init__(self, bounds: RowBounds, best: Model) -> None:
        super().__init__(bounds, best)
        self.of: dict[tuple[int, ...], Model] = {}
        self.take(best, best.support)

    def take(self, model: Model, support: Index) -> None:
        super().take(model, support)
        key = tuple(support[self.program.free[support]].tolist())
        if key not in self.of or model.value < self.of[key].value:
            self.of[key] = model


class RowEnumeration(RowSearch):
    """Its cutoff is above the incumbent's value: supports below it are kept, the others dropped."""

    _kind: ClassVar[type[RowModels]] = SupportModels
    models: SupportModels

    def __init__(
        self,
        program: Program,
        model: Model,
        cutoff_at: Callable[[float], float],
        eta: float,
        deadline: Deadline = NEVER,
    ) -> None:
        self.cutoff_at = cutoff_at
        self.lowers: dict[tuple[int, ...], float] = {}
        """Bounds on the values of the supports met."""

        self._here = math.inf
        level = cutoff_at(model.value)
        super().__init__(program, model, ACCURACY, eta, (), deadline, level)
        self.lengths = lengths(self.program)

    @property
    def cutoff(self) -> float:
        return self.cutoff_at(self.incumbent.value)

    level = beyond = cutoff

    @property
    def goal(self) -> float:
        return min(self._here, self.cutoff)

    @property
    def _least(self) -> float:
        return min((one[0] for one in self.open), default=math.inf)

    @property
    def ended(self) -> bool:
        """Whether no node is left to be split."""
        return self._least >= self.cutoff

    @property
    def unseen(self) -> float:
        """No support that is not found has a smaller value; inf where none is below the cutoff."""
        met = self._met(whole=False).values()
        # Nodes are closed at ACCURACY; the other half is for the rounding of that comparison.
        unsure = [one.lower for one in met if not one.known(2.0 * ACCURACY * abs(one.model.value))]
        return min([math.inf if self.ended else self._least, *unsure])

    @property
    def found(self) -> dict[tuple[int, ...], Found]:
        """The supports met that are not proved to be above the cutoff."""
        return self._met(whole=True)

    def _met(self, *, whole: bool) -> dict[tuple[int, ...], Found]:
        """The same, with a model that is nonzero on all of the support, or those with another.

        Where a coefficient is 0 the support is a smaller one, and has a node of its own.
        """
        listed = {}
        for support, lower in self.lowers.items():
            model = self.models.of[support]
            used = bool(np.all(matters(self.lengths, model)[list(support)]))
            if lower < self.cutoff and used == whole:
                listed[support] = Found(model, lower)
        return listed

    def progress(self) -> NearProgress:
        upper = self.incumbent.value
        sides = upper, min(self.lower, upper), self.unseen
        count = len(self.found)
        return NearProgress(self.nodes, len(self.open), count, *sides, self.deadline.seconds)

    def _support(self, state: States) -> tuple[int, ...] | None:
        """The support of a node that has one alone."""
        if len(self.bounds.opened(state)) and self.bounds.room(state) > 0:
            return None
        chosen = np.flatnonzero((state[: self.program.m] > 0) & self.program.free)
        return tuple(chosen.tolist())

    def _enough(self, node: Node) -> float:
        """The bound that closes a node."""
        support = self._support(node.state)
        if support is None or support not in self.models.of:
            return self.cutoff
        value = self.models.of[support].value
        return min(self.cutoff, value - ACCURACY * abs(value))

    def _push(self, place: int, node: Node) -> None:
        support = self._support(node.state)
        if support is not None and node.lower < self.cutoff:
            self.models.fit(np.array(support, dtype=np.int64), node)
        super()._push(place, node)

    def _closes(self, node: Node) -> bool:
        return node.lower >= self._enough(node)

    def _close(self, place: int, node: Node) -> None:
        super()._close(place, node)
        support = self._support(node.state)
        if support is not None and node.lower < self.cutoff:
            self.lowers[support] = min(self.lowers.get(support, math.inf), node.lower)

    def _expand(self, *, everything: bool = False) -> bool:
        self._here = self._enough(self.open[0][3])
        return super()._expand(everything=everything)

    def _features(self, node: Node) -> Index:
        if self._support(node.state) is not None:
            return np.zeros(0, dtype=np.int64)
        opened = self.bounds.opened(node.state)
        size = np.abs(node.w[opened]) * np.sqrt(self.bounds.own[opened])
        order: Index = opened[np.argsort(-size, kind="stable")]
        return order
