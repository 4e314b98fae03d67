"""Spans of a node of a search over rows, narrowed sweep by sweep (`bounds.row_spans`).

A sweep goes through the rows in doubt a part at a time, each with the spans that the parts before
it have proved; then the node is relaxed at new shares. Where all features of a node are decided,
spans often end within [-c, c] or beyond it for every row: the node is convex then, and its
relaxation exact, without a split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds.bounds import Round, RowBounds, Spans, narrowed, proved_ends
from sparsebounds.relaxation import Ends, Node, Reaching, relaxed_node, wanted

SWEEPS = 40
"""At most."""

PARTS, LEAST, MOST = 8, 24, 600
"""Parts of a sweep, at least; the ends that a part has at least, and at most."""

SLOWEST = 0.95
"""Spans that shrink by less than this factor in a sweep, on average, are not worth another."""

USEFUL = 0.99
"""An end that shrinks its span by less than this factor is not stored."""

FAR = 1e6
"""Ends beyond this, in units of c, say nothing."""

EACH = 600.0
"""Operations that could be done in the time that one residual takes besides its products."""


WORTH = 0.02
"""The part of its gap that narrower spans must close at a node, or they are not kept."""

MORE = 0.05
"""The part of the rows that must be decided in addition before narrower spans are sought again."""


@dataclass(eq=False)
class Narrowing:
    """The spans of a node, with the rounds that prove them."""

    bounds: RowBounds
    node: Node
    level: float
    better: Callable[[RowBounds, Node], Node]
    """Looks for better shares of the node."""

    rounds: list[Round] = field(default_factory=list)
    work: float = 0.0

    def __post_init__(self) -> None:
        program = self.bounds.program
        self.before = self.bounds.spans
        self.spans = Spans.nothing(self.node.state, program.n)
        self.ends = Ends(program.n, program.m)

    def run(self, goal: float, stop: Callable[[], bool]) -> None:
        """Narrow the spans while they shrink and the bound is below the goal."""
        for _ in range(SWEEPS):
            width = self._width()
            done = self.node.lower >= goal or stop() or not np.any(width > 0.0)
            if done or not self._sweep(goal, stop):
                return
            self.node = self.better(self.bounds, self.node)
            with np.errstate(divide="ignore", invalid="ignore"):
                shrunk = np.log(self._width()[width > 0.0] / width[width > 0.0])
            if np.mean(np.maximum(shrunk, np.log(0.1))) > np.log(SLOWEST):
                return

    def _width(self) -> Vector:
        """The spans of rows in doubt; 0 for the others, and 1000 c where they are infinite."""
        loss = self.bounds.loss(self.node.state, self.node.lent)
        low, high = self.bounds.ends(self.node.state)
        width = np.minimum(high - low, 1e3 * self.bounds.c)
        return np.where(loss.doubt, width, 0.0)

    def _sweep(self, goal: float, stop: Callable[[], bool]) -> bool:
        """Whether anything was proved."""
        bounds, n = self.bounds, self.bounds.program.n
        row, side = wanted(bounds, self.node)
        parts = max(1, min(max(PARTS, len(row) // MOST), len(row) // LEAST))
        found = False
        for part in np.array_split(np.arange(len(row)), parts):
            if stop() or not len(part) or self.node.lower >= goal:
                break
            bounds, state = self.bounds, self.node.state
            reaching = Reaching(bounds, self.node, self.level)
            round_ = reaching.found(row[part], side[part], self.ends)
            proved = proved_ends(bounds, state, round_, self.level)
            self.work += len(part) * n * (30.0 * len(reaching.used) + EACH)
            round_ = round_.stated(proved, bounds.c)
            round_ = round_.part(self._useful(round_))
            if not len(round_.row):
                continue
            self.rounds.append(round_)
            self.spans, found = narrowed(self.spans, round_), True
            self.bounds = bounds.with_spans(*self.before, self.spans)
            again = relaxed_node(
                self.bounds, state, self.node.w, self.node.b, self.node.lent, tight=1e-6
            )
            self.work += again.work
            self.node = again if again.lower >= self.node.lower else self.node
        return found

    def _useful(self, round_: Round) -> Mask:
        """Ends that narrow their spans by enough, or decide a row."""
        low, high = self.bounds.ends(self.node.state)
        first, last = self.bounds.range(self.node.state)
        low, high = np.append(low, first)[round_.row], np.append(high, last)[round_.row]
        upper, c = round_.tau > 0.0, self.bounds.c
        width = np.where(upper, round_.end - low, high - round_.end)
        with np.errstate(invalid="ignore"):
            less = ~(width > USEFUL * (high - low))
        old, new = np.where(upper, high, low), round_.end
        decides = ((old > c) != (new > c)) | ((old > -c) != (new > -c))
        better = np.where(upper, new < old, new > old)
        useful: Mask = (np.abs(new) < FAR * c) & better & (less | decides)
        return useful


class Narrower:
    """Narrows spans of one node after the other, while there is hope."""

    def __init__(self) -> None:
        self.hopeless = 0.0
        """Nodes with fewer rows decided are not tried."""

    def of(
        self,
        bounds: RowBounds,
        node: Node,
        level: float,
        goal: float,
        better: Callable[[RowBounds, Node], Node],
        stop: Callable[[], bool],
    ) -> Narrowing:
        """A node with spans that raise its bound, or as it is."""
        found = Narrowing(bounds, node, level, better)
        decided = np.count_nonzero(~bounds.loss(node.state, node.lent).doubt)
        if decided < self.hopeless:
            return found
        found.run(goal, stop)
        self.hopeless = 0.0
        if found.node.lower - node.lower <= WORTH * (goal - node.lower):
            self.hopeless = decided + MORE * bounds.program.n
            found.bounds, found.node, found.rounds = bounds, node, []
        return found
