"""What every competitor has: a name, tolerances to try, a reason to skip, and `solve`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmarks.machine import missing_package
from benchmarks.problems import Problem


@dataclass(frozen=True)
class Answer:
    """A competitor's relaxed point."""

    w: Any
    u: Any = None
    dual: Any = None
    inside: float = math.nan
    """Seconds in the solver alone, where a modelling layer around it was timed too."""


class Competitor(ABC):
    """One piece of software, run one way."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    """Imported packages, whose versions are reported."""

    order: ClassVar[str] = "F"
    """Memory order of the X it is handed."""

    losses: ClassVar[tuple[str, ...]] = ("squared", "logistic")
    forms: ClassVar[tuple[str, ...]] = ("l0+ridge",)
    reads_sparse: ClassVar[bool] = False
    most_entries: ClassVar[float] = math.inf
    """n m above which it is left out by size alone: not tried, expected to take minutes."""

    tolerances: ClassVar[tuple[float, ...]]
    """Tried in this order, loose to tight; the first that reaches the accuracy asked for is timed.
    The numbers mean what they mean to the competitor."""

    variant: str = ""
    """Which of several ways to run it this is."""

    def variants(self) -> tuple[Competitor, ...]:
        """All ways to run it that are worth trying: the fastest on a problem is what counts."""
        return (self,)

    def reason_to_skip(self, problem: Problem) -> str | None:
        """Why it is not run on this problem, or None."""
        if problem.form not in self.forms:
            return f"has no {problem.form} form"
        if problem.loss not in self.losses:
            return f"has no {problem.loss} loss"
        if problem.sparse and not self.reads_sparse:
            return "reads no sparse matrices"
        n, m = problem.shape
        if n * m > self.most_entries:
            return f"left out by size, not tried: more than {self.most_entries:.0e} entries"
        return missing_package(self.packages)

    @abstractmethod
    def solve(self, problem: Problem, tolerance: float) -> Answer:
        """The relaxed point, to a tolerance of the competitor's own kind."""
