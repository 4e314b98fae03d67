"""A matrix read block by block, wherever its blocks are: in a file, or on other machines.

X is cut into rows of blocks and columns of blocks. Everything asked of it is asked of each block,
a matrix in its own right, and merged: sums over the rows of blocks for scores, over the columns of
blocks for products X w. How blocks are read, by whom and in which order, is left to `fold`.

The first pass takes norms and checksums together. Columns once read are kept, within limits: where
blocks hold many columns, reading a few again costs as much as a pass.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from operator import methodcaller
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import up
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.bits import SEEDS, Bits, seeded
from sparsebounds.matrices.cache import ColumnCache
from sparsebounds.matrices.largest import RowSums, RowTerms

Work: TypeAlias = Callable[[Matrix], Any]
"""What is asked of one block."""

Plan: TypeAlias = Callable[[int, int], Work | None]
"""The work at each block (row of blocks, column of blocks); None: the block is not needed.

Plans can be pickled: one travels once to wherever the blocks are, and is asked for work there.
"""


ALONG = 32
"""A pass that is made for a few columns also reads others, at most one in so many."""


class BlockMatrix(Matrix):
    """A grid of blocks; `heights` and `widths` are their numbers of rows and of columns."""

    def __init__(
        self,
        heights: Sequence[int],
        widths: Sequence[int],
        cache: int,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        """`cache` is how many bytes of columns may be kept, as numbers of this dtype."""
        self.rows, self.cols = _ranges(heights), _ranges(widths)
        self.shape = (self.rows[-1].stop, self.cols[-1].stop)
        self.passes = 0.0
        self._cache = ColumnCache(self.shape, cache, dtype)
        self._room = cache // (8 * self.shape[0])
        self._expected: Vector | None = None

    @property
    def batch(self) -> int:
        # A pass takes longer than its products: fewer rounds of more columns, where they fit.
        few = super().batch
        return max(few, min(4 * few, self._cache.most // 2))

    @abstractmethod
    def fold(
        self, plan: Plan, merge: Callable[[Any, Any], Any], along: Literal["rows", "columns"]
    ) -> Iterator[tuple[int, Any]]:
        """Do the work of a plan; merge results, in any order, along the rows or the columns.

        "rows" merges the blocks of each column of blocks, and yields (column of blocks, result);
        "columns" merges those of each row of blocks.
        Blocks read are added to `passes`.
        """

    @cached_property
    def _first_pass(self) -> tuple[Vector, Bits]:
        """Norms and checksums."""
        norms, sums = np.empty(self.shape[1]), np.zeros(SEEDS, dtype=np.uint64)
        plan = partial(_surveys, rows=self.rows, cols=self.cols)
        for j, (part, total) in self.fold(plan, _both, "rows"):
            norms[self.cols[j]] = part
            sums += total
        return norms, sums

    @property
    def norms(self) -> Vector:
        return self._first_pass[0]

    @property
    def signature(self) -> Bits:
        return self._first_pass[1]

    def scores(self, a: Vector) -> Vector:
        out = np.empty(self.shape[1])
        plan = partial(_by_rows, method="scores", array=a, rows=self.rows)
        for j, part in self.fold(plan, operator.add, "rows"):
            out[self.cols[j]] = part
        return out

    def scores_many(self, a: Vector) -> Vector:
        out = np.empty((len(a), self.shape[1]))
        plan = partial(_many, a=a, rows=self.rows)
        for j, part in self.fold(plan, operator.add, "rows"):
            out[:, self.cols[j]] = part
        return out

    def columns(self, index: Index) -> Vector:
        if len(index) > self._cache.most:
            out = np.empty((self.shape[0], len(index)), order="F")
            self._read(index, out, np.arange(len(index)))
            return out
        missing = self._cache.missing(index)
        if len(missing):
            fresh = np.concatenate((missing, self._along(index)))
            kept, places = self._cache.room(len(fresh), needed=index)
            self._read(fresh, kept, places)
            self._cache.keep(fresh, places)
        return self._cache.take(index)

    def expect(self, strength: Vector) -> None:
        self._expected = strength

    def _along(self, index: Index) -> Index:
        """Columns to read along with these, as their pass is paid for: the likeliest ones."""
        strength, self._expected = self._expected, None
        most = min((self._cache.most - len(index)) // 2, self.shape[1] // ALONG)
        if strength is None or self.by_columns or most <= 0:
            return np.zeros(0, dtype=np.int64)
        best = np.argpartition(-strength, most - 1)[:most]
        best = np.setdiff1d(best[strength[best] > 0], index)
        # Of the blocks that are read anyway.
        starts = [cols.start for cols in self.cols]
        block = np.searchsorted(starts, best, side="right")
        paid = np.isin(block, np.searchsorted(starts, index, side="right"))
        return self._cache.missing(best[paid])

    def moments(self, weights: Vector) -> tuple[Vector, Vector]:
        mean, spread = np.empty(self.shape[1]), np.empty(self.shape[1])
        plan = partial(_pools, weights=weights, rows=self.rows)
        for j, (_, center, squares) in self.fold(plan, _pooled, "rows"):
            mean[self.cols[j]], spread[self.cols[j]] = center, squares
        return mean, spread

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        total = np.zeros(len(rows), dtype=np.uint64)
        plan = partial(_sums, seeds=(rows, cols), rows=self.rows, cols=self.cols)
        for _, part in self.fold(plan, operator.add, "rows"):
            total += part
        return total

    def combine(self, weights: Vector) -> Vector:
        out = np.empty((self.shape[0], weights.shape[1]))
        plan = partial(_by_columns, method="combine", array=weights, cols=self.cols)
        for i, part in self.fold(plan, operator.add, "columns"):
            out[self.rows[i]] = part
        return out

    def project(self, basis: Vector) -> Vector:
        out = np.empty((basis.shape[1], self.shape[1]))
        plan = partial(_by_rows, method="project", array=basis, rows=self.rows)
        for j, part in self.fold(plan, operator.add, "rows"):
            out[:, self.cols[j]] = part
        return out

    @property
    def by_columns(self) -> bool:
        return False

    @property
    def by_products(self) -> bool:
        return True

    def misfits(self, left: Vector, right: Vector, weights: Vector, index: Index) -> Vector:
        out = np.empty(len(index))
        places = self._places(index)
        plan = partial(
            _misfits,
            local=self._local(index, places),
            right=[right[:, at] for at in places],
            left=left,
            weights=weights,
            rows=self.rows,
        )
        for j, part in self.fold(plan, operator.add, "rows"):
            out[places[j]] = part
        return out

    def largest(self, terms: RowTerms) -> RowSums:
        if len(self._cache.missing(terms.used)) == 0:
            return super().largest(terms)
        found = [RowSums.none(rows.stop - rows.start, None) for rows in self.rows]
        plan = partial(_largest, terms=terms, cols=self.cols)
        for i, part in self.fold(plan, operator.add, "columns"):
            found[i] = part.closed()
        return RowSums.stacked(found)

    @property
    def room(self) -> int:
        return self._room

    def parts(self, least: int = 1) -> Iterator[Index]:
        # Each may cost a pass: few, as wide as the budget allows.
        every, width = np.arange(self.shape[1]), max(least, self.room, 1)
        return (every[i : i + width] for i in range(0, len(every), width))

    def _read(self, index: Index, out: npt.NDArray[np.floating], places: Index) -> None:
        """Write columns to places in `out`, from every block that holds some of them."""
        inside = self._places(index)
        plan = partial(_takes, local=self._local(index, inside))
        for i, found in self.fold(plan, operator.add, "columns"):
            for j, columns in found:
                out[self.rows[i], places[inside[j]]] = columns

    def _places(self, index: Index) -> list[Index]:
        """Where in `index` the columns of each column of blocks are."""
        return [np.flatnonzero((index >= cols.start) & (index < cols.stop)) for cols in self.cols]

    def _local(self, index: Index, places: list[Index]) -> list[Index]:
        """The columns of `index` as each column of blocks numbers them."""
        return [index[at] - cols.start for at, cols in zip(places, self.cols, strict=True)]


def _ranges(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


# Plans.


def _by_rows(i: int, _: int, method: str, array: Vector, rows: list[slice]) -> Work:
    return methodcaller(method, array[rows[i]])


def _by_columns(_: int, j: int, method: str, array: Vector, cols: list[slice]) -> Work:
    return methodcaller(method, array[cols[j]])


def _many(i: int, _: int, a: Vector, rows: list[slice]) -> Work:
    return methodcaller("scores_many", a[:, rows[i]])


def _sums(i: int, j: int, seeds: tuple[Bits, Bits], rows: list[slice], cols: list[slice]) -> Work:
    return methodcaller("checksum", seeds[0][:, rows[i]], seeds[1][:, cols[j]])


def _surveys(i: int, j: int, rows: list[slice], cols: list[slice]) -> Work:
    return partial(_survey, rows=rows[i], cols=cols[j])


def _pools(i: int, _: int, weights: Vector, rows: list[slice]) -> Work:
    return partial(_moments, weights=weights[rows[i]])


def _takes(_: int, j: int, local: list[Index]) -> Work | None:
    return partial(_taken, block=j, local=local[j]) if len(local[j]) else None


def _misfits(
    i: int,
    j: int,
    local: list[Index],
    right: list[Vector],
    left: Vector,
    weights: Vector,
    rows: list[slice],
) -> Work | None:
    if len(local[j]) == 0:
        return None
    return methodcaller("misfits", left[rows[i]], right[j], weights[rows[i]], local[j])


def _largest(_: int, j: int, terms: RowTerms, cols: list[slice]) -> Work | None:
    here = terms.at(cols[j])
    # The only blocks of their rows send sums, not terms.
    return partial(_tops, terms=here, last=len(cols) == 1) if len(here.used) else None


# Work, and how its results are merged.


def _survey(block: Matrix, rows: slice, cols: slice) -> tuple[Vector, Bits]:
    return block.norms, block.checksum(*seeded(rows, cols))


def _both(one: tuple[Vector, Bits], other: tuple[Vector, Bits]) -> tuple[Vector, Bits]:
    """Norms and checksums of two sets of rows."""
    # Rounded up twice: libraries' hypot is good to one unit in the last place.
    return up(up(np.hypot(one[0], other[0]))), one[1] + other[1]


def _tops(block: Matrix, terms: RowTerms, last: bool) -> RowSums:
    found = block.largest(terms)
    return found.closed() if last else found


def _taken(matrix: Matrix, *, block: int, local: Index) -> list[tuple[int, Vector]]:
    return [(block, matrix.columns(local))]


def _moments(block: Matrix, weights: Vector) -> tuple[float, Vector, Vector]:
    """The share of these rows, and mean and spread of the columns in them."""
    share = float(np.sum(weights))
    if share == 0.0:
        return 0.0, np.zeros(block.shape[1]), np.zeros(block.shape[1])
    mean, spread = block.moments(weights / share)
    return share, mean, share * spread


def _pooled(
    one: tuple[float, Vector, Vector], other: tuple[float, Vector, Vector]
) -> tuple[float, Vector, Vector]:
    """Moments of two sets of rows, from those of each (Chan, Golub and LeVeque)."""
    share = one[0] + other[0]
    if share == 0.0:
        return one
    apart = other[1] - one[1]
    mean = one[1] + (other[0] / share) * apart
    return share, mean, one[2] + other[2] + (one[0] * other[0] / share) * apart**2
