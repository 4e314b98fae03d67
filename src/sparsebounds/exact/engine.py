"""Best-bound branch and bound: the loop that all exact searches share.

Searches over features (`feature_search`) and over rows (`rows`) derive from it. There are two kinds
of each, which differ in their cutoff and in what they do with a node: for the best model, and a
proof (`minimization`, `rows`); for all supports below a cutoff (`enumeration`, `row_enumeration`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.deadline import Deadline, TimeUp
from sparsebounds.fitting import Model
from sparsebounds.program import Program

MARGIN = 0.99
"""Part of the tolerance that a search for the best model uses: the rest is for rounding."""


def cutoff_below(program: Program, tol: float, base: float = 0.0) -> Callable[[float], float]:
    """The cutoff of a search for the best model, to a tolerance.

    `base` is what its values lie below those of the program.
    """
    return lambda upper: upper - MARGIN * tol * program.size(upper + base)


@dataclass(eq=False)
class BranchAndBound(ABC):
    """The search tree of a program: run it, stop it, run it again."""

    program: Program
    incumbent: Model
    """The best model known."""

    cutoff_at: Callable[[float], float]
    """The cutoff, a function of the incumbent's value."""

    closed: float = field(default=np.inf, init=False)
    """The smallest bound of the nodes closed."""

    nodes: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    """Spent in `run` so far."""

    _stop: Callable[[], bool] = field(init=False)

    @property
    def cutoff(self) -> float:
        """A bound of at least this closes a node."""
        return self.cutoff_at(self.incumbent.value)

    @property
    @abstractmethod
    def least(self) -> float:
        """The smallest bound of the open nodes: inf where none is left, -inf before the start."""

    @property
    @abstractmethod
    def left(self) -> int:
        """The number of open nodes."""

    @property
    def lower(self) -> float:
        """The bound that the tree gives so far, before any rounding for a claim."""
        return min(self.closed, self.least, self.incumbent.value)

    @abstractmethod
    def progress(self) -> Any:
        """Where the search stands."""

    def run(
        self,
        stop: Callable[[], bool] = lambda: False,
        report: Callable[[Any], None] | None = None,
    ) -> None:
        """Take steps until every node is closed, or it is told to stop.

        Ctrl-C stops it, and so does a step that would not end before a deadline: the search is then
        where that step began.
        """
        clock, earlier, self._stop = Deadline(), self.seconds, stop
        while self._close_open() and not stop():
            before = self._mark()
            try:
                self._step()
            except (KeyboardInterrupt, TimeUp) as end:
                # Half a step proves nothing. `closed` stays: too small a number does no harm, and
                # bounds of the same nodes will be taken again.
                self._go_back(before)
                self.seconds = earlier + clock.seconds
                if isinstance(end, TimeUp):
                    return
                raise
            self.seconds = earlier + clock.seconds
            if report is not None:
                report(self.progress())

    def close(self, lower: Vector | float) -> None:
        """Take note of the bounds of nodes that are closed."""
        self.closed = min(self.closed, float(np.min(lower, initial=np.inf)))

    def offer(self, model: Model) -> None:
        """Keep a model if it is the best."""
        if model.value < self.incumbent.value:
            self.incumbent = model

    @abstractmethod
    def _close_open(self) -> bool:
        """Close open nodes that a better incumbent has settled; whether any are left."""

    @abstractmethod
    def _step(self) -> None:
        """Split some open nodes and bound what they are split into, or bound some again."""

    @abstractmethod
    def _mark(self) -> Any:
        """What `_go_back` needs to know of the search as it stands."""

    @abstractmethod
    def _go_back(self, mark: Any) -> None:
        """Undo a step that was not finished."""
