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

Merge: TypeAlias = Callable[[Any, Any], Any]
Along: TypeAlias = Literal["rows", "columns"]

ALONG = 32
"""A pass that is made for a few columns also reads others, at most one in so many."""


class BlockMatrix(Matrix):
    """A grid of blocks; `heights` and `widths` are their numbers of rows and of columns."""

    by_columns = False
    by_products = True
    room: int

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
        self.room = cache // (8 * self.shape[0])
        self._expected: Vector | None = None

    @property
    def batch(self) -> int:
        # A pass takes longer than its products: fewer rounds of more columns, where they fit.
        few = super().batch
        return max(few, min(4 * few, self._cache.most // 2))

    @abstractmethod
    def fold(self, plan: Plan, merge: Merge, along: Along) -> Iterator[tuple[int, Any]]:
        """Do the work of a plan; merge results, in any order, along the rows or the columns.

        "rows" merges the blocks of each column of blocks, and yields (column of blocks, result);
        "columns" merges those of each row of blocks.
        Blocks read are added to `passes`.
        """

    def _across(self, plan: Plan, *lead: int) -> Vector:
        """Sums over the rows of blocks, one number (or `lead` of them) per column."""
        out = np.empty((*lead, self.shape[1]))
        for j, part in self.fold(plan, operator.add, "rows"):
            out[..., self.cols[j]] = part
        return out

    @cached_property
    def _first_pass(self) -> tuple[Vector, Bits]:
        """Norms and checksums."""
        norms, sums = np.empty(self.shape[1]), np.zeros(SEEDS, dtype=np.uint64)
        plan = _plan(_survey, rows=self.rows, cols=self.cols)
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
        return self._across(_plan(_scores, a=a, rows=self.rows))

    def scores_many(self, a: Vector) -> Vector:
        return self._across(_plan(_scores_many, a=a, rows=self.rows), len(a))

    def project(self, basis: Vector) -> Vector:
        return self._across(_plan(_project, basis=basis, rows=self.rows), basis.shape[1])

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
        plan = _plan(_moments, weights=weights, rows=self.rows)
        for j, (_, center, squares) in self.fold(plan, _pooled, "rows"):
            mean[self.cols[j]], spread[self.cols[j]] = center, squares
        # Far from 0, blocks round their means apart, and these spreads are about them; in a
        # column that is constant up to that, there is no spread.
        noise = (self.shape[0] * np.finfo(np.float64).eps * mean) ** 2
        far = np.flatnonzero((noise < spread) & (spread < 1e7 * noise))
        if far.size:
            ones = np.ones((self.shape[0], 1))
            spread[far] = self.misfits(ones, mean[None, far], weights, far)
        return mean, spread

    def checksum(self, rows: Bits, cols: Bits) -> Bits:
        total = np.zeros(len(rows), dtype=np.uint64)
        plan = _plan(_checksum, seeds=(rows, cols), rows=self.rows, cols=self.cols)
        for _, part in self.fold(plan, operator.add, "rows"):
            total += part
        return total

    def combine(self, weights: Vector) -> Vector:
        out = np.empty((self.shape[0], weights.shape[1]))
        plan = _plan(_combine, weights=weights, cols=self.cols)
        for i, part in self.fold(plan, operator.add, "columns"):
            out[self.rows[i]] = part
        return out

    def misfits(self, left: Vector, right: Vector, weights: Vector, index: Index) -> Vector:
        out, (places, local, wanted) = np.empty(len(index)), self._located(index)
        plan = _plan(
            _misfits,
            wanted,
            local=local,
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
        wanted = [j for j, cols in enumerate(self.cols) if len(terms.at(cols).used)]
        plan = _plan(_largest, wanted, terms=terms, cols=self.cols)
        for i, part in self.fold(plan, operator.add, "columns"):
            found[i] = part.closed()
        return RowSums.stacked(found)

    def parts(self, least: int = 1) -> Iterator[Index]:
        # Each may cost a pass: few, as wide as the budget allows.
        every, width = np.arange(self.shape[1]), max(least, self.room, 1)
        return (every[i : i + width] for i in range(0, len(every), width))

    def _read(self, index: Index, out: npt.NDArray[np.floating], places: Index) -> None:
        """Write columns to places in `out`, from every block that holds some of them."""
        inside, local, wanted = self._located(index)
        plan = _plan(_taken, wanted, local=local)
        for i, found in self.fold(plan, operator.add, "columns"):
            for j, columns in found:
                out[self.rows[i], places[inside[j]]] = columns

    def _located(self, index: Index) -> tuple[list[Index], list[Index], list[int]]:
        """For each column of blocks, where in `index` its columns are, and how it numbers them;
        then the columns of blocks that hold any."""
        ranges = self.cols
        places = [np.flatnonzero((index >= cols.start) & (index < cols.stop)) for cols in ranges]
        local = [index[at] - cols.start for at, cols in zip(places, ranges, strict=True)]
        return places, local, [j for j, at in enumerate(places) if len(at)]


def _ranges(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


def _plan(work: Callable[..., Any], wanted: list[int] | None = None, **data: Any) -> Plan:
    """The same work at every block, told its place, or at the `wanted` columns of blocks alone."""
    return partial(_at, work=work, wanted=wanted, **data)


def _at(i: int, j: int, work: Callable[..., Any], wanted: list[int] | None, **data: Any) -> Any:
    return partial(work, i=i, j=j, **data) if wanted is None or j in wanted else None


# Work, and how its results are merged.


def _scores(block: Matrix, i: int, j: int, a: Vector, rows: list[slice]) -> Vector:
    return block.scores(a[rows[i]])


def _scores_many(block: Matrix, i: int, j: int, a: Vector, rows: list[slice]) -> Vector:
    return block.scores_many(a[:, rows[i]])


def _project(block: Matrix, i: int, j: int, basis: Vector, rows: list[slice]) -> Vector:
    return block.project(basis[rows[i]])


def _combine(block: Matrix, i: int, j: int, weights: Vector, cols: list[slice]) -> Vector:
    return block.combine(weights[cols[j]])


def _checksum(
    block: Matrix, i: int, j: int, seeds: tuple[Bits, Bits], rows: list[slice], cols: list[slice]
) -> Bits:
    return block.checksum(seeds[0][:, rows[i]], seeds[1][:, cols[j]])


def _misfits(
    block: Matrix,
    i: int,
    j: int,
    local: list[Index],
    right: list[Vector],
    left: Vector,
    weights: Vector,
    rows: list[slice],
) -> Vector:
    return block.misfits(left[rows[i]], right[j], weights[rows[i]], local[j])


def _taken(block: Matrix, i: int, j: int, local: list[Index]) -> list[tuple[int, Vector]]:
    return [(j, block.columns(local[j]))]


def _largest(block: Matrix, i: int, j: int, terms: RowTerms, cols: list[slice]) -> RowSums:
    found = block.largest(terms.at(cols[j]))
    # The only blocks of their rows send sums, not terms.
    return found.closed() if len(cols) == 1 else found


def _survey(
    block: Matrix, i: int, j: int, rows: list[slice], cols: list[slice]
) -> tuple[Vector, Bits]:
    return block.norms, block.checksum(*seeded(rows[i], cols[j]))


def _both(one: tuple[Vector, Bits], other: tuple[Vector, Bits]) -> tuple[Vector, Bits]:
    """Norms and checksums of two sets of rows."""
    # Rounded up twice: libraries' hypot is good to one unit in the last place.
    return up(up(np.hypot(one[0], other[0]))), one[1] + other[1]


def _moments(
    block: Matrix, i: int, j: int, weights: Vector, rows: list[slice]
) -> tuple[float, Vector, Vector]:
    """The share of these rows, and mean and spread of the columns in them."""
    share = float(np.sum(weights[rows[i]]))
    if share == 0.0:
        return 0.0, np.zeros(block.shape[1]), np.zeros(block.shape[1])
    mean, spread = block.moments(weights[rows[i]] / share)
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
