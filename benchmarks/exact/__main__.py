"""python -m benchmarks.exact: who is run, and how a row reads."""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import benchmarks.exact
from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import Page, three
from benchmarks.common.peers.base import Task
from benchmarks.common.peers.el0ps import El0ps, El0psWithoutScreening
from benchmarks.common.peers.l0bnb import L0BnBTree
from benchmarks.common.peers.okridge import OKRidgeTree
from benchmarks.common.peers.scip import SCIP
from benchmarks.common.worker import Worker
from benchmarks.exact.bars import judge
from benchmarks.exact.measure import OURS, Runner, attempt
from benchmarks.exact.problems import BAR_PROBLEMS, PROBLEMS, QUICK
from benchmarks.exact.rows import GAP, ExactRow, Outcome

LIMIT = 60.0
"""Seconds for each peer and program."""

EQUAL = 1e-6


class Optima(Benchmark[ExactRow]):
    """Ours is run like the others, and is the first of them."""

    name, title = "exact", "Proved optima"
    doc = benchmarks.exact.__doc__
    caption = (
        "Every cell: seconds (of the processor) to a proved gap of 1e-4 of the objective, "
        "nodes, nodes per second, MB at the peak above the data. objective and bound are ours. "
        "A tool that did not finish in {limit:g} s shows the gap it claims instead of its time. "
        "worse: its model, refitted by us, less the best known, relative to that. FALSE: it "
        "claims a bound that a known model lies below, by so much."
    )
    header = ("program", "objective", "bound")
    packages = ("sparsebounds", "numpy", "scipy", "el0ps", "l0bnb", "okridge", "pyscipopt")
    quick, quick_help = QUICK, "a few small programs: a minute or two"
    width = 250
    problems = PROBLEMS
    peers = (El0ps(), El0psWithoutScreening(), L0BnBTree(), OKRidgeTree(), SCIP())

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--bars", action="store_true", help="the seeds of the bars, not the 40")
        parser.add_argument(
            "--limit", type=float, default=LIMIT, metavar="SECONDS", help="for each"
        )

    def chosen(self) -> list[str]:
        return list(BAR_PROBLEMS if self.options.bars else PROBLEMS)

    def partial(self) -> bool:
        return bool(self.options.bars or self.options.limit != LIMIT)

    def begin(self) -> None:
        self.caption = type(self).caption.format(limit=self.options.limit)
        self.peers = (OURS, *self.peers)
        self.workers = [Worker(Runner(peer)) for peer in self.peers]

    def end(self) -> None:
        for worker in self.workers:
            worker.stop()

    def measure(self, name: str) -> ExactRow:
        problem = self.problems[name]().stored("F")
        program = problem.program()
        start = problem.solve()
        row = ExactRow(name, problem.shape, problem.loss, problem.form, start.upper)
        task = Task(problem, GAP, self.options.limit, start.coef, start.upper, float(program.null))
        for peer, worker in zip(self.peers, self.workers, strict=True):
            outcome, coef = attempt(peer, worker, task, program)
            if outcome.finished and outcome.value < task.value and peer is OURS:
                # The yardstick was short: everybody has the better one, ours runs again.
                task = replace(task, start=coef, value=outcome.value)
                outcome, _ = attempt(peer, worker, task, program)
            row.cells[peer.name] = outcome
        row.refute()
        return row

    def judge(self, rows: Sequence[ExactRow]) -> list[Verdict]:
        return judge(rows, self.options.limit)

    def lines(self, row: ExactRow) -> list[list[str]]:
        mine = row.cells[OURS.name]
        cells = [words(row.cells[peer.name], row.best) for peer in self.peers]
        return [[row.problem, f"{mine.value:.6g}", f"{mine.lower:.6g}", *cells]]

    def remarks(self) -> list[str]:
        here = importlib.util.find_spec("gurobipy") is not None
        why = "its bundled licence stops near 66 features" if here else "gurobipy is not installed"
        return [f"Gurobi: {why}"]

    def data(
        self, rows: Sequence[ExactRow], missing: Mapping[str, str], page: Page
    ) -> dict[str, Any]:
        return super().data(rows, missing, page) | {"limit": self.options.limit}

    def times(self, row: ExactRow) -> list[dict[str, Any]]:
        mine = row.cells[OURS.name]
        bounds = {"nodes": mine.nodes, "value": mine.value, "lower": mine.lower}
        return [{"row": row.problem, "seconds": mine.seconds, **bounds}]


def words(cell: Outcome, best: float) -> str:
    """An outcome in a few words."""
    if cell.reason:
        return "-"
    gap = "no bound" if math.isnan(cell.gap) else f"gap {cell.gap:.2%}"
    head = f"{three(cell.seconds)} s ({three(cell.processor)})" if cell.finished else gap
    if cell.finished and not (cell.solved or cell.false):
        head += f" but {gap}"
    text = f"{head}, {cell.nodes}, {three(cell.rate)}/s, {three(cell.memory / 1e6)} MB"
    if cell.value > best + EQUAL * abs(best):
        text += f", worse {(cell.value - best) / abs(best):.1e}"
    if cell.false:
        text += f", FALSE {(cell.lower - best) / abs(best):.1e}"
    return text


main = Optima().main

if __name__ == "__main__":
    main()
