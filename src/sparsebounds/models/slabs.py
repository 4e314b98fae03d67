"""Groups of about one size side by side: what is done for many of them is one operation on arrays.

Each group has room for a power of two of columns, and groups with the same room are a slab: an
array with a row per group. Places without a column hold zeros, with a curvature of 1: they change
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import quadratic_forms
from sparsebounds.penalties import Groups


class Slab(NamedTuple):
    """Groups with the same room."""

    groups: slice
    """Among all groups."""

    columns: slice
    """Among all places."""

    room: int

    def blocks(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One number per place, on the last axis, as an array with a row per group."""
        part = values[..., self.columns]
        return part.reshape(*part.shape[:-1], part.shape[-1] // self.room, self.room)


class Slabs:
    """The places of groups. Groups are numbered slab by slab, in the order of their leaders."""

    def __init__(self, groups: Groups) -> None:
        room = 1 << np.ceil(np.log2(groups.sizes)).astype(np.int64)
        order = np.argsort(room, kind="stable")
        room, self.sizes = room[order], groups.sizes[order]
        self.leaders: Index = groups.heads[order]
        self.starts: Index = np.cumsum(room) - room
        """Of each group, among the places."""

        self.number = np.zeros(groups.size, dtype=np.int64)
        """Of the group of each column."""

        self.number[self.leaders] = np.arange(len(order))
        self.number = groups.spread(self.number)
        self.empty: Mask = np.arange(int(room.sum())) >= np.repeat(self.starts + self.sizes, room)
        """Places without a column."""

        self.columns = np.zeros(len(self.empty), dtype=np.int64)
        """Of each place; 0 where it is empty."""

        self.columns[~self.empty] = np.argsort(self.number, kind="stable")
        self.slabs: list[Slab] = []
        for width in np.unique(room).tolist():
            first, last = np.searchsorted(room, (width, width + 1)).tolist()
            start = int(self.starts[first])
            self.slabs.append(
                Slab(slice(first, last), slice(start, start + width * (last - first)), width)
            )

    def spread(self, values: Vector) -> Vector:
        """One number per column, on the last axis, at the places; 0 where they are empty."""
        found = values.take(self.columns, axis=-1)
        found[..., self.empty] = 0.0
        return found

    def places(self, groups: Index) -> tuple[Index, Mask]:
        """(places, real): where the columns of groups are, a row per group, and which are there."""
        inner = np.arange(int(np.max(self.sizes[groups], initial=1)))
        real = inner < self.sizes[groups, None]
        return np.where(real, self.starts[groups, None] + inner, 0), real

    def own(self, matrix: Vector, ridge: Vector) -> list[tuple[Vector, Vector]]:
        """(M_gg, r_g) of each slab, M = matrix + ridge: the groups along the last axis."""
        found = []
        for slab in self.slabs:
            g, empty = slab.blocks(self.columns).T, slab.blocks(self.empty).T
            own = np.where(empty[:, None] | empty, 0.0, matrix[g[:, None], g])
            least = np.where(empty, 1.0, ridge[g])
            np.einsum("ddg->dg", own)[:] += least
            found.append((own, least))
        return found

    def forms(
        self, schur: Sequence[Vector], rho: Vector, own: Sequence[tuple[Vector, Vector]]
    ) -> Vector:
        """rho.S^-1 rho of all groups, on the last axis; S per slab, with pivots as `own` has."""
        found = []
        for slab, matrix, (_, least) in zip(self.slabs, schur, own, strict=True):
            right = np.ascontiguousarray(np.moveaxis(slab.blocks(rho), -1, 0))
            found.append(quadratic_forms(matrix, right, least))
        return np.concatenate(found, axis=-1)
