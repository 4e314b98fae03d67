"""Reading ahead: while the caller works on one block, a thread reads the next."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

THREAD = "sparsebounds-read"
"""How the name of the reading thread begins."""


def ahead(reads: Iterable[Callable[[], T]]) -> Generator[T, None, None]:
    """What the reads return, in order; at most two are held, the caller's and the next.

    An error in a read is raised here. The thread ends with the iterator, however that ends: it
    then finishes the one read that it is in.
    """
    waiting = iter(reads)
    first = next(waiting, None)
    if first is None:
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix=THREAD) as pool:
        coming = pool.submit(first)
        for read in waiting:
            block = coming.result()
            coming = pool.submit(read)
            yield block
        yield coming.result()
