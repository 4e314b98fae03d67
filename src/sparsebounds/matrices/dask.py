"""A dask.array read chunk by chunk, by whichever scheduler is in use: threads or a cluster.

Chunks are the blocks: rows, columns or tiles, as they are, never rechunked. A pass is one graph,

    chunk -> work -> merge, FAN at a time, where the chunks are -> vectors of length n or m,

and a chunk's own task and the work on it are one task, so that no chunk outlives its work. The
plan of the pass (vectors of length n or m) is sent once to each machine. Sums are merged in a fixed
order: the same chunks give the same numbers on every scheduler, whatever is lost and done again.

A thread holds one chunk at a time, and converts it to float64 a little at a time: memory is about
the size of a chunk for each thread.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np

from sparsebounds._support.array import Mask, namespace
from sparsebounds._support.errors import InputError
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.blocks import Along, BlockMatrix, Merge, Plan
from sparsebounds.matrices.checks import exact_float
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.device import DeviceMatrix
from sparsebounds.matrices.progress import Meter
from sparsebounds.matrices.sparse import SparseMatrix

try:
    from dask import threaded
    from dask.base import get_scheduler, optimize
    from dask.callbacks import Callback
    from dask.core import get_dependencies
    from dask.task_spec import Alias, DataNode, List, Task, TaskRef
except ImportError as error:
    raise ImportError(
        "Dask arrays need a dask newer than what is installed, if any: "
        "pip install 'sparsebounds[dask]'."
    ) from error

FAN = 8
"""Results merged at a time."""

TRIES = 3
"""Passes begun before giving up, where machines are lost and data with them."""

CACHE = 1 << 30
"""Bytes of columns kept on this machine: 1 GiB."""

GRAPH = 4 << 20
"""Bytes of plans that are sent with the graph; a larger one goes to the workers directly."""

Heard = Callable[[int, int], None]
"""Told of each block that is finished: its row and its column of blocks."""


class DaskMatrix(BlockMatrix):
    """The chunks of a dask.array of two dimensions: NumPy, scipy.sparse or CuPy arrays."""

    def __init__(self, array: Any, cache: int = CACHE) -> None:
        if any(np.isnan(size) for sizes in array.chunks for size in sizes):
            raise InputError(
                "X is a Dask array whose chunks have unknown sizes; "
                "call X.compute_chunk_sizes() first."
            )
        # A chunk of no rows, as a filter leaves them, is none.
        heights, widths = ([int(size) for size in sizes] for sizes in array.chunks)
        exact = exact_float(array.dtype)
        super().__init__(list(filter(None, heights)), list(filter(None, widths)), cache, exact)
        (ready,) = optimize(array)
        # Chunks that a cluster holds are not in the graph, but kept there as long as the array is.
        self._array, self._graph = array, dict(ready.__dask_graph__())
        self._keys = [
            [key for key, width in zip(row, widths, strict=True) if width]
            for row, height in zip(ready.__dask_keys__(), heights, strict=True)
            if height
        ]

    def kept(self, keep: Mask) -> DaskMatrix:
        """The rows `keep` of the same chunks."""
        matrix = DaskMatrix(self._array[np.flatnonzero(keep)])
        matrix.names = self.names
        return matrix

    def fold(self, plan: Plan, merge: Merge, along: Along) -> Iterator[tuple[int, Any]]:
        wanted = [
            (i, j)
            for i in range(len(self.rows))
            for j in range(len(self.cols))
            if plan(i, j) is not None
        ]
        for attempt in range(TRIES):
            try:
                found = self._pass(plan, merge, along, wanted, self._meter(wanted))
                break
            except Exception as error:
                if not _lost(error):
                    raise
                if attempt == TRIES - 1:
                    raise RuntimeError(
                        f"X could not be read: the cluster lost workers, and data with them, in "
                        f"each of {TRIES} passes. If X was persisted or scattered, load it again; "
                        "if workers run out of memory, use smaller chunks or fewer threads."
                    ) from error
        self.passes += sum(self._entries(i, j) for i, j in wanted) / self.entries
        yield from found

    def _entries(self, i: int, j: int) -> int:
        rows, cols = self.rows[i], self.cols[j]
        return int((rows.stop - rows.start) * (cols.stop - cols.start))

    def _meter(self, wanted: list[tuple[int, int]]) -> Heard | None:
        """What counts the blocks of a pass, where somebody listens."""
        meter, before, read = Meter(len(wanted)), self.passes, 0

        def heard(i: int, j: int) -> None:
            nonlocal read
            entries = self._entries(i, j)
            read += entries
            meter.add(entries * self._array.dtype.itemsize, before + read / self.entries)

        return heard if meter.heard else None

    def _pass(
        self,
        plan: Plan,
        merge: Merge,
        along: Along,
        wanted: list[tuple[int, int]],
        heard: Heard | None,
    ) -> list[tuple[int, Any]]:
        """The results of one graph."""
        get = get_scheduler() or threaded.get
        owner = getattr(get, "__self__", None)
        client = owner if hasattr(owner, "scatter") else None
        name = f"sparsebounds-{uuid.uuid4().hex}"
        topic = name if client is not None and heard else None
        graph: dict[Any, Any] = {}
        shared = _shared(graph, f"plan-{name}", plan, len(wanted), client)
        groups: dict[int, list[Any]] = {}
        for i, j in wanted:
            key = (name, i, j)
            graph[key] = Task(key, _done, self._block(i, j, graph), shared, i, j, topic)
            groups.setdefault(j if along == "rows" else i, []).append(key)
        ends = {at: _tree(graph, f"merge-{name}", at, keys, merge) for at, keys in groups.items()}
        with _hearing(name, client, heard):
            results = get(graph, list(ends.values()))
        return list(zip(ends, results, strict=True))

    def _block(self, i: int, j: int, graph: dict[Any, Any]) -> Any:
        """A chunk's task itself, or a reference to it; what it depends on is added to the graph."""
        key = self._keys[i][j]
        node = self._graph.get(key)
        while isinstance(node, Alias):
            key, node = node.target, self._graph.get(node.target)
        inside = isinstance(node, Task)
        needed = [*get_dependencies(self._graph, key)] if inside else [key]
        while needed:
            other = needed.pop()
            if other in self._graph and other not in graph:
                graph[other] = self._graph[other]
                needed += get_dependencies(self._graph, other)
        return node if inside else TaskRef(key)


