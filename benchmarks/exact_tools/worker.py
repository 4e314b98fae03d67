"""A process for one tool: it keeps what was compiled, and is killed where a tool overstays.

The clock, and the peak of memory above what was held before, are taken in there.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import multiprocessing
import os
import time
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.exact_tools.base import Claim, ExactTool, Task
from benchmarks.problems import l0_max
from benchmarks.scaling import status
from benchmarks.timing import ENOUGH, best_of, timed

REPEATS = 5
"""Runs timed, the best of which counts; fewer where they take seconds."""

PATIENCE = 60.0
"""Seconds beyond the limit, for imports, compilers and a last node; then it is killed."""

WARM = 10.0
"""Seconds for the run that a compiler is warmed up with."""


@dataclass(frozen=True)
class Report:
    """What came back."""

    seconds: float
    processor: float
    memory: int
    claim: Claim


class Worker:
    """The process of one tool, started when needed and again after a crash."""

    def __init__(self, tool: ExactTool) -> None:
        self.tool = tool
        self._process: Any = None
        self._pipe: Any = None

    def ask(self, task: Task) -> Report:
        """Run the task; RuntimeError with the reason where that failed."""
        if self._process is None or not self._process.is_alive():
            self._start()
        self._pipe.send(task)
        try:
            if not self._pipe.poll(task.limit + ENOUGH + PATIENCE):
                self.stop()
                raise RuntimeError(f"killed {PATIENCE:.0f} s after its time")
            answer = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            raise RuntimeError(f"crashed, exit status {code}") from None
        if isinstance(answer, str):
            raise RuntimeError(answer)
        assert isinstance(answer, Report)
        return answer

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(self.tool, other), daemon=True)
        self._process.start()
        other.close()  # so that a crash closes the pipe

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def serve(tool: ExactTool, pipe: Connection) -> None:
    """The other process: answers tasks until the pipe is closed."""
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        warmed: set[tuple[str, str]] = set()
        while True:
            try:
                task = pipe.recv()
            except EOFError:
                return
            try:
                tool.load()
                kind = task.problem.form, task.problem.loss
                if tool.compiles and kind not in warmed:
                    tool.run(corner(task))
                    warmed.add(kind)
                pipe.send(measured(tool, task))
            except Exception as error:
                pipe.send(f"failed: {type(error).__name__}: {error}")


def measured(tool: ExactTool, task: Task) -> Report:
    """The best time of a few runs, the peak of all, the last claim."""
    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)  # what an earlier task left behind is not this one's to use again
    held = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is held now
    processor, claims = [], []

    def once() -> float:
        start = time.process_time()
        seconds, claim = timed(lambda: tool.run(task))
        processor.append(time.process_time() - start)
        claims.append(claim)
        return seconds

    seconds = best_of(once, most=REPEATS)
    return Report(seconds, min(processor), max(0, status("VmHWM") - held), claims[-1])


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
