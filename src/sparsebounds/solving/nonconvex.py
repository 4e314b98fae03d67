"""solve for a non-convex loss: models from many starts, and boxes that shrink while it helps.

relax      the envelope's relaxation on the box that the model without features proves
model      local optima from many starts (`models.local`): a better level
tighten    a smaller box from the level and the last dual vector, its envelope relaxed again, its
           supports tried; while the lower bound rises
rows       for robust losses and the ramp, a bound by what ridges lend to rows; for the truncated
           one, a search over rows and features, which proves more (`exact.rows`)
certify    the level is that of the stored model, and the dual vectors that cut the box are stored:
           whoever verifies makes the same boxes again
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds._support.decimals import counted
from sparsebounds._support.validate import Exact
from sparsebounds.bounds import RowBounds, dual_point_at, enclosed, screen_at, tighter_box
from sparsebounds.exact import EFFORT, RowCheckpoint, RowSearch
from sparsebounds.losses import Truncated
from sparsebounds.models import LocalSearch, Model, as_returned
from sparsebounds.program import Program
from sparsebounds.relaxation import Progress, Relaxation, dual_points, relaxation_of
from sparsebounds.solving.outliers import Outliers
from sparsebounds.solving.proof import better_rows, certificate_from, claimed_box, wide_gap
from sparsebounds.solving.solution import Solution, SolutionStats

ROUNDS = 25
"""The most rounds of tightening."""

ACCURACY = 1e-5
"""Relative gap of the relaxations: boxes leave far more."""

AGAIN = 3
"""The most times that all of it is done again for a better model."""

BETTER = 1e-6
"""A model is better if its objective is smaller by this share, at least."""

WORTH = 0.005
"""A round goes on if the last one closed this share of the gap."""

FIRST = 0.5
"""What the first box costs, next to a tighter one."""

SHARE = 0.4
"""The share of the time left that the first relaxation may take; then the search for models."""


HOPELESS = 0.1
"""The part of its effort after which a search ends that proves no more than the envelope."""

ROW_EFFORT = 2.0 * EFFORT
"""Operations that exact="auto" and exact=False spend on bounds over rows, about."""

MOST_WORK = 2e9
"""Products that the curvature of a node and its factor may take: no bound of rows beyond them."""


def check_search(program: Program, exact: Exact) -> None:
    """Refuse a search to the end where a non-convex loss has none."""
    if exact is True and not (isinstance(program.loss, Truncated) and program.groups.single):
        program.require_convex("exact=True")


@dataclass(frozen=True)
class Tightened:
    """The last convex program of a sequence of boxes, and what led there."""

    convex: Program
    relaxed: Relaxation
    duals: tuple[Vector, ...]
    """The dual vectors per sample that cut the box, in order."""

    bounds: tuple[float, ...]
    """The lower bound of each round; the first is without any cut."""

    steps: int
    """Newton steps."""

    interrupted: bool
    """Whether Ctrl-C ended it."""


def tighten(
    program: Program,
    level: float,
    tol: float,
    start: Relaxation | None = None,
    deadline: Deadline = NEVER,
    *,
    callback: Callable[[Progress], None] | None = None,
) -> Tightened:
    """Boxes from the level and each round's dual vector, until they stop raising the bound.

    Every box but the first is made again for the certificate, before the deadline.
    """
    duals: list[Vector] = []
    convex = enclosed(program, level)
    found = relaxation_of(convex, tol, start=start, time_limit=deadline, callback=callback)
    bounds, steps, interrupted = [found.lower], found.stats.newton_steps, found.interrupted
    for _ in range(ROUNDS):
        gap = level - bounds[-1]
        finish = deadline.before(box=len(duals) + 1)
        late = interrupted or finish.late(box=1, scan=2)
        if late or gap <= tol * max(abs(level), 1e-300):
            break
        cut = [*duals, found.point.t]
        with deadline.timed("box", 1):
            smaller = program.with_box(tighter_box(program, convex, found.point, level))
        relaxed = relaxation_of(smaller, tol, start=found, time_limit=finish, callback=callback)
        steps, interrupted = steps + relaxed.stats.newton_steps, relaxed.interrupted
        if not relaxed.lower > bounds[-1]:
            break
        duals, convex, found = cut, smaller, relaxed
        bounds.append(found.lower)
        if bounds[-1] - bounds[-2] <= WORTH * gap:
            break
    return Tightened(convex, found, tuple(duals), tuple(bounds), steps, interrupted)


def search_rows(
    program: Program,
    model: Model,
    tol: float,
    found: Tightened,
    exact: Exact = "auto",
    node_limit: float = math.inf,
    deadline: Deadline = NEVER,
    callback: Callable[[Any], None] | None = None,
    file: RowCheckpoint | None = None,
) -> RowSearch | None:
    """Bounds of rows for robust losses, and the search for the truncated one, as far as it goes.

    None where there are none. With a file the search goes on from it, and is saved there. Ctrl-C
    ends it, before it has `started` perhaps.
    """
    saved = None if file is None else file.saved
    m = float(np.count_nonzero(~program.never))
    work = m**2 * (program.n + m / 3.0)
    if not RowBounds.known(program) or program.never.all() or work > MOST_WORK:
        return None
    eta = found.relaxed.eta
    if saved is None and program.ball is not None and not eta > 0.0:
        return None
    search = RowSearch(program, model, tol, eta, found.duals, deadline, saved=saved)
    search.limit = most = math.inf if exact is True else ROW_EFFORT

    def save(*, last: bool = False) -> None:
        state = search.state
        if file is not None and state is not None and (last or file.due()):
            file.save(state)

    def stepped(now: Any) -> None:
        save()
        if callback is not None:
            callback(now)

    def enough() -> bool:
        if search.nodes >= node_limit or search.work > most or deadline.late():
            return True
        return search.work > HOPELESS * most and search.lower <= found.bounds[-1]

    try:
        if saved is None:
            search.start()
        search.narrow(stepped)
        if exact and search.started and isinstance(program.loss, Truncated):
            search.run(enough, stepped)
    except KeyboardInterrupt:
        search.interrupted = True
    save(last=True)
    return search


def solve_nonconvex(
    program: Program,
    tol: float,
    deadline: Deadline = NEVER,
    *,
    exact: Exact = "auto",
    node_limit: float = math.inf,
    callback: Callable[[Any], None] | None = None,
    known: tuple[Vector, float] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Solution:
    """`solve` for a program with a non-convex loss; `known` is a model to start from as well."""
    first_pass = program.matrix.passes
    file = None if checkpoint is None else RowCheckpoint(checkpoint, program, tol)
    with deadline.timed("scan", 1):
        _ = program.fingerprint
    with np.errstate(over="ignore", invalid="ignore"):
        with deadline.timed("box", FIRST):
            convex = enclosed(program)
        first = relaxation_of(convex, ACCURACY, time_limit=deadline.part(SHARE), callback=callback)
        models = LocalSearch(program, first, deadline.part(SHARE))
        models.run()
        if known is not None:
            models.refined(*known)
        model, coef, intercept = as_returned(program, models.incumbent)
        found = Tightened(convex, first, (), (first.lower,), 0, models.interrupted)
        if not models.interrupted:
            found = tighten(program, model.value, ACCURACY, first, deadline, callback=callback)
        steps = first.stats.newton_steps + found.steps
        for _ in range(AGAIN):
            if found.interrupted:
                break
            # A better model from the last relaxation makes the box smaller again.
            models.deadline = deadline.before(box=len(found.duals))
            better = as_returned(program, models.refined(found.relaxed.w, found.relaxed.b))
            if not better[0].value < model.value - BETTER * abs(model.value):
                break
            model, coef, intercept = better
            if deadline.late() or models.interrupted:
                break
            found = tighten(program, model.value, ACCURACY, found.relaxed, deadline)
            steps += found.steps
        finish, relaxations = deadline.before(box=len(found.duals)), [found.relaxed]
        interrupted = found.interrupted or models.interrupted
        if not interrupted:
            relaxations = dual_points(found.convex, found.relaxed, ACCURACY, finish)
            interrupted = any(one.interrupted for one in relaxations)
        steps += sum(other.stats.newton_steps for other in relaxations[1:])
        points = [other.point for other in relaxations]
        convex = claimed_box(program, model, found.duals)
        certificate = certificate_from(program, points, model, found.duals, convex)
        best = dual_point_at(convex, points[0].t, points[0].scores)
        screened = screen_at(convex, best, model.value)
        rows, wide = None, wide_gap(program, certificate, tol)
        # Where the gap is closed there are still outliers to be proved.
        wide |= bool(exact) and isinstance(program.loss, Truncated)
        due = (wide and not deadline.late()) or (file is not None and file.saved is not None)
        if due and not interrupted:
            limits = exact, node_limit, deadline, callback, file
            rows = search_rows(program, model, tol, found, *limits)
        if rows is not None:
            other = as_returned(program, rows.model())
            if other[0].value < model.value:
                model, coef, intercept = other
                certificate = certificate_from(program, points, model, found.duals)
            certificate = better_rows(program, model, certificate, rows)
    stats = SolutionStats(
        full_passes=program.matrix.passes - first_pass,
        newton_steps=steps,
        models=models.refitted,
        nodes=0 if rows is None else rows.nodes,
        seconds=deadline.seconds,
        tightening=found.bounds,
        interrupted=interrupted or (rows is not None and rows.interrupted),
    )
    unfinished = ""
    started = rows is not None and rows.started
    searched = started and bool(exact) and isinstance(program.loss, Truncated)
    if rows is not None and searched and rows.left:
        unfinished = f" The search stopped with {rows.left} open of {counted(rows.nodes, 'node')}."
    elif exact is True and wide_gap(program, certificate, tol):
        done = "was not begun: it has no bounds for this problem, or no time was left"
        if searched:
            done = "is done, but its bounds come no closer"
        elif stats.interrupted:
            done = "was interrupted before it had a bound"
        unfinished = f" The search over rows {done}."
    elif stats.interrupted and wide_gap(program, certificate, tol):
        unfinished = " The search was interrupted: a longer one may find a better model."
    solution = Solution.of(
        program, certificate, coef, intercept, screened, found.relaxed, stats, tol, unfinished
    )
    if rows is None or not searched:
        return solution
    return replace(solution, outliers=Outliers.of(program, rows.rows))
