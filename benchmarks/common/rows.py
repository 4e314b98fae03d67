"""What every row and every cell of a table has."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Cell:
    """A peer on a problem: measured, or skipped with its reason."""

    tool: str
    variant: str = ""
    """Which way to run it this is, where several were tried."""

    seconds: float = math.nan
    reason: str = ""
    """Why it did not run, or what went wrong."""

    @property
    def who(self) -> str:
        """The peer and its variant."""
        return f"{self.tool} ({self.variant})" if self.variant else self.tool


@dataclass
class Row:
    """One problem, ours and everybody else's."""

    problem: str
    shape: tuple[int, int]
