"""The walk along the grid: budgets ascending or prices descending, each point from the last.

relax    from the last point's relaxed solution and dual vector, on the columns read so far
model    from the last point's models: the beam goes on from where it stood. At the end of a walk
         in k, back down: the next larger model without its least feature, and swaps
bounds   at the end, every point takes the best of all dual vectors (`shared`) and of all models.
         In k: a model with fewer features is feasible for a larger k, so objectives never grow.
         In l0: every model is feasible at every price, and its value is linear in the price
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import RELAX, Deadline, TimeUp
from sparsebounds.bounds import DualPoint, dual_point_at, screen_at
from sparsebounds.certificates import Tree
from sparsebounds.exact import ExactSearch
from sparsebounds.models import Pool, Search
from sparsebounds.paths.checkpoint import PathCheckpoint, WalkState
from sparsebounds.paths.course import Course
from sparsebounds.paths.rows import Row
from sparsebounds.paths.shared import SharedBounds, coarse
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, Workspace, relaxation_of
from sparsebounds.solving import CLOSED, best_leaves, better_root, wide_gap

AHEAD = 0.75
"""How far relaxed coefficients are expected to go on as they went from the last point to this."""

SIZES_KEPT = 4
"""Dual points of budgets that a path in l0 keeps whole for its next prices."""


@dataclass(eq=False)
class Walk(Course):
    """One path of a convex loss: what is known so far, and the rows done."""

    known: list[Index] = field(default_factory=list)
    """Good supports for the next point, best first."""

    plain: bool = False
    """Whether relaxations alone are to prove something."""

    def __post_init__(self) -> None:
        super().__post_init__()
        program, grid = self.program, self.grid
        self.shared = SharedBounds(program, None if self.by_price else [int(k) for k in grid])
        self.workspace = Workspace(program)
        self.columns = Pool(program, self.workspace)
        self.last: Relaxation | None = None
        self.before: Vector | None = None
        """The relaxed coefficients at the point before the last one."""

        self.sizes: dict[int, DualPoint] = {}
        self.relaxed_sizes: set[int] = set()
        self.file: PathCheckpoint | None = None
        self.clean: WalkState | None = None
        """The last state that no limit and no Ctrl-C has touched: what a file may hold."""

        if self.checkpoint is not None:
            nodes = self.most_nodes if self.exact else None
            kind = "auto" if self.exact == "auto" else nodes
            identity = self.checkpoint, program, grid, self.tol, self.stop, kind
            self.file = PathCheckpoint(*identity)
            self.take_up()

    def look_ahead(self) -> None:
        self.relax(self.posed(self.grid[-1]), None)
        self.last = None

    def lower(self, program: Program) -> float:
        return self.shared.lower(program)

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
        brief = self.plain or search.interrupted
        found = search.quick(goal) if brief else search.run(goal)
        self.interrupted |= search.interrupted
        self.cut |= until.cut
        row = Row.of(program, found, relaxed.point.t, lower, duals, leaves)
        row = row.or_better(self.rows[::-1])
        if not self.plain and not self.late() and not self.interrupted:
            row = self.shifted(row, relaxed)
        if self.exact and not self.late() and not self.interrupted:
            row = self.searched(row, relaxed)
        self.known = [row.features, *search.grown]
        self.last, self.before = relaxed, before
        screened = screen_at(program, relaxed.point, row.certificate.upper)
        self.rows.append(replace(row, fixed_in=screened.fixed_in, seconds=clock.seconds))
        if self.file is not None and not self.late() and not self.interrupted:
            self.clean = self.state()
            self.save(now=False)
        self.report(row, value)

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
        known = [row.features for row in self.rows]
        search = Search(self.rows[-1].program, self.last, known, self.finish, self.columns)
        for i in range(len(self.rows) - 2, -1, -1):
            if self.late() or self.interrupted:
                break
            row, larger = self.rows[i], self.rows[i + 1]
            surplus = max(0, larger.counted - int(self.grid[i]))
            model = larger.model(math.nan)
            if self.program.ball is not None:  # its multiplier is not at hand
                model = search.model(larger.features)
            try:
                support = search.shrunk(model, surplus)
            except TimeUp:
                break
            if not np.array_equal(support, row.features):
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
        most = self.most_nodes
        done = search.run(lambda: search.spent(budget), most, self.callback)
        self.steps += done.newton_steps
        limited = until.cut or done.nodes >= most or search.spent(budget)
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

    def finished(self) -> list[Row]:
        rows: list[Row] = []
        for row in self.rows:
            if not self.deadline.late(scan=2):
                better = self.shared.better(row.program, row.certificate)
                row = replace(row, certificate=better)
            # In k, models of later points have too many features.
            rows.append(row.or_better(self.rows if self.by_price else rows[-1:]))
        return rows
