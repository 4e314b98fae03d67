"""What every exact tool has: a name, a reason to skip, a warm-up, and `run`."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmarks.problems import Problem


@dataclass(frozen=True)
class Task:
    """A program to be solved to a relative gap, within a number of seconds."""

    problem: Problem
    gap: float
    limit: float
    start: Any
    """Coefficients of a good model, for a tool that wants one; finding them is not timed."""

    value: float
    """Their objective: tools that count a gap relative to something else need a yardstick."""

    null: float
    """The objective of w = 0."""


@dataclass(frozen=True)
class Claim:
    """A model and a lower bound on our objective, as the tool says."""

    coef: Any
    lower: float
    nodes: int
    finished: bool
    """Whether it says that the gap asked for is reached."""


class ExactTool(ABC):
    """One piece of software, run one way."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    losses: ClassVar[tuple[str, ...]] = ("squared", "logistic")
    forms: ClassVar[tuple[str, ...]] = ("l0+ridge", "k+ridge")
    widest: ClassVar[float] = math.inf
    """m above which it is left out by size alone."""

    compiles: ClassVar[bool] = False
    """Whether a first run on a corner of the problem is needed, for a compiler."""

    def reason_to_skip(self, problem: Problem) -> str | None:
        """Why it is not run on this problem, or None."""
        if problem.form not in self.forms:
            return f"has no {problem.form} form"
        if problem.loss not in self.losses:
            return f"has no {problem.loss} loss here"
        if problem.shape[1] > self.widest:
            return f"left out by size, not tried: more than {self.widest:.0f} features"
        return None

    def load(self) -> None:
        """Import what it needs."""
        for package in self.packages:
            importlib.import_module(package)

    @abstractmethod
    def run(self, task: Task) -> Claim:
        """Search: this is timed, from arrays to the claim."""
