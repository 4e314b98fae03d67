"""One program: each peer searches in a process of its own, and its claim is judged by us.

The clock, and the peak of memory above what was held before, are taken in that process.
"""

from __future__ import annotations

import ctypes
import gc
import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.common.memory import forget_peak, held
from benchmarks.common.peers.base import Claim, ExactPeer, Task
from benchmarks.common.problems import l0_max
from benchmarks.common.timing import ENOUGH, best_of, timed
from benchmarks.common.worker import Worker, WorkerError
from benchmarks.exact.rows import Outcome
from sparsebounds import Program
from sparsebounds.models import refit

REPEATS = 5
"""Runs timed, the best of which counts; fewer where they take seconds."""

PATIENCE = 60.0
"""Seconds beyond the limit, for imports, compilers and a last node; then it is killed."""

WARM = 10.0
"""Seconds for the run that a compiler is warmed up with."""


class Ours(ExactPeer):
    """`solve(..., exact=True)`, timed in full, certificate included, and run like a peer."""

    name = "sparsebounds"
    packages = ("sparsebounds",)

    def run(self, task: Task) -> Claim:
        found = task.problem.solve(exact=True, tol=task.gap, time_limit=task.limit)
        return Claim(found.coef, found.lower, found.stats.nodes, found.status == "optimal")


OURS = Ours()


@dataclass(frozen=True)
class Report:
    """What came back."""

    seconds: float
    processor: float
    memory: int
    claim: Claim


class Runner:
    """A peer; called in a process of its own, it runs a task."""

    def __init__(self, peer: ExactPeer) -> None:
        self.peer = peer
        self.warmed: set[tuple[str, str]] = set()

    def __call__(self, task: Task) -> Report:
        self.peer.load()
        kind = task.problem.form, task.problem.loss
        if self.peer.compiles and kind not in self.warmed:
            self.peer.run(corner(task))
            self.warmed.add(kind)
        return measured(self.peer, task)


def attempt(peer: ExactPeer, worker: Worker, task: Task, program: Program) -> tuple[Outcome, Any]:
    """One peer's claim, its model refitted by us; its coefficients."""
    reason = peer.reason_to_skip(task.problem)
    if reason is not None:
        return Outcome(peer.name, reason=reason), None
    try:
        report = worker.ask(task, task.limit + ENOUGH + PATIENCE)
    except WorkerError as error:
        return Outcome(peer.name, reason=str(error)), None
    claim, outcome = report.claim, Outcome(peer.name)
    outcome.seconds, outcome.processor = report.seconds, report.processor
    outcome.memory = report.memory
    outcome.nodes, outcome.lower, outcome.finished = claim.nodes, claim.lower, claim.finished
    support = np.flatnonzero(claim.coef)
    if program.k is not None and len(support) > program.k:
        outcome.value = math.inf
    else:
        outcome.value = refit(program, support).value
    return outcome, claim.coef


def measured(peer: ExactPeer, task: Task) -> Report:
    """The best time of a few runs, the peak of all, the last claim."""
    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)  # what an earlier task left behind is not this one's to use again
    before = held()
    forget_peak()
    processor, claims = [], []

    def once() -> float:
        start = time.process_time()
        seconds, claim = timed(lambda: peer.run(task))
        processor.append(time.process_time() - start)
        claims.append(claim)
        return seconds

    seconds = best_of(once, most=REPEATS)
    return Report(seconds, min(processor), max(0, held("VmHWM") - before), claims[-1])


def corner(task: Task) -> Task:
    """A small task of the same types."""
    problem = task.problem.tiny()
    if problem.l0 is not None and problem.ridge is not None:
        most = l0_max(problem.X, problem.y, problem.loss, problem.ridge)
        problem = replace(problem, l0=0.1 * most)
    start = task.start[: problem.shape[1]].copy()
    if not start.any():
        start[0] = 1.0
    mean_square = float(problem.y @ problem.y) / problem.shape[0]
    null = 0.5 * mean_square if problem.loss == "squared" else math.log(2.0)
    return replace(task, problem=problem, limit=WARM, start=start, value=0.5 * null, null=null)
