"""One line of the table of models: ours with its certificate, and one cell per peer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Attempt:
    """A peer, run one way on a problem: measured, or skipped with its reason."""

    tool: str
    variant: str = ""
    seconds: float = math.nan
    returned: float = math.nan
    """Our objective at its own coefficients; NaN where it does not know our objective."""

    value: float = math.nan
    """Our objective after our refit on its support (the better of both)."""

    nonzeros: int = 0
    rel_gap: float = math.nan
    """The certified relative gap of the refitted model, by `certify`."""

    reason: str = ""
    """Why it did not run, or what went wrong."""


@dataclass
class ModelRow:
    """Ours, and everybody else's."""

    problem: str
    shape: tuple[int, int]
    loss: str
    k: int
    ridge: float
    seconds: float
    """All of `solve`: validation, relaxation, search and certificate."""

    value: float
    """Our model's objective."""

    lower: float
    relaxed: float
    """The relaxation's value."""

    rel_gap: float
    refitted: int
    """Models that the search refitted."""

    cells: dict[str, list[Attempt]] = field(default_factory=dict)
    """Every way each peer was run."""

    def cell(self, tool: str) -> Attempt:
        """The peer's best model; among equals the fastest way to it."""
        ran = [attempt for attempt in self.cells[tool] if not math.isnan(attempt.value)]
        if not ran:
            return self.cells[tool][0]
        least = min(attempt.value for attempt in ran)
        equal = [attempt for attempt in ran if attempt.value <= least + 1e-9 * abs(least)]
        return min(equal, key=lambda attempt: attempt.seconds)

    @property
    def best(self) -> Attempt | None:
        """The best model of all peers."""
        ran = [self.cell(tool) for tool in self.cells]
        ran = [attempt for attempt in ran if not math.isnan(attempt.value)]
        return min(ran, key=lambda attempt: attempt.value) if ran else None

    @property
    def excess(self) -> float:
        """How much worse ours is than the best of the others, relative to it; below 0: better."""
        best = self.best
        return math.nan if best is None else self.excess_over(best)

    def excess_over(self, attempt: Attempt) -> float:
        """The same against one of them."""
        return (self.value - attempt.value) / abs(attempt.value)
