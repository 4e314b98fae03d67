"""A grid gone through point after point: budgets ascending or prices descending.

stop     may end the walk early. Let v be the objective of the model at hand, K the largest budget
         of the grid and lower(K) the best bound there of all dual vectors. If

             v - lower(K) <= stop max(|v|, |null|)

         then no model with at most K features, and so none at any k that was left out, is better
         by more than that: p(k) >= p(K) >= lower(K). In l0, the walk ends at a price l where the
         same holds at l and at the smallest price l' of the grid, with v(l) the model's value at
         price l: as p is concave in the price (a minimum of linear functions) and v linear, the
         excess v - p is convex in it, and so at most the larger of the two in between.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from sparsebounds._support.deadline import Deadline
from sparsebounds._support.validate import Exact
from sparsebounds.exact import SearchProgress
from sparsebounds.paths.result import Path, PathPoint
from sparsebounds.paths.rows import Row
from sparsebounds.program import Program
from sparsebounds.relaxation import Progress


@dataclass(frozen=True)
class PathProgress:
    """What a progress callback receives after each point."""

    done: int
    total: int
    point: str
    """The point, as "k=3" or "l0=0.1"."""

    upper: float
    lower: float
    seconds: float

    def line(self) -> str:
        """The same in a clause."""
        return (
            f"{self.point}, {self.done} of {self.total}: "
            f"best {self.upper:.6g}, proved {self.lower:.6g}"
        )


Callback = Callable[[Progress | SearchProgress | PathProgress], None]


@dataclass(eq=False)
class Course(ABC):
    """One path: its arguments, and the rows done."""

    program: Program
    grid: list[int] | list[float]
    tol: float
    stop: float | None
    exact: Exact
    deadline: Deadline
    node_limit: int | None
    callback: Callback | None
    checkpoint: str | os.PathLike[str] | None

    def __post_init__(self) -> None:
        self.most_nodes = math.inf if self.node_limit is None else self.node_limit
        self.first_pass = self.program.matrix.passes
        self.by_price = isinstance(self.grid[0], float)
        # Certificates need the first; programs at other k or l0, made of this one, share the rest.
        with self.deadline.timed("scan", 1):
            _ = self.program.fingerprint, self.program.null, self.program.rounding
        self.rows: list[Row] = []
        self.interrupted = self.cut = False
        self.steps = 0
        self.earlier = 0.0
        """Seconds spent on the rows that a file had."""

    @abstractmethod
    def look_ahead(self) -> None:
        """Bound the end of the grid, which `stop` asks for."""

    @abstractmethod
    def step(self, value: float) -> None:
        """One more row."""

    @abstractmethod
    def lower(self, program: Program) -> float:
        """The best bound so far for a program of the path, all points together."""

    @abstractmethod
    def finished(self) -> list[Row]:
        """The rows, each with the best of all proofs and models."""

    def back(self) -> None:
        """What is done once all points are."""

    def save(self, *, now: bool) -> None:
        """Write down where the path stands, where there is a file."""

    @property
    def seconds(self) -> float:
        return self.earlier + self.deadline.seconds

    @property
    def finish(self) -> Deadline:
        """The deadline, less what it takes to give each point the best of all proofs."""
        return self.deadline.before(scan=2 * len(self.rows))

    def late(self) -> bool:
        self.cut |= self.finish.late()
        return self.cut

    def posed(self, value: float) -> Program:
        """The program at a point of the grid."""
        return (
            self.program.with_price(value)
            if self.by_price
            else self.program.with_budget(int(value))
        )

    def run(self) -> Path:
        """Point after point; what ended it is in the path's message."""
        reason = self.settled() if self.rows else ""
        # Short of its own tolerance a relaxation is still a bound: the gaps say it all.
        try:
            if not self.rows and self.stop is not None and len(self.grid) > 1:
                self.look_ahead()
            for value in self.grid[len(self.rows) :]:
                if reason or (self.rows and (self.late() or self.interrupted)):
                    break
                self.step(value)
                reason = self.settled()
            self.back()
        except KeyboardInterrupt:
            self.interrupted = True
            if not self.rows:
                raise
        finally:
            self.save(now=True)
        return self.result(reason)

    def report(self, row: Row, value: float) -> None:
        """Tell the callback of a row."""
        if self.callback is not None:
            done, total = len(self.rows), len(self.grid)
            name = f"{'l0' if self.by_price else 'k'}={value:g}"
            sides = row.certificate.upper, row.certificate.lower
            self.callback(PathProgress(done, total, name, *sides, self.seconds))

    def settled(self) -> str:
        """Why the rest of the grid is proved not to pay; empty where it is not."""
        row, here, last = self.rows[-1], self.grid[len(self.rows) - 1], self.grid[-1]
        if self.stop is None or here == last:
            return ""
        end = self.posed(last)
        ends = [(row.upper_at(end), self.lower(end))]
        if self.by_price:
            lower = max(row.certificate.lower, self.lower(row.program))
            ends.append((row.certificate.upper, lower))
        null = abs(self.program.null)
        if any(not upper - low <= self.stop * max(abs(upper), null) for upper, low in ends):
            return ""
        if self.by_price:
            left = f"no price from {here:g} down to {last:g} has a model that is better"
        else:
            kind = "features" if self.program.groups.single else "groups"
            left = f"no model with up to {last:g} {kind} is better than that with {here:g}"
        return f"Stopped early: {left} by more than {self.stop:g} of the objective."

    def result(self, reason: str) -> Path:
        """The path, and why it ended."""
        if not reason and len(self.rows) < len(self.grid):
            cause = "Interrupted" if self.interrupted else "The time limit was reached"
            left = len(self.grid) - len(self.rows)
            reason = f"{cause} with {left} point{'s' * (left != 1)} left to do."
        rows = self.finished()
        unit = self.program.problem.unit
        return Path(
            points=tuple(PathPoint.of(row, self.tol) for row in rows),
            kind="l0" if self.by_price else "k",
            feature_names=self.program.feature_names,
            null=self.program.null,
            problem=self.program.describe(
                f"a price l0 per {unit}" if self.by_price else f"at most k {unit}s"
            ),
            message=reason or "Every point of the grid was done.",
            complete=len(rows) == len(self.grid),
            full_passes=self.program.matrix.passes - self.first_pass,
            newton_steps=self.steps,
            seconds=self.seconds,
            interrupted=self.interrupted,
        )
