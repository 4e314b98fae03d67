"""python -m benchmarks.exact [--bars] [--only NAME ...] [--quick] [--limit SECONDS] [--no-save]

Proved optima, ours against other software: one thread, one setting for all programs, the same
objective evaluated by us, the same gap relative to it, the same time limit. --bars runs the seeds
that the bars compare; without it 40 programs more are counted.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import exact_report, machine
from benchmarks.exact_bars import judge
from benchmarks.exact_problems import BAR_PROBLEMS, EXACT_PROBLEMS, QUICK
from benchmarks.exact_rows import GAP, ExactRow, Outcome
from benchmarks.exact_tools import EXACT_TOOLS, OURS, Task
from benchmarks.exact_tools.worker import Worker
from benchmarks.problems import Unavailable
from sparsebounds import Program, solve
from sparsebounds.models import refit

Say = Callable[[str], None]
LIMIT = 60.0
"""Seconds for each tool and program."""


def run(
    names: Iterable[str], limit: float, say: Say = print
) -> tuple[list[ExactRow], dict[str, str]]:
    """Rows of the programs named, and why others could not be made."""
    rows, missing = [], {}
    workers = [Worker(tool) for tool in EXACT_TOOLS]
    for name in names:
        try:
            row = measure(name, limit, workers, say)
        except Unavailable as reason:
            missing[name] = str(reason)
            say(f"{name} not run: {reason}")
            continue
        rows.append(row)
    for worker in workers:
        worker.stop()
    return rows, missing


def measure(name: str, limit: float, workers: Iterable[Worker], say: Say) -> ExactRow:
    """Every tool on one program."""
    problem = EXACT_PROBLEMS[name]().stored("F")
    program = problem.program()
    start = solve(
        problem.X, problem.y, k=problem.k, l0=problem.l0, ridge=problem.ridge, loss=problem.loss
    )
    row = ExactRow(name, problem.shape, problem.loss, problem.form, start.upper)
    task = Task(problem, GAP, limit, start.coef, start.upper, float(program.null))
    say(f"{name}: {start.upper:.8g} without a search, gap {start.gap / abs(start.upper):.2%}")
    for worker in workers:
        outcome, coef = attempt(worker, task, program)
        if outcome.finished and outcome.value < task.value and worker.tool is OURS:
            # The yardstick was short: everybody has the better one, ours runs again.
            task = replace(task, start=coef, value=outcome.value)
            outcome, _ = attempt(worker, task, program)
        row.cells[worker.tool.name] = outcome
    row.refute()
    for outcome in row.cells.values():
        say(f"  {outcome.tool}: {exact_report.words(outcome)}")
    return row


def attempt(worker: Worker, task: Task, program: Program) -> tuple[Outcome, Any]:
    """One tool's claim, its model refitted by us; its coefficients."""
    tool = worker.tool
    reason = tool.reason_to_skip(task.problem)
    if reason is not None:
        return Outcome(tool.name, reason=reason), None
    try:
        report = worker.ask(task)
    except RuntimeError as error:
        return Outcome(tool.name, reason=str(error)), None
    claim, outcome = report.claim, Outcome(tool.name)
    outcome.seconds, outcome.processor = report.seconds, report.processor
    outcome.memory = report.memory
    outcome.nodes, outcome.lower, outcome.finished = claim.nodes, claim.lower, claim.finished
    support = np.flatnonzero(claim.coef)
    if program.k is not None and len(support) > program.k:
        outcome.value = math.inf
    else:
        outcome.value = refit(program, support).value
    return outcome, claim.coef


def main() -> None:
    """Run, print one table, save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact", description=__doc__)
    parser.add_argument("--bars", action="store_true", help="the seeds of the bars, not the 40")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs whose name holds NAME")
    parser.add_argument(
        "--quick", action="store_true", help="a few small programs: a minute or two"
    )
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for each")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    options = parser.parse_args()
    names = list(QUICK if options.quick else BAR_PROBLEMS if options.bars else EXACT_PROBLEMS)
    if options.only:
        names = [name for name in EXACT_PROBLEMS if any(part in name for part in options.only)]
        if not names:
            parser.error(f"no program of that name; there are: {', '.join(EXACT_PROBLEMS)}")
    rows, missing = run(names, options.limit, say=lambda text: print(text, flush=True))
    about, verdicts = machine.describe(exact_report.PACKAGES), judge(rows, options.limit)
    exact_report.page(rows, verdicts, missing, about, options.limit).show()
    part = options.quick or options.only or options.bars or options.limit != LIMIT
    if not (part or options.no_save):  # part of the table never replaces all of it
        for path in exact_report.save(rows, verdicts, missing, about, options.limit):
            print(f"saved {path}")


if __name__ == "__main__":
    main()
