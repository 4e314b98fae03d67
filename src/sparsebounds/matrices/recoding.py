"""T: a block-diagonal matrix, one square block per group of two or more columns.

Columns X become X T: those of a group are mixed with one another, and a column that stands alone
stays as it is, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sparsebounds._support.array import Array, Home, Index, Mask, Vector
from sparsebounds._support.rounding import TINY, gamma, up
from sparsebounds.penalties import Groups


class Recoding:
    """T of some groups.

    Parameters
    ----------
    groups : Groups
        Of all columns.
    blocks : list of arrays
        For each number of columns per group, two and more in rising order, one block per group in
        the order of their first columns: of shape (groups, columns, columns).
    """

    def __init__(self, groups: Groups, blocks: Sequence[Vector]) -> None:
        self.groups = groups
        self.blocks = list(blocks)

    @classmethod
    def stated(cls, groups: Groups, entries: Vector) -> Recoding:
        """T from its entries: block after block, row after row."""
        blocks, first = [], 0
        for members in groups.several:
            count, size = members.shape
            last = first + count * size**2
            blocks.append(entries[first:last].reshape(count, size, size))
            first = last
        return cls(groups, blocks)

    @staticmethod
    def length(groups: Groups) -> int:
        """How many entries T has."""
        return sum(members.size * members.shape[1] for members in groups.several)

    @property
    def entries(self) -> Vector:
        """All entries, as `stated` takes them."""
        return np.concatenate([block.ravel() for block in self.blocks])

    @cached_property
    def mixed(self) -> Mask:
        """Which columns are mixed with others."""
        found = np.zeros(self.groups.size, dtype=np.bool_)
        for members in self.groups.several:
            found[members] = True
        return found

    @cached_property
    def sizes(self) -> Recoding:
        """The magnitudes of the entries."""
        return Recoding(self.groups, [np.abs(block) for block in self.blocks])

    @cached_property
    def turned(self) -> Recoding:
        """T transposed."""
        return Recoding(self.groups, [block.transpose(0, 2, 1) for block in self.blocks])

    @cached_property
    def undone(self) -> Recoding:
        """The pseudo-inverse of T, for columns of variance 1 or 0: singular values of a T that
        whitens them are above 1/sqrt(columns), or 0."""
        blocks = []
        for block in self.blocks:
            left, values, right = np.linalg.svd(block)
            kept = values > 0.5 / np.sqrt(block.shape[1])
            inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
            blocks.append((right.transpose(0, 2, 1) * inverse[:, None]) @ left.transpose(0, 2, 1))
        return Recoding(self.groups, blocks)

    def times(self, values: Vector) -> Vector:
        """values T: the last of one or two axes are the columns."""
        found = np.array(values)
        for members, block in zip(self.groups.several, self.blocks, strict=True):
            part = values[..., members]
            if values.ndim == 1:
                found[members] = np.matmul(part[:, None], block)[:, 0]
            else:
                found[:, members] = np.matmul(part.transpose(1, 0, 2), block).transpose(1, 0, 2)
        return found

    def times_at(self, home: Home, values: Array) -> Array:
        """The same of a matrix that lives elsewhere."""
        xp = home.xp
        order, parts = [np.flatnonzero(~self.mixed)], []
        parts.append(xp.take(values, home.bring(order[0]), axis=1))
        for members, block in zip(self.groups.several, self.blocks, strict=True):
            count, size = members.shape
            part = xp.take(values, home.bring(members.ravel()), axis=1)
            part = xp.permute_dims(xp.reshape(part, (-1, count, size)), (1, 0, 2))
            part = xp.permute_dims(xp.matmul(part, home.bring(block)), (1, 0, 2))
            parts.append(xp.reshape(part, (-1, count * size)))
            order.append(members.ravel())
        places = np.argsort(np.concatenate(order))
        return xp.take(xp.concat(parts, axis=1), home.bring(places), axis=1)

    def of(self, w: Vector) -> Vector:
        """T w, for a vector or one column per vector."""
        found: Vector = self.turned.times(w.T).T
        return found

    def above(self, values: Vector, extra: float | Vector = 0.0) -> Vector:
        """At least (values + extra) |T| for numbers of 0 or more; `values` where nothing is mixed.

        Columns are the last of one or two axes.
        """
        mixed = self.mixed
        given = np.where(mixed, up(values + extra), values)
        share = 1.0 + 4.0 * gamma(self.groups.largest + 8)
        sums = up(up(self.sizes.times(given) * share) + 4.0 * self.groups.largest * TINY)
        return np.where(mixed, sums, given)

    def part(self, index: Index) -> Recoding | None:
        """T of some columns, which are whole groups in any order; None: nothing is mixed."""
        groups = self.groups.part(index)
        if groups.leaders is None or self.groups.leaders is None:
            return None
        sizes = [members.shape[1] for members in self.groups.several]
        blocks = []
        for members in groups.several:
            place = sizes.index(members.shape[1])
            columns = index[members]
            heads = self.groups.leaders[columns[:, 0]]
            chosen = self.blocks[place][np.searchsorted(self.groups.several[place][:, 0], heads)]
            order = np.argsort(np.argsort(columns, axis=1), axis=1)
            chosen = np.take_along_axis(chosen, order[:, :, None], axis=1)
            blocks.append(np.take_along_axis(chosen, order[:, None, :], axis=2))
        return Recoding(groups, blocks)
