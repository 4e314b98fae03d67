"""What every tool has: a name, ways to run it, a reason to skip, and `run`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from benchmarks.machine import missing_package
from benchmarks.problems import Problem
from benchmarks.timing import best_of, timed

REPEATS = 3
"""Runs timed, the best of which counts; one where it takes more than five seconds."""


@dataclass(frozen=True)
class Suggestion:
    """Models that one run names: the best of them is what it is judged by."""

    coefs: Sequence[Any]
    """Each with at most k nonzeros."""

    fitted: bool
    """Whether the coefficients minimise our objective on their support; else supports only."""


class ModelTool(ABC):
    """One piece of software."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    """Imported packages."""

    losses: ClassVar[tuple[str, ...]] = ("squared", "logistic")
    variants: ClassVar[tuple[str, ...]] = ("",)
    """Ways to run it that are worth trying; the one with the best model counts."""

    def reason_to_skip(self, problem: Problem) -> str | None:
        """Why it is not run on this problem, or None."""
        if problem.loss not in self.losses:
            return f"has no {problem.loss} loss"
        return missing_package(self.packages)

    @abstractmethod
    def run(self, problem: Problem, variant: str) -> Suggestion:
        """Its models."""

    def measure(self, problem: Problem, variant: str) -> tuple[float, Suggestion]:
        """Seconds of the best run, and the models."""
        attempt = partial(self.run, problem, variant)
        first, found = timed(attempt)
        return best_of(lambda: timed(attempt)[0], first, most=REPEATS), found
