"""One line of the table of exact searches: what each peer claims, and what it is worth to us."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from benchmarks.common import rows

GAP = 1e-4
"""The relative gap, (objective - bound) / |objective|, at which a program counts as solved."""

FORGIVEN = 3.0
"""A peer may count its gap from an objective of its own, a little off its model's: what it says is
solved counts where the gap recomputed by us is at most so many GAP."""

FALSE = 1e-6
"""A bound that exceeds a known model's objective by more than this, relative to it, is false."""


@dataclass
class Outcome(rows.Cell):
    """What one peer claims about one program."""

    processor: float = math.nan
    """Seconds of the processor: the same on an idle machine, and steadier on a busy one."""

    value: float = math.nan
    """Our objective after our refit on the support of its model."""

    lower: float = math.nan
    """The lower bound it claims, in our units."""

    nodes: int = 0
    memory: int = 0
    """Bytes at its peak above what its process held before."""

    finished: bool = False
    """Whether it says that the gap is reached."""

    false: bool = False
    """Whether somebody has a model better than its bound."""

    @property
    def ran(self) -> bool:
        return not self.reason

    @property
    def gap(self) -> float:
        """The relative gap it claims; NaN without a bound, below 0 for a refuted one."""
        return (self.value - self.lower) / abs(self.value)

    @property
    def solved(self) -> bool:
        """Whether it says so, and nothing shows that it is not."""
        return self.finished and not self.false and self.gap <= FORGIVEN * GAP

    @property
    def rate(self) -> float:
        """Nodes per second."""
        return self.nodes / self.seconds if self.seconds > 0 else math.nan


@dataclass
class ExactRow(rows.Row):
    """A program, ours and everybody else's outcome."""

    loss: str
    form: str
    reference: float
    """The objective of the model that `solve` finds without a search: warm start and yardstick."""

    cells: dict[str, Outcome] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The name without its seed."""
        return self.problem.partition("/")[0]

    @property
    def best(self) -> float:
        """The best objective known."""
        values = [cell.value for cell in self.cells.values() if not math.isnan(cell.value)]
        return min([self.reference, *values])

    def refute(self) -> None:
        """Mark the bounds that a known model contradicts, ours like the others'."""
        for cell in self.cells.values():
            cell.false = cell.lower > self.best + FALSE * abs(self.best)
