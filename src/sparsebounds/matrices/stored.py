"""A matrix in a file, read block by block within a budget of memory.

Blocks are whole chunks of the file (Zarr, HDF5), or follow the order it is stored in (memory maps,
Parquet). While one block is multiplied a thread reads the next. The budget is shared out: an eighth
for each of two blocks, as much for what a reader needs to unpack one, and a half for columns.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Mask
from sparsebounds._support.errors import InputError
from sparsebounds._support.memory import in_words
from sparsebounds.matrices.blocks import Along, BlockMatrix, Merge, Plan
from sparsebounds.matrices.checks import exact_float
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.progress import Meter
from sparsebounds.matrices.storage import Block, Storage

MEMORY = 1 << 30
"""The budget unless another is stated: 1 GiB."""

BLOCK = 1 << 26
"""Bytes in a block at most, however large the budget: more are read no faster."""

SLIVER = 64
"""Rows (or columns) of a block at least: products with fewer run at a fraction of the speed."""

THREAD = "sparsebounds-read"
"""How the name of the reading thread begins."""

T = TypeVar("T")


class StoredMatrix(BlockMatrix):
    """A matrix on disk, read by blocks; `open_matrix` makes it.

    Parameters
    ----------
    storage : Storage
        The file.
    memory : int, default 1 GiB
        The bytes that this object may hold.
    keep : mask, optional
        The rows to read.

    Examples
    --------
    >>> matrix = sb.open_matrix(np.eye(3), memory="1 MB")
    >>> isinstance(matrix, sb.matrices.StoredMatrix), matrix.shape
    (True, (3, 3))
    """

    def __init__(self, storage: Storage, memory: int = MEMORY, keep: Mask | None = None) -> None:
        self.storage, self.memory, self.names = storage, memory, storage.names
        tall, wide = _block_shape(storage, memory)
        n, m = storage.shape
        cuts = [slice(top, min(n, top + tall)) for top in range(0, n, tall)]
        self._slices = cuts if keep is None else [rows for rows in cuts if keep[rows].any()]
        self._keep = None if keep is None else [np.flatnonzero(keep[rows]) for rows in self._slices]
        heights = (
            [rows.stop - rows.start for rows in cuts]
            if self._keep is None
            else [len(kept) for kept in self._keep]
        )
        widths = [min(m, left + wide) - left for left in range(0, m, wide)]
        super().__init__(heights, widths, memory // 2, exact_float(storage.dtype))
        self.by_columns = storage.tile[1] < m
        self._largest = tall * wide * storage.dtype.itemsize

    def kept(self, keep: Mask) -> StoredMatrix:
        """The same file with its rows `keep` alone."""
        if self._keep is not None:
            raise InputError("Rows have been left out of this matrix already; open it again.")
        return StoredMatrix(self.storage, self.memory, keep)

    def fold(self, plan: Plan, merge: Merge, along: Along) -> Iterator[tuple[int, Any]]:
        grid = (range(len(self.rows)), range(len(self.cols)))
        places = list(product(*grid))
        if not self.storage.by_rows:
            places.sort(key=operator.itemgetter(1))
        wanted = [(i, j, work) for i, j in places if (work := plan(i, j)) is not None]
        rooms = [np.empty(self._largest, np.uint8) for _ in range(min(2, len(wanted)))]
        reads = (
            partial(self._block, i, j, rooms[count % 2]) for count, (i, j, _) in enumerate(wanted)
        )
        merged: dict[int, Any] = {}
        left = Counter(j if along == "rows" else i for i, j, _ in wanted)
        meter = Meter(len(wanted))
        self.storage.check()
        with closing(ahead(reads)) as blocks:
            for (i, j, work), block in zip(wanted, blocks, strict=True):
                result = work(DenseMatrix(block))
                at = j if along == "rows" else i
                merged[at] = merge(merged[at], result) if at in merged else result
                self._count(meter, self._slices[i], self.cols[j].stop - self.cols[j].start)
                left[at] -= 1
                if left[at] == 0:
                    yield at, merged.pop(at)
        self.storage.check()

    def _read(self, index: Index, out: npt.NDArray[np.floating], places: Index) -> None:
        tallest = max(rows.stop - rows.start for rows in self._slices)
        step = max(1, self._largest // (tallest * self.storage.dtype.itemsize))
        pieces = [slice(k, k + step) for k in range(0, len(index), step)]
        touched = sum(self.storage.touched(index[piece]) for piece in pieces)
        if not self.storage.gathers or touched > 1.0:
            # Whole blocks once, rather than the same pages for one piece after the other.
            super()._read(index, out, places)
            return
        wanted = list(product(range(len(self.rows)), pieces))
        meter = Meter(len(wanted))
        self.storage.check()
        with closing(ahead(partial(self._columns, i, index[piece]) for i, piece in wanted)) as read:
            for (i, piece), block in zip(wanted, read, strict=True):
                out[self.rows[i], places[piece]] = block
                share = self.storage.touched(index[piece])
                self._count(meter, self._slices[i], share * self.shape[1])
        self.storage.check()

    def _block(self, i: int, j: int, room: Block) -> Block:
        block = self.storage.read(self._slices[i], self.cols[j], room)
        return block if self._keep is None else _rows(block, self._keep[i])

    def _columns(self, i: int, index: Index) -> Block:
        block = self.storage.take(self._slices[i], index)
        return block if self._keep is None else _rows(block, self._keep[i])

    def _count(self, meter: Meter, rows: slice, columns: float) -> None:
        """Add so many columns of these rows, of the whole file, to what was read."""
        entries = (rows.stop - rows.start) * columns
        self.passes += entries / (self.storage.shape[0] * self.storage.shape[1])
        meter.add(int(entries * self.storage.dtype.itemsize), self.passes)


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


def _rows(block: Block, kept: Index) -> Block:
    return block if len(kept) == len(block) else block[kept]


def _block_shape(storage: Storage, memory: int) -> tuple[int, int]:
    """Rows and columns of a block: tiles side by side, along the storage as far as they go."""
    (n, m), size = storage.shape, storage.dtype.itemsize
    entries = max(1, min(BLOCK, memory // 8) // size)
    tall, wide = storage.tile
    if (tall, wide) == (1, m):
        tall = min(n, entries, max(SLIVER, entries // m))
        return tall, max(1, min(m, entries // tall))
    if (tall, wide) == (n, 1):
        wide = min(m, entries, max(SLIVER, entries // n))
        return max(1, min(n, entries // wide)), wide
    if tall * wide * size > memory // 4:
        raise InputError(
            f"X is stored in chunks of {in_words(tall * wide * size)}, of which memory="
            f"{in_words(memory)} holds too few at a time; pass memory of at least "
            f"{in_words(4 * tall * wide * size)}, or store X in smaller chunks."
        )
    # Taller first: a few columns are then read from fewer blocks.
    tall = min(n, tall * max(1, entries // (tall * wide)))
    return tall, min(m, wide * max(1, entries // (tall * wide)))
