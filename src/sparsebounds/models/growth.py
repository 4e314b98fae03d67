"""Supports of whole groups that grow by one group at a time, several of them together.

With M = H_SS + R = L L^T and V = L^-1 H_S., the rows of a support S, a group g outside has

    rho_g = l_g - V_g^T L^-1 l_S     S_g = H_gg + R_g - V_g^T V_g

and gains rho_g.S_g^-1 rho_g / 2 when it enters. Its own rows are then T (H_g. - V_g^T V), where
T S_g T^T = 1: they change rho and S of all other groups, and nothing is factored again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import whiteners

if TYPE_CHECKING:
    from sparsebounds.models.exchange import Quadratic


class Growth:
    """Some supports in q with the same number of groups, one per row."""

    def __init__(self, model: Quadratic, starts: Sequence[Index], fixed: Mask) -> None:
        """`fixed` features do not enter."""
        slabs, count = model.slabs, len(starts)
        self._model, self._slabs = model, slabs
        self._entering: Mask = np.tile(~fixed[slabs.leaders], (count, 1))
        self._rows = np.zeros((0, count, len(slabs.columns)))
        self._rho = np.tile(slabs.spread(model.linear), (count, 1))
        self._schur = [np.repeat(own[:, :, None], count, axis=2) for own, _ in model.own]
        groups = [np.unique(slabs.number[start]) for start in starts]
        for some in zip(*groups, strict=True):
            self.grow(np.arange(count), np.array(some))

    @np.errstate(all="ignore")
    def offers(self, values: Vector) -> Vector:
        """q once a group is added, where it has these values: a row per support."""
        offered = values + self._model.price[self._slabs.leaders]
        offered -= 0.5 * self._slabs.forms(self._schur, self._rho, self._model.own)
        return np.where(self._entering, np.fmin(offered, np.inf), np.inf)

    def members(self, group: int) -> list[int]:
        """The features of a group."""
        start, size = self._slabs.starts[group], self._slabs.sizes[group]
        features: list[int] = self._slabs.columns[start : start + size].tolist()
        return features

    @np.errstate(all="ignore")
    def grow(self, parents: Index, groups: Index) -> None:
        """Go on with some of the supports, each with one more group."""
        model, slabs, old = self._model, self._slabs, len(self._rows)
        at, real = slabs.places(groups)
        rows = np.empty((old + at.shape[1], len(groups), self._rows.shape[2]))
        np.take(self._rows, parents, axis=1, out=rows[:old], mode="clip")
        features, before = slabs.columns[at], rows[:old].transpose(1, 0, 2)
        fresh = slabs.spread(model.hessian[features])
        fresh -= np.matmul(np.take_along_axis(before, at[:, None], axis=2).mT, before)
        fresh[~real] = 0.0
        own = np.take_along_axis(fresh, at[:, None], axis=2)
        own = np.where(real[:, :, None] & real[:, None], own, 0.0)
        least = np.where(real, model.ridge[features], 1.0)
        np.einsum("idd->id", own)[:] += least
        whitener = whiteners(own, least)
        fresh = np.matmul(whitener, fresh)
        self._rho = self._rho[parents]
        pull = np.where(real, np.take_along_axis(self._rho, at, axis=1), 0.0)
        self._rho -= np.matmul(np.matmul(whitener, pull[:, :, None]).mT, fresh)[:, 0]
        schur = [each[:, :, parents] for each in self._schur]
        for slab, each in zip(slabs.slabs, schur, strict=True):
            blocks = slab.blocks(fresh).transpose(0, 2, 1, 3)
            each -= np.matmul(blocks.mT, blocks).transpose(2, 3, 0, 1)
        rows[old:] = fresh.transpose(1, 0, 2)
        self._rows, self._schur = rows, schur
        self._entering = self._entering[parents]
        self._entering[np.arange(len(groups)), groups] = False
