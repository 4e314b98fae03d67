"""One line of the table: our numbers on a problem, and one cell per peer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Cell:
    """A peer on a problem: measured, or skipped with its reason."""

    competitor: str
    seconds: float = math.nan
    gap: float = math.nan
    """By our formulas, against the best dual value known."""

    tolerance: float = math.nan
    """The setting of its own that was enough."""

    inside: float = math.nan
    """Seconds in the solver alone, where a modelling layer was timed too."""

    variant: str = ""
    """Which way of running it was the fastest, where several were tried."""

    reached: bool = False
    reason: str = ""
    """Why it did not run, or what went wrong."""


@dataclass
class Row:
    """Ours, and everybody else's."""

    problem: str
    shape: tuple[int, int]
    seconds: float
    """relax alone."""

    setup: float
    """Program(...): validation and column norms."""

    passes: float
    newton_steps: int
    rounds: int
    working_set: int
    gap: float
    status: str
    product: float
    """Seconds of one X^T a."""

    value: float
    dual_value: float
    """The best one known: what gaps are taken against."""

    cells: dict[str, Cell] = field(default_factory=dict)

    @property
    def products(self) -> float:
        """Our time in units of one X^T a."""
        return self.seconds / self.product
