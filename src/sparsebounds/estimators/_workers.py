"""Processes that share the work of a fit: those of joblib, which start once and stay for a while.

The first of them take about a second to start. Nobody waits for that: the work goes on in this
process, and what is left of it when they are ready goes to them. Short work stays here. Large
arrays are written to shared memory once.

Threads would wait for one another, because most operations are short and hold the interpreter's
lock. Under a threading backend, and inside a job of somebody else's, there is therefore one worker:
this process.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

LONG, START = 0.5, 1.5
"""Seconds of work that are worth handing over, and that are worth starting processes for."""

KEPT = 240.0
"""Seconds that idle processes stay: joblib ends them after 300."""

GRACE = 0.05
"""Seconds in which processes that are there answer."""

clock = time.perf_counter


class Workers:
    """As many processes as a fit may use; 1: there are none."""

    last = -math.inf
    """When any of them was last known to be there."""

    def __init__(self, n_jobs: int | None) -> None:
        self.count: int = effective_n_jobs(n_jobs)
        if getattr(get_active_backend()[0], "uses_threads", False):
            self.count = 1
        self._start: Thread | None = None
        self._failure: Exception | None = None

    def take(self, seconds: float) -> bool:
        """Whether they should do work of so many seconds: it is long, and they are ready.

        The first time that it is long they are started.
        """
        there = clock() - Workers.last < KEPT
        if self.count == 1 or seconds < (LONG if there else START):
            return False
        if self._start is None:
            # The user's settings of joblib belong to this thread.
            pool = Parallel(n_jobs=self.count)
            self._start = Thread(target=self._wake, args=(pool,))
            self._start.start()
            self._start.join(GRACE * there)
        if self._start.is_alive():
            return False
        if self._failure is not None:
            said = f"n_jobs: no process could be started ({self._failure}); one does all the work."
            warnings.warn(said, RuntimeWarning, stacklevel=2)
            self.count = 1
        return self.count > 1

    def run(self, work: Sequence[Callable[[], Any]]) -> list[Any]:
        """What comes of each call, in order; the processes make them."""
        try:
            found: list[Any] = Parallel(n_jobs=self.count)(delayed(call)() for call in work)
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"One of the {self.count} processes that n_jobs asks for was ended from outside, "
                "most often for want of memory: pass fewer jobs, or n_jobs=1."
            ) from error
        Workers.last = clock()
        return found

    def through(self, work: Sequence[Callable[[], Any]], guess: float = 0.0) -> list[Any]:
        """The same, here until the rest is long and they are ready.

        `guess` are the seconds that it may take in all.
        """
        found: list[Any] = []
        rest, began = guess, clock()
        for i, call in enumerate(work):
            left = len(work) - i
            if left > 1 and self.take(rest):
                return found + self.run(work[i:])
            found.append(call())
            rest = (clock() - began) / (i + 1) * (left - 1)
        return found

    def _wake(self, pool: Any) -> None:
        """Start them, and let each load what most work needs."""
        try:
            pool(delayed(exec)("import sparsebounds.solving") for _ in range(self.count))
            Workers.last = clock()
        except Exception as error:
            self._failure = error