@contextmanager
def _hearing(name: str, client: Any, heard: Heard | None) -> Iterator[None]:
    """While in force, `heard` is called for each block that is finished."""
    if heard is None:
        yield
    elif client is not None:
        client.subscribe_topic(name, lambda event: heard(*event[1]))
        try:
            yield
        finally:
            client.unsubscribe_topic(name)
    else:

        def posttask(key: Any, *_: Any) -> None:
            if isinstance(key, tuple) and key[0] == name:
                heard(key[1], key[2])

        with Callback(posttask=posttask):
            yield


def _shared(graph: dict[Any, Any], key: str, plan: Plan, count: int, client: Any) -> Any:
    """The plan as tasks take it: as it is, by a node of the graph, or scattered where it is large.

    On a cluster each copy costs its bytes, and a node of the graph a round trip.
    """
    size = _nbytes(plan)
    if size * count <= GRAPH:
        return plan
    large = client is not None and size > GRAPH
    graph[key] = client.scatter(plan, hash=False) if large else DataNode(key, plan)
    return TaskRef(key)


def _nbytes(plan: Any) -> int:
    """The bytes of the arrays in a plan, or in lists in it."""
    values = getattr(plan, "keywords", {}).values()
    parts = (part for value in values for part in (value if type(value) is list else [value]))
    return sum(getattr(part, "nbytes", 0) for part in parts)


def _tree(graph: dict[Any, Any], name: str, at: int, keys: list[Any], merge: Merge) -> Any:
    """Add tasks that merge these keys, a few at a time; the key of the last."""
    level = 0
    while len(keys) > 1:
        level += 1
        merged = []
        for start in range(0, len(keys), FAN):
            key = (name, at, level, start)
            few = List(*(TaskRef(one) for one in keys[start : start + FAN]))
            graph[key] = Task(key, reduce, merge, few)
            merged.append(key)
        keys = merged
    return keys[0]


def _done(chunk: Any, plan: Plan, i: int, j: int, topic: str | None) -> Any:
    """The work of a plan at a block."""
    work = plan(i, j)
    assert work is not None
    result = work(as_block(chunk))
    if topic is not None:
        from distributed import get_worker

        get_worker().log_event(topic, (i, j))
    return result


def as_block(chunk: Any) -> Matrix:
    """A chunk as a matrix, as it is: what is wrong in it shows in its norms."""
    if hasattr(chunk, "tocsc"):
        return SparseMatrix(chunk)
    xp = namespace(chunk)
    if chunk.dtype not in (xp.float32, xp.float64):
        chunk = xp.astype(chunk, xp.float64)
    return DenseMatrix(chunk) if isinstance(chunk, np.ndarray) else DeviceMatrix(chunk)


def _lost(error: Exception) -> bool:
    """Whether this is the loss of workers, or of data that were on them."""
    return isinstance(error, CancelledError) or type(error).__name__ == "KilledWorker"
