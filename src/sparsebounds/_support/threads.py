"""How many threads compute: one for small work, several for large products.

BLAS wakes its threads even for products of a few microseconds, and they spin while they wait for
one another. Where a search makes thousands of such products that costs more than it gains, and far
more where other work wants the cores. Inside `one_thread` BLAS therefore has one thread, whatever
the environment says. Large products are cut into pieces instead (`spread`): each is the work of one
thread, and none waits for another.

There are never more threads than BLAS was allowed when `one_thread` was entered, so that
OMP_NUM_THREADS, threadpoolctl's limits and those that joblib and Dask give to their workers hold;
and there is one only, where several threads of Python are inside at a time.

The number belongs to the process in some libraries (OpenBLAS), and to the thread that asks in
others (MKL, OpenMP). A thread that finds it lowered already has nothing to give back; one that
lowered it for the process, and leaves before others do, hands it over to one that stays.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux says how much processor time a container may use: microseconds, and of how many."""

_lock = threading.RLock()
_inside: dict[int, dict[Any, int]] = {}
"""The threads inside `one_thread`; for each the libraries to be given back their number."""


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS has one thread inside; however it is left, the number is what it was."""
    # The outermost of this thread counts. An interrupt in `_limit` is undone too.
    outermost = threading.get_ident() not in _inside
    try:
        if outermost:
            _limit()
        yield
    finally:
        if outermost:
            _give_back()


def threads() -> int:
    """How many threads a large product may use here and now."""
    mine = _inside.get(threading.get_ident())
    if not mine or len(_inside) > 1:
        return 1
    return min(_cores(), *(mine.get(library, 1) for library in _libraries()))


def spread(work: Callable[[slice], T], length: int, pieces: float) -> list[T]:
    """The work on slices that cover range(length), in order; each by a thread of its own.

    There are at most `pieces` slices: as many as are worth the trouble.
    """
    count = 1 if pieces < 2.0 else min(threads(), int(pieces), length)
    if count < 2:
        return [work(slice(0, length))]
    cuts = [length * i // count for i in range(count + 1)]
    first, *rest = (slice(start, stop) for start, stop in pairwise(cuts))
    # The context brings NumPy's settings for overflow along.
    coming = [_pool().submit(copy_context().run, work, part) for part in rest]
    try:
        return [work(first), *(one.result() for one in coming)]
    except BaseException:
        for one in coming:
            one.cancel()
        wait(coming)  # nobody writes on into what the caller gives up
        raise


def _limit() -> None:
    with _lock:
        mine = _inside[threading.get_ident()] = {}
        for library in _libraries():
            allowed = library.get_num_threads() or 1
            if allowed > 1:
                mine[library] = allowed
                _set(library, 1)
                if library.get_num_threads() == allowed:
                    del mine[library]  # another thread has the say


def _give_back() -> None:
    with _lock:
        mine = _inside.pop(threading.get_ident(), {})
        for library, allowed in mine.items():
            others = _inside.values()
            if others and not any(library in other for other in others):
                next(iter(others))[library] = allowed
            else:
                _set(library, allowed)


def _set(library: Any, count: int) -> None:
    library.set_num_threads(count)
    # threadpoolctl 3.8 listens to the thread that asked first, until that says it is done.
    done = getattr(library, "clear_controlling_thread", None)
    if done is not None:
        done()


@cache
def _libraries() -> tuple[Any, ...]:
    """The BLAS libraries that are loaded. Finding them takes milliseconds: it is done once."""
    import_module("scipy.linalg")  # it brings a BLAS of its own
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


@cache
def _cores() -> int:
    """Processors that this process may use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        allowed, period = QUOTA.read_text().split()
        return max(1, min(count or 1, int(allowed) // int(period)))
    except (OSError, ValueError):  # no container, or one without a limit: "max 100000"
        return count or 1


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads beside the caller's, started as they are needed."""
    return ThreadPoolExecutor(
        max(1, _cores() - 1), thread_name_prefix="sparsebounds-product", initializer=_limit_worker
    )


def _limit_worker() -> None:
    """One thread of BLAS, where the number is each thread's own."""
    for library in _libraries():
        if (library.get_num_threads() or 1) > 1:
            _set(library, 1)


def _forked() -> None:
    """A child process has the thread that forked, and no other."""
    global _lock
    _lock = threading.RLock()
    _pool.cache_clear()
    mine = _inside.pop(threading.get_ident(), None)
    owed = {library: count for other in _inside.values() for library, count in other.items()}
    _inside.clear()
    if mine is not None:
        _inside[threading.get_ident()] = owed | mine
    else:
        for library, count in owed.items():
            _set(library, count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
