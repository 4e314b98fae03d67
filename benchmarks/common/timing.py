"""Clocks: the best of several runs, and one product X^T a as the unit of time.

One thread computes, so seconds are those of the processor: other work on the machine is not in
them. What waits for a device, a disk or other processes is measured by the clock on the wall.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from benchmarks.common.problems import Problem

T = TypeVar("T")
FEWEST, MOST = 3, 60
ENOUGH, SHORT = 10.0, 3.0
"""Seconds that the first three runs of one measurement may take, and that all of them may."""


Clock = Callable[[], float]
WALL: Clock = time.perf_counter


def timed(run: Callable[[], T], clock: Clock = time.process_time) -> tuple[float, T]:
    """Seconds and result of one run."""
    start = clock()
    result = run()
    return clock() - start, result


def seconds_of(run: Callable[[], object], clock: Clock = time.process_time) -> float:
    """Seconds of one run."""
    return timed(run, clock)[0]


def best_of(run: Callable[[], float], first: float = math.inf, most: int = MOST) -> float:
    """The least of several runs, each of which says how many seconds it took.

    A run of `first` seconds is among them. At least three where they fit into ten seconds, and more
    of the short ones, up to `most`.
    """
    gc.collect()
    done = math.isfinite(first)
    best, total, count = first, first if done else 0.0, int(done)
    while count < most and (not count or total + best <= (ENOUGH if count < FEWEST else SHORT)):
        seconds = run()
        best, total, count = min(best, seconds), total + seconds, count + 1
    return best


def best_run(
    work: Callable[[], T], most: int = MOST, clock: Clock = time.process_time
) -> tuple[float, T]:
    """The least seconds of several runs (see `best_of`), and the result of the last one."""
    last: list[T] = []

    def once() -> float:
        seconds, result = timed(work, clock)
        last[:] = [result]
        return seconds

    return best_of(once, most=most), last[0]


def product_seconds(problem: Problem) -> float:
    """One X^T a with the array that ours is given, a of its type."""
    a = np.random.default_rng(1).normal(size=problem.shape[0]).astype(problem.X.dtype)
    transposed = problem.X.T
    return best_of(lambda: seconds_of(lambda: transposed @ a))
