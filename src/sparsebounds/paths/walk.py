"""The walk along the grid: budgets ascending or prices descending, each point from the last.

relax    from the last point's relaxed solution and dual vector, on the columns read so far
model    from the last point's models: the beam goes on from where it stood. At the end of a walk
         in k, back down: the next larger model without its least feature, and swaps
bounds   at the end, every point takes the best of all dual vectors (`shared`) and of all models.
         In k: a model with fewer features is feasible for a larger k, so objectives never grow.
         In l0: every model is feasible at every price, and its value is linear in the price

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
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import RELAX, Deadline, TimeUp
from sparsebounds._support.validate import Exact
from sparsebounds.bounds import DualPoint, dual_point_at, screen_at
from sparsebounds.certificates import Tree
from sparsebounds.exact import ExactSearch, SearchProgress
from sparsebounds.models import Pool, Search
from sparsebounds.paths.checkpoint import PathCheckpoint, WalkState
from sparsebounds.paths.result import Path, PathPoint
from sparsebounds.paths.rows import Row
from sparsebounds.paths.shared import SharedBounds, coarse
from sparsebounds.program import Program
from sparsebounds.relaxation import Progress, Relaxation, Workspace, relaxation_of
from sparsebounds.solving import CLOSED, best_leaves, better_root, wide_gap

AHEAD = 0.75
"""How far relaxed coefficients are expected to go on as they went from the last point to this."""

SIZES_KEPT = 4
"""Dual points of budgets that a path in l0 keeps whole for its next prices."""


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
class Walk:
    """One path: what is known so far, and the rows done."""

    program: Program
    grid: list[int] | list[float]
    tol: float
    stop: float | None
    exact: Exact
    deadline: Deadline
    node_limit: int | None
    callback: Callback | None
    checkpoint: str | os.PathLike[str] | None
    known: list[Index] = field(default_factory=list)
    """Good supports for the next point, best first."""

    plain: bool = False
    """Whether relaxations alone are to prove something."""

    def __post_init__(self) -> None:
        program, grid = self.program, self.grid
        program.require_convex("path")
        self.most_nodes = math.inf if self.node_limit is None else self.node_limit
        self.first_pass = program.matrix.passes
        self.by_price = isinstance(grid[0], float)
        # Certificates need the first; programs at other k or l0, made of this one, share the rest.
        with self.deadline.timed("scan", 1):
            _ = program.fingerprint, program.null, program.rounding
        self.shared = SharedBounds(program, None if self.by_price else [int(k) for k in grid])
        self.workspace, self.columns = Workspace(program), Pool(program)
        self.last: Relaxation | None = None
        self.before: Vector | None = None
        """The relaxed coefficients at the point before the last one."""

        self.sizes: dict[int, DualPoint] = {}
        self.relaxed_sizes: set[int] = set()
        self.rows: list[Row] = []
        self.interrupted = self.cut = False
        self.steps = 0
        self.earlier = 0.0
        """Seconds spent on the rows that a file had."""

        self.file: PathCheckpoint | None = None
        self.clean: WalkState | None = None
        """The last state that no limit and no Ctrl-C has touched: what a file may hold."""

        if self.checkpoint is not None:
            nodes = self.most_nodes if self.exact else None
            kind = "auto" if self.exact == "auto" else nodes
            identity = self.checkpoint, program, grid, self.tol, self.stop, kind
            self.file = PathCheckpoint(*identity)
            self.take_up()

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
                self.relax(self.posed(self.grid[-1]), None)
                self.last = None
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

    def ahead(self) -> Relaxation | None:
        """Where the next relaxation starts: from the last one, most of a step further on."""
        last, at = self.last, len(self.rows)
        if last is None or self.before is None or at < 2:
            return last
        near = self.grid[at - 2 : at + 1]
        steps = np.diff(np.log(near) if self.by_price else near)
        share = min(1.0, steps[1] / steps[0]) if steps[0] else 0.0
        w = last.w + AHEAD * share * (last.w - self.before)
        return replace(last, w=np.where(w * last.w > 0.0, w, 0.0))

    def relax(self, program: Program, start: Relaxation | None) -> Relaxation:
        """A relaxation from where another one ended; its dual vector is shared."""
        until = self.finish.part(RELAX)
        found = relaxation_of(
            program,
            min(1e-6, 0.01 * self.tol),
            start=start,
            time_limit=until,
            callback=self.callback,
            workspace=self.workspace,
        )
        self.interrupted |= found.interrupted
        self.cut |= until.cut
        self.steps += found.stats.newton_steps
        self.shared.add(found.point)
        self.last = found
        return found

    def step(self, value: float) -> None:
        """One more row."""
        clock, program = Deadline(), self.posed(value)
        before = None if self.last is None else self.last.w
        relaxed = self.relax(program, self.ahead())
        points = [relaxed.point, *self.at_sizes(relaxed)]
        lower, duals, leaves = best_leaves(program, points)
        lower = coarse(program, lower)
        until = self.finish
        search = Search(program, relaxed, self.known, until, self.columns)
        goal = lower + CLOSED * self.tol * program.size(lower)
        found = search.quick(goal) if self.plain else search.run(goal)
        self.interrupted |= search.interrupted
        self.cut |= until.cut
        row = Row.of(program, found, relaxed.point.t, lower, duals, leaves)
        row = row.or_better(self.rows[::-1])
        if not self.plain and not self.late() and not self.interrupted:
            row = self.shifted(row, relaxed)
        if self.exact and not self.late() and not self.interrupted:
            row = self.searched(row, relaxed)
        self.known = [row.certificate.support, *search.grown]
        self.last, self.before = relaxed, before
        screened = screen_at(program, relaxed.point, row.certificate.upper)
        self.rows.append(replace(row, fixed_in=screened.fixed_in, seconds=clock.seconds))
        if self.file is not None and not self.late() and not self.interrupted:
            self.clean = self.state()
            self.save(now=False)
        if self.callback is not None:
            done, total = len(self.rows), len(self.grid)
            name = f"{'l0' if self.by_price else 'k'}={value:g}"
            sides = row.certificate.upper, row.certificate.lower
            self.callback(PathProgress(done, total, name, *sides, self.seconds))

    def at_sizes(self, relaxed: Relaxation) -> list[DualPoint]:
        """With a price: dual points of the budgets around the relaxed number of features."""
        if not self.by_price or self.late():
            return []
        total = float(np.sum(relaxed.u[self.program.free]))
        for size in sorted({math.floor(total), math.ceil(total)} - self.relaxed_sizes):
            self.relaxed_sizes.add(size)
            self.sizes[size] = self.relax(self.program.with_budget(size), self.last).point
        for size in sorted(self.sizes)[:-SIZES_KEPT]:
            del self.sizes[size]
        return list(self.sizes.values())

    def back(self) -> None:
        """In k: from larger models to smaller ones, which may beat what growing found."""
        if self.by_price or len(self.rows) < 2 or self.last is None:
            return
        known = [row.certificate.support for row in self.rows]
        search = Search(self.rows[-1].program, self.last, known, self.finish, self.columns)
        for i in range(len(self.rows) - 2, -1, -1):
            if self.late() or self.interrupted:
                break
            row, larger = self.rows[i], self.rows[i + 1]
            surplus = max(0, larger.counted - int(self.grid[i]))
            model = larger.model(math.nan)
            if self.program.ball is not None:  # its multiplier is not at hand
                model = search.model(larger.certificate.support)
            try:
                support = search.shrunk(model, surplus)
            except TimeUp:
                break
            if not np.array_equal(support, row.certificate.support):
                self.rows[i] = row.or_found(search.finished(search.model(support)))

    def proved(self, row: Row, tree: Tree, lower: float) -> Row:
        """The row with this tree as its proof, if that proves more."""
        lower = coarse(row.program, lower)
        if lower <= row.certificate.lower:
            return row
        proof = replace(row.certificate, lower=lower, duals=(), leaves=(), tree=tree)
        return replace(row, certificate=proof)

    def shifted(self, row: Row, relaxed: Relaxation) -> Row:
        """The row with curvature moved into the ridge, which takes no search."""
        model, alone = row.model(relaxed.eta), not self.exact
        root = better_root(
            row.program, relaxed, model, row.certificate, self.tol, self.finish, alone=alone
        )
        return row if root is None else self.proved(row, root.tree, root.lower)

    def searched(self, row: Row, relaxed: Relaxation) -> Row:
        """The row after an exact search, which has its share of the time that is left."""
        program, known = row.program, row.certificate
        # Without any feature there is nothing to search.
        if program.never.all() or not wide_gap(program, known, self.tol):
            return row
        until = self.finish.part(1.0 / (len(self.grid) - len(self.rows)))
        try:
            model = row.model(relaxed.eta)
            search = ExactSearch(program, relaxed, model, self.tol, None, until, self.exact)
        except TimeUp:
            self.cut |= until.cut
            return row
        budget = search.budget(self.exact)
        most = min(self.most_nodes, budget)
        done = search.run(lambda: search.hopeless(budget), most, self.callback)
        self.steps += done.newton_steps
        limited = until.cut or done.nodes >= most or search.hopeless(budget)
        # What neither ended nor met a limit was ended by Ctrl-C.
        self.interrupted |= (done.open > 0 and not limited) or done.lower == -math.inf
        row = self.proved(row.or_found(done.model), done.tree, done.lower)
        return replace(row, nodes=done.nodes)

    def state(self) -> WalkState:
        """Where the walk stands: what is only ever added to is shared, not copied."""
        assert self.last is not None
        return WalkState(
            rows=tuple(self.rows),
            duals=tuple(self.shared.duals),
            curves=tuple(self.shared.curves),
            batches=tuple(self.workspace.batches),
            last=self.last,
            before=self.before,
            known=tuple(self.known),
            sizes={size: point.t for size, point in self.sizes.items()},
            relaxed_sizes=tuple(sorted(self.relaxed_sizes)),
            steps=self.steps,
            passes=self.program.matrix.passes - self.first_pass,
            seconds=self.seconds,
        )

    def save(self, *, now: bool) -> None:
        """The last clean state into the file, where there is one."""
        if self.file is not None and self.clean is not None:
            self.file.save(self.clean, now=now)

    def take_up(self) -> None:
        """Stand where the file was saved."""
        found = None if self.file is None else self.file.read(self.posed, self.shared.curve)
        if found is None:
            return
        state, proved = found
        self.rows, self.known = list(state.rows), list(state.known)
        self.shared.restore(state.duals, state.curves, proved)
        for features in state.batches:
            self.workspace.add(self.program, features)
        self.last, self.before = state.last, state.before
        self.workspace.keep(self.last.point)
        for size, t in state.sizes.items():
            self.sizes[size] = dual_point_at(self.program.with_budget(size), t)
        self.relaxed_sizes = set(state.relaxed_sizes)
        self.steps, self.earlier = state.steps, state.seconds
        self.first_pass -= state.passes

    def settled(self) -> str:
        """Why the rest of the grid is proved not to pay; empty where it is not."""
        row, here, last = self.rows[-1], self.grid[len(self.rows) - 1], self.grid[-1]
        if self.stop is None or here == last:
            return ""
        end = self.posed(last)
        ends = [(row.upper_at(end), self.shared.lower(end))]
        if self.by_price:
            lower = max(row.certificate.lower, self.shared.lower(row.program))
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
        """The rows, each with the best of all dual vectors and models, and their certificates."""
        if not reason and len(self.rows) < len(self.grid):
            cause = "Interrupted" if self.interrupted else "The time limit was reached"
            left = len(self.grid) - len(self.rows)
            reason = f"{cause} with {left} point{'s' * (left != 1)} left to do."
        rows: list[Row] = []
        for row in self.rows:
            if not self.deadline.late(scan=2):
                better = self.shared.better(row.program, row.certificate)
                row = replace(row, certificate=better)
            # In k, models of later points have too many features.
            rows.append(row.or_better(self.rows if self.by_price else rows[-1:]))
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
