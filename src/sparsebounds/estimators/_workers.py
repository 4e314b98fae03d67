"""Processes that share the work of a fit with this one: they start once and stay for a while.

The first of them take most of a second to start. Nobody waits for that: the work goes on here, and
what is left of it when they are ready is shared. Each does a part with one thread, and so does this
process. Short work stays here, until there was so much of it that a start would have paid.

Threads would wait for one another, because most operations are short and hold the interpreter's
lock. Under a threading backend, and inside a job of somebody else's, there is therefore one worker:
this process. Backends that bring workers of their own (Dask, Ray) are given the work by joblib.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky import ProcessPoolExecutor
from joblib.parallel import BACKENDS, get_active_backend

from sparsebounds._support.array import Vector
from sparsebounds._support.threads import one_thread

LONG, START = 0.05, 0.9
"""Seconds of work that are worth sharing, and that are worth starting processes for: in one fit, or
in several."""

STAY, KEPT = 300.0, 240.0
"""Seconds that idle processes stay, and those for which they are sure to."""

GRACE = 0.05
"""Seconds in which processes that are there answer."""

LIMITS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
"""The environment of the other processes."""

MANY, BIG = 4, 1 << 20
"""Workers, and bytes of an array, from which a file is better than to send it to each of them."""

MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory."""

clock = time.perf_counter

Call = Callable[[], Any]


class Lent(np.memmap):
    """A whole array in a file: other processes are told where it is, and read it there."""

    def place(self) -> tuple[Any, ...]:
        """How they open it."""
        return np.memmap, (self.filename, self.dtype, "r", 0, self.shape)


class Workers:
    """As many processes as a fit may use, this one among them; 1: there are no others."""

    pools: ClassVar[dict[tuple[int, int], Any]] = {}
    """The other processes, by the process that started them and how many they are."""

    seen: ClassVar[dict[tuple[int, int], float]] = {}
    """When they were last known to be there."""

    missed = 0.0
    """Seconds of work that fits would have shared since a start, had others been there."""

    def __init__(self, n_jobs: int | None) -> None:
        self.count: int = effective_n_jobs(n_jobs)
        backend = get_active_backend()[0]
        if getattr(backend, "uses_threads", False):
            self.count = 1
        self._own = type(backend) is BACKENDS["loky"]
        self._start: list[Future[Any]] | None = None
        self._counted = 0.0

    def take(self, seconds: float) -> bool:
        """Whether they should share work of so many seconds: it is long, and they are ready.

        They are started once there was enough of it.
        """
        there = clock() - self.seen.get(self._key, -math.inf) < KEPT or not self._own
        if self.count == 1 or seconds < LONG or not (there or self._due(seconds)):
            return False
        if self._own:
            found = self._start is None and self._key in self.pools
            try:
                return self._awake(GRACE * there)
            except Exception as error:
                self._end()
                if (there or found) and isinstance(error, BrokenProcessPool):
                    # Ended while they were idle, or Ctrl-C: others may be started.
                    self._start = None
                    return False
                said = f"n_jobs: no process could be started ({error}); one does all the work."
                warnings.warn(said, RuntimeWarning, stacklevel=2)
                self.count = 1
        return self.count > 1

    def _due(self, seconds: float) -> bool:
        """Whether this fit and those before it would have shared enough for a start.

        Of one fit the longest work counts: it asks for what is left, again and again.
        """
        Workers.missed += max(seconds - self._counted, 0.0)
        self._counted = max(seconds, self._counted)
        return self._start is not None or Workers.missed >= START

    def run(self, work: Sequence[Call]) -> list[Any]:
        """What comes of each call, in order: whoever is free makes the next one."""
        found: list[Any] = [None] * len(work)
        todo, asked = deque(enumerate(work)), list[Future[Any]]()

        def next_one() -> tuple[int, Call] | None:
            with suppress(IndexError):
                return todo.popleft()
            return None

        def there(call: Call) -> Any:
            asked.append(pool.submit(call))
            return asked[-1].result()

        def through(make: Callable[[Call], Any]) -> None:
            for i, call in iter(next_one, None):
                found[i] = make(call)

        def elsewhere() -> None:
            with one_thread():  # so that this process has one thread, too
                through(there)

        try:
            if not self._own:
                return list(Parallel(n_jobs=self.count)(delayed(call)() for call in work))
            pool = self._pool()
            with ThreadPoolExecutor(self.count - 1) as hands:
                try:
                    others = [hands.submit(elsewhere) for _ in range(self.count - 1)]
                    through(lambda call: call())
                    for one in others:
                        one.result()
                except BaseException:
                    # Nobody waits for what is not wanted any more.
                    todo.clear()
                    while any(not (one.running() or one.done()) for one in asked):
                        time.sleep(0.001)  # loky's thread would stumble over work on its way
                    self._end()
                    raise
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"One of the {self.count} processes that n_jobs asks for was ended from outside, "
                "most often for want of memory: pass fewer jobs, or n_jobs=1."
            ) from error
        self.seen[self._key] = clock()
        return found

    @contextmanager
    def lent(self, array: Vector) -> Iterator[Vector]:
        """The array as it is sent to others: in a file, where it is large and they are many."""
        if not self._own or self.count < MANY or array.nbytes < BIG:
            yield array
            return
        folder = MEMORY if MEMORY.is_dir() else None
        with TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as where:
            kept = Lent(Path(where, "array"), array.dtype, "w+", shape=array.shape)
            kept[:] = array
            yield kept

    def through(self, work: Sequence[Call], guess: float = 0.0) -> list[Any]:
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

    def _awake(self, patience: float) -> bool:
        """Whether the others are there; they are started where nobody has done so."""
        if self._start is None:
            Workers.missed = 0.0
            self._start = [self._pool().submit(exec, "pass") for _ in range(self.count - 1)]
            for one in self._start:
                one.add_done_callback(self._answered)
            wait(self._start, patience)
        if not all(one.done() for one in self._start):
            return False
        for one in self._start:
            one.result()
        return True

    def _answered(self, start: Future[Any]) -> None:
        """They are there: for the next fit, too, where this one has ended meanwhile."""
        if start.exception() is None:
            self.seen[self._key] = clock()

    @property
    def _key(self) -> tuple[int, int]:
        return os.getpid(), self.count - 1

    def _pool(self) -> Any:
        """The other processes. Each begins by loading what most work needs.

        Fits in other threads may ask for another number: these stay as they are.
        """
        there = self.pools.get(self._key)
        return there or self.pools.setdefault(self._key, self._executor())

    def _executor(self) -> ProcessPoolExecutor:
        """Processes that will start once there is work for them."""
        return ProcessPoolExecutor(
            self.count - 1,
            job_reducers={Lent: Lent.place},
            timeout=STAY,
            initializer=exec,
            initargs=("import sparsebounds.solving",),
            env=LIMITS,
        )

    def _end(self) -> None:
        """End the other processes, at once."""
        self.seen.pop(self._key, None)
        pool = self.pools.pop(self._key, None)
        if pool is not None:
            pool.shutdown(wait=False, kill_workers=True)
