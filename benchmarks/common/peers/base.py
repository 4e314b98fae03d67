"""What a peer is: a name, a reason to skip, and one way to run it per kind of work."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from benchmarks.common.problems import Problem
from benchmarks.common.timing import best_run

REPEATS = 3
"""Runs of a model peer that are timed, the best of which counts; one where it takes over 5 s."""


class Peer:
    """One piece of software, run one way."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    """What is imported."""

    losses: ClassVar[tuple[str, ...]] = ("squared", "logistic")
    forms: ClassVar[tuple[str, ...]] = ("l0+ridge", "k+ridge")
    reads_sparse: ClassVar[bool] = False
    knows_groups: ClassVar[bool] = False
    most_entries: ClassVar[float] = math.inf
    """n m above which it is left out by size alone: not tried, expected to take minutes."""

    widest: ClassVar[float] = math.inf
    """m above which it is left out by size alone."""

    def unfit(self, problem: Problem) -> str | None:
        """Why it cannot be asked to solve this problem, or None."""
        n, m = problem.shape
        if problem.form not in self.forms:
            return f"has no {problem.form} form"
        if problem.loss not in self.losses:
            return f"has no {problem.loss} loss here"
        if problem.sparse and not self.reads_sparse:
            return "reads no sparse matrices"
        if problem.groups is not None and not self.knows_groups:
            return "knows no groups"
        if n * m > self.most_entries:
            return f"left out by size, not tried: more than {self.most_entries:.0e} entries"
        if m > self.widest:
            return f"left out by size, not tried: more than {self.widest:.0f} features"
        return None

    def load(self) -> None:
        """Import what it needs, and mend what has to be mended."""
        for package in self.packages:
            importlib.import_module(package)

    def reason_to_skip(self, problem: Problem) -> str | None:
        """Why it is not run on this problem, or None."""
        return self.unfit(problem) or self.missing()

    def missing(self) -> str | None:
        """Why it cannot be imported, or None."""
        try:
            self.load()
        except Exception as error:
            return f"cannot be imported: {error}"
        return None


@dataclass(frozen=True)
class Answer:
    """A relaxed point."""

    w: Any
    u: Any = None
    dual: Any = None
    inside: float = math.nan
    """Seconds in the solver alone, where a modelling layer around it was timed too."""


class RelaxationPeer(Peer, ABC):
    """It solves the relaxation."""

    forms = ("l0+ridge",)
    order: ClassVar[str] = "F"
    """Memory order of the X it is given."""

    tolerances: ClassVar[tuple[float, ...]]
    """Tried in this order, loose to tight; the first that reaches the accuracy asked for is timed.
    The numbers mean what they mean to the peer."""

    variant: str = ""
    """Which of several ways to run it this is."""

    def variants(self) -> tuple[RelaxationPeer, ...]:
        """All ways to run it that are worth trying: the fastest on a problem is what counts."""
        return (self,)

    @abstractmethod
    def solve(self, problem: Problem, tolerance: float) -> Answer:
        """The relaxed point, to a tolerance of the peer's own kind."""


@dataclass(frozen=True)
class Suggestion:
    """Models that one run names: it is judged by the best of them."""

    coefs: Sequence[Any]
    """Each with at most k nonzeros."""

    fitted: bool
    """Whether the coefficients minimise our objective on their support; else supports only."""


class ModelPeer(Peer, ABC):
    """It finds models with k features."""

    variants: ClassVar[tuple[str, ...]] = ("",)
    """Ways to run it that are worth trying; the one with the best model counts."""

    @abstractmethod
    def run(self, problem: Problem, variant: str) -> Suggestion:
        """Its models."""

    def measure(self, problem: Problem, variant: str) -> tuple[float, Suggestion]:
        """Seconds of the best run, and the models."""
        return best_run(partial(self.run, problem, variant), REPEATS)


@dataclass(frozen=True)
class Task:
    """A program to be solved to a relative gap, within a number of seconds."""

    problem: Problem
    gap: float
    limit: float
    start: Any
    """Coefficients of a good model, for a peer that wants one; finding them is not timed."""

    value: float
    """Their objective: peers that count a gap relative to something else need a yardstick."""

    null: float
    """The objective of w = 0."""


@dataclass(frozen=True)
class Claim:
    """A model and a lower bound on our objective, as the peer says."""

    coef: Any
    lower: float
    nodes: int
    finished: bool
    """Whether it says that the gap asked for is reached."""


class ExactPeer(Peer, ABC):
    """It searches for a proved optimum. It is imported in a process of its own."""

    compiles: ClassVar[bool] = False
    """Whether a first run on a corner of the problem is needed, for a compiler."""

    def reason_to_skip(self, problem: Problem) -> str | None:
        return self.unfit(problem)

    @abstractmethod
    def run(self, task: Task) -> Claim:
        """The search, from arrays to the claim."""


class PathPeer(Peer, ABC):
    """It computes a path of models of growing size."""

    @abstractmethod
    def run(self, problem: Problem, most: int) -> Callable[[int], Sequence[Any]]:
        """Its path up to `most` features, and from that the coefficients it names at size k."""


def keep_largest(coef: np.ndarray, k: int) -> np.ndarray:
    """The k largest coefficients, the others 0."""
    kept = np.zeros_like(coef)
    places = np.argsort(-np.abs(coef), kind="stable")[:k]
    kept[places] = coef[places]
    return kept


def descend(path: Callable[[Any, Any], Any], largest: float, enough: int) -> list[Any]:
    """Coefficients at 100 prices from `largest` down to a hundredth of it.

    Ten prices at a time, with a warm start, until more than `enough` features are in.
    path(prices, start) gives one column of coefficients per price.
    """
    found: list[Any] = []
    last = None
    for prices in np.array_split(largest * np.geomspace(1.0, 1e-2, 100), 10):
        coefs = path(prices, last)
        found += list(coefs.T)
        last = coefs[:, -1].copy()
        if np.count_nonzero(last) > enough:
            break
    return found
