"""Threads as people have them: without any environment variable, and with one thread.

Wall-clock seconds, the best of several runs that take turns, in six processes per column: two
processes differ by up to a tenth on the same work. The first run of each is not timed. "as it is":
no variable that limits threads is set; "one thread": all of them are 1. "processors": what the
processors spent on the first, over the second; where other work wants them too, trust this column.
Arrays are by rows unless a row says otherwise. `--before SRC` adds a column for another source tree
of sparsebounds, without variables. The bar: no slower than one thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sparsebounds
from benchmarks.common import machine
from benchmarks.common.bars import Verdict
from benchmarks.common.command import finish, parser_of, say
from benchmarks.common.page import Page, caption_of, three

TASKS = Path(__file__).with_name("tasks.py")
SERVE = "import runpy, sys; runpy.run_path(sys.argv[1])['serve'](sys.argv[2])"
LIMITS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "BLIS")
TURNS, FEWEST, MOST = 6, 2, 12
ENOUGH, PATIENCE = 2.0, 15.0
"""Processes of each column, runs of each of them, and the seconds after which there are no more,
few as they are."""

NOISE = 1.05
"""A ratio that two runs of the same work can have."""

SAME = 1e-6


class Process:
    """A process that runs one task whenever it is asked."""

    def __init__(self, task: str, source: Path, *, single: bool) -> None:
        names = {f"{name}_NUM_THREADS" for name in LIMITS} | {"VECLIB_MAXIMUM_THREADS"}
        environment = {name: value for name, value in os.environ.items() if name not in names}
        environment |= dict.fromkeys(names, "1") if single else {}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(TASKS), task],
            env=environment | {"PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.best = self.busy = float("inf")
        self.number = float("nan")
        self._answer()

    def _answer(self) -> list[str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().split()
        if not line:
            assert self._process.stderr is not None
            raise RuntimeError(self._process.stderr.read().strip().splitlines()[-1])
        return line

    def run(self) -> float:
        """Seconds of one more run."""
        assert self._process.stdin is not None
        print("go", file=self._process.stdin, flush=True)
        seconds, busy, self.number = map(float, self._answer())
        self.best, self.busy = min(self.best, seconds), min(self.busy, busy)
        return seconds

    def end(self) -> None:
        """No more questions."""
        self._process.communicate()


def measure(task: str, before: Path | None) -> dict[str, Any]:
    """The best seconds of each column, or the reason why there are none."""
    try:
        turns = [_turn(task, before) for _ in range(TURNS)]
    except RuntimeError as error:
        return {"reason": str(error)}
    every = {name: [turn[name] for turn in turns] for name in turns[0]}
    found: dict[str, Any] = {name: min(one.best for one in ran) for name, ran in every.items()}
    found["processors"] = {name: min(one.busy for one in ran) for name, ran in every.items()}
    ours, single = (every[name][0].number for name in ("as it is", "one thread"))
    found["same"] = abs(ours - single) <= SAME * abs(single)
    return found


def _turn(task: str, before: Path | None) -> dict[str, Process]:
    """One process per column, which run in turn and have ended."""
    here = Path(sparsebounds.__file__).parents[1]
    processes: dict[str, Process] = {}
    try:
        processes["as it is"] = Process(task, here, single=False)
        processes["one thread"] = Process(task, here, single=True)
        if before is not None:
            processes["before"] = Process(task, before, single=False)
        total, runs = 0.0, 0
        while runs < MOST and total < (PATIENCE if runs < FEWEST else ENOUGH):
            total, runs = total + sum(one.run() for one in processes.values()), runs + 1
        return processes
    finally:
        for one in processes.values():
            one.end()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, save."""
    import runpy

    parser = parser_of("scale.threads", __doc__, save=True)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="tasks with NAME in theirs")
    parser.add_argument("--before", type=Path, metavar="SRC", help="another source tree")
    options = parser.parse_args(arguments)
    tasks = [
        task
        for task in runpy.run_path(str(TASKS))["TASKS"]
        if not options.only or any(part in task for part in options.only)
    ]
    columns = ["as it is", "one thread", *(["before"] if options.before else [])]
    rows, lines, verdicts, absences = {}, [], [], []
    for task in tasks:
        found = rows[task] = measure(task, options.before)
        if "reason" in found:
            absences.append(f"{task}: {found['reason']}")
            continue
        ratio = found["as it is"] / found["one thread"]
        other = "" if found["same"] else " (other numbers)"
        times = [three(1e3 * found[name]) for name in columns]
        spent = found["processors"]["as it is"] / found["processors"]["one thread"]
        lines.append([task, *times, f"{ratio:.2f}{other}", f"{spent:.2f}"])
        bar = f"under {NOISE} of one thread"
        verdicts.append(Verdict(task, bar, f"{ratio:.2f}", ratio < NOISE))
        say("  ".join(lines[-1]))
    page = Page(
        title="Milliseconds, with all threads and with one",
        caption=caption_of(__doc__),
        header=["", *columns, "as it is / one thread", "processors"],
        lines=lines,
        verdicts=verdicts,
        absences=absences,
        machine=machine.describe(("sparsebounds", "numpy", "scipy", "threadpoolctl"))
        | {"threads used": f"1 or {os.cpu_count()}"},
    )
    times = {task: found["as it is"] for task, found in rows.items() if "reason" not in found}
    name, data = f"threads-{os.cpu_count()}", {"machine": page.machine, "rows": rows}
    finish(page, options, name, times, data)


if __name__ == "__main__":
    main()
