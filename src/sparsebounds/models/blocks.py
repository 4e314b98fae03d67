"""What it would gain to add, drop or swap groups: the table of `exchange`, block by block.

With I the places of a group inside, C = (M^-1_II)^-1 and g the features of a group outside,

    drop I          + x_I.C x_I / 2
    add g           - rho_g.S_g^-1 rho_g / 2    with S_g = H_gg + R_g - B_g H_Sg
    swap I for g    drop I, then add g with rho_g + B_gI C x_I and S_g + B_gI C B_gI^T

Groups of one size go through every step together. Signs are not looked at: a fit decides.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import positive_inverse, solved

if TYPE_CHECKING:
    from sparsebounds.models.exchange import Quadratic


class Blocks:
    """A support S of whole groups in q."""

    def __init__(self, model: Quadratic, inside: Index, fixed: Mask) -> None:
        """`fixed` features neither leave nor enter."""
        self.model, self.inside, self._fixed = model, inside, fixed
        self._across = H = model.hessian[inside]
        self._inverse = positive_inverse(H[:, inside] + np.diag(model.ridge[inside]))
        self._x = self._inverse @ model.linear[inside]
        self._weights = self._inverse @ H
        self._rho = model.linear - self._x @ H

    def dropped(self) -> tuple[Index, list[Index], Vector]:
        """(leaders, places in S, what dropping costs) of the groups that may leave."""
        leaders = self.inside[~self._fixed[self.inside]]
        own = self.model.groups.spread(np.arange(len(self._fixed)))[self.inside]
        places = [np.flatnonzero(own == leader) for leader in leaders]
        costs = [0.5 * float(self._x[one] @ self._held(one)) for one in places]
        return leaders, places, np.array(costs)

    def _held(self, places: Index) -> Vector:
        """C x of a group."""
        return solved(self._inverse[np.ix_(places, places)], self._x[places])

    @cached_property
    def _outside(self) -> list[tuple[Index, Vector]]:
        """(features, S) of the groups that may enter, a row per group, for groups of each size."""
        model, found = self.model, list[tuple[Index, Vector]]()
        open_ = model.groups.held(~self._fixed)
        open_[self.inside] = False
        for g in model.groups.by_size(open_):
            taken = np.einsum("sgd,sge->gde", self._across[:, g], self._weights[:, g])
            schur = model.hessian[g[:, :, None], g[:, None, :]] - taken
            np.einsum("gdd->gd", schur)[:] += model.ridge[g]
            found.append((g, schur))
        return found

    def added(self, gone: Index | None = None) -> tuple[Index, Vector]:
        """(leaders, gains) of the groups that may enter, once a group of S has left, if any."""
        leaders, gains = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for g, schur in self._outside:
            rho = self._rho[g]
            if gone is not None:
                part = self._weights[gone][:, g]
                block = self._inverse[np.ix_(gone, gone)]
                held = solved(block, part.reshape(len(gone), -1)).reshape(part.shape)
                rho = rho + np.einsum("sgd,s->gd", part, self._held(gone))
                schur = schur + np.einsum("sgd,sge->gde", part, held)
            try:
                ends = np.linalg.solve(schur, rho[:, :, None])[:, :, 0]
            except np.linalg.LinAlgError:
                ends = np.full(rho.shape, np.nan)
            leaders.append(g[:, 0])
            gains.append(0.5 * np.einsum("gd,gd->g", rho, ends))
        every = np.concatenate(leaders)
        order = np.argsort(every)
        return every[order], np.concatenate(gains)[order]
