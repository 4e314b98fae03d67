"""The relaxation benchmark: ours at a gap of 1e-8, everybody else at 1e-6.

Competitors' tolerances mean different things, so each is tightened until the relaxed value at its
w, computed by us, is within 1e-6 of the best dual value; that setting alone is timed.
"""

from __future__ import annotations

import gc
import math
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from benchmarks.competitors import COMPETITORS, Competitor
from benchmarks.evaluate import relative_gap, relaxed_value
from benchmarks.problems import PROBLEMS, Problem, Unavailable
from benchmarks.rows import Cell, Row
from benchmarks.timing import best_of, product_seconds, seconds_of, timed
from sparsebounds import Program
from sparsebounds.relaxation import Relaxation, RelaxationWarning, relax

OUR_TOLERANCE, THEIR_GAP = 1e-8, 1e-6
PATIENCE = 150.0
"""Seconds after which a competitor's tolerance is not tightened further."""

Say = Callable[[str], None]


def run(names: Iterable[str], say: Say = print) -> tuple[list[Row], dict[str, str]]:
    """Rows of the problems named, and why others could not be made."""
    rows, missing = [], {}
    for name in names:
        say(f"{name} ...")
        try:
            problem = PROBLEMS[name]()
        except Unavailable as reason:
            missing[name] = str(reason)
            say(f"  not run: {reason}")
            continue
        rows.append(measure(name, problem, say))
        del problem
        gc.collect()
    return rows, missing


def measure(name: str, problem: Problem, say: Say) -> Row:
    """Ours, then every competitor, on one problem."""
    row, program = ours(name, problem)
    say(
        f"  ours {1e3 * row.seconds:.2f} ms (+ {1e3 * row.setup:.2f} set-up), "
        f"{row.passes:.2f} passes, {row.products:.1f} X^T a, gap {row.gap:.1e}"
    )
    for competitor in COMPETITORS:
        cell = theirs(competitor, problem, program, row)
        row.cells[competitor.name] = cell
        if cell.reason:
            say(f"  {competitor.name}: {cell.reason}")
        else:
            say(
                f"  {competitor.name} {1e3 * cell.seconds:.2f} ms, "
                f"{cell.seconds / row.seconds:.2f}x, gap {cell.gap:.1e} at {cell.tolerance:g}"
                + (f" ({cell.variant})" if cell.variant else "")
            )
    return row


def ours(name: str, problem: Problem) -> tuple[Row, Program]:
    """relax and Program, timed apart; every run of relax has a Program of its own."""
    problem = problem.stored("F")
    setups: list[float] = []
    last: list[tuple[Program, Relaxation]] = []

    def once() -> float:
        setup, program = timed(problem.program)
        seconds, found = timed(lambda: relax(program, OUR_TOLERANCE))
        setups.append(setup)
        last[:] = [(program, found)]
        return seconds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelaxationWarning)
        relax(problem.tiny().program(), OUR_TOLERANCE)  # first imports
        seconds = best_of(once)
        sharp = relax(last[0][0], 1e-11)
    program, found = last[0]
    row = Row(
        problem=name,
        shape=problem.shape,
        seconds=seconds,
        setup=min(setups),
        passes=found.stats.full_passes,
        newton_steps=found.stats.newton_steps,
        rounds=found.stats.rounds,
        working_set=found.stats.working_set,
        gap=relative_gap(found.value, found.dual_value, program.null),
        status=found.status,
        product=product_seconds(problem),
        value=found.value,
        dual_value=max(found.dual_value, sharp.dual_value),
    )
    return row, program


def theirs(competitor: Competitor, problem: Problem, program: Program, row: Row) -> Cell:
    """One competitor: the fastest of its variants, or why there is none."""
    reason = competitor.reason_to_skip(problem)
    if reason is not None:
        return Cell(competitor.name, reason=reason)
    ready = problem.ready(competitor.order)
    referee = partial(relaxed_value, problem, program)
    cells = [
        one_variant(
            variant, ready, lambda w: relative_gap(referee(w), row.dual_value, program.null)
        )
        for variant in competitor.variants()
        if variant.reason_to_skip(problem) is None
    ]
    return min(cells, key=lambda cell: cell.seconds if cell.reached else math.inf)


def one_variant(competitor: Competitor, ready: Problem, gap_of: Callable[[Any], float]) -> Cell:
    """Its loosest tolerance that reaches the gap, timed."""
    cell = Cell(competitor.name, variant=competitor.variant)
    try:
        competitor.solve(ready.tiny(), competitor.tolerances[0])  # compiles what compiles
    except Exception as error:
        cell.reason = f"failed on a corner of the problem: {type(error).__name__}: {error}"
        return cell
    total = 0.0
    for tolerance in competitor.tolerances:
        attempt = partial(competitor.solve, ready, tolerance)
        try:
            seconds, answer = timed(attempt)
        except Exception as error:
            cell.reason = f"failed at tolerance {tolerance:g}: {type(error).__name__}: {error}"
            return cell
        total += seconds
        gap = gap_of(answer.w)
        cell.seconds, cell.tolerance, cell.gap, cell.inside = seconds, tolerance, gap, answer.inside
        cell.reached = bool(gap <= THEIR_GAP)
        if cell.reached:
            cell.seconds = best_of(partial(seconds_of, attempt), seconds)
            return cell
        if total > PATIENCE:
            break
    cell.reason = f"reached only a gap of {cell.gap:.1e} ({total:.0f} s in all)"
    cell.seconds = math.nan
    return cell
