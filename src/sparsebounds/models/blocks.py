"""What it would gain to add, drop or swap groups: the table of `exchange`, block by block.

With I the places of a group inside, C = (M^-1_II)^-1 and g the features of a group outside,

    drop I          + x_I.C x_I / 2
    add g           - rho_g.S_g^-1 rho_g / 2    with S_g = H_gg + R_g - B_g H_Sg
    swap I for g    drop I, then add g with rho_g + B_gI C x_I and S_g + B_gI C B_gI^T

Groups of one size go through every step together. Signs are not looked at: a fit decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import positive_inverse, solved

if TYPE_CHECKING:
    from sparsebounds.models.exchange import Quadratic


class Blocks:
    """A support S of whole groups in q."""

    def __init__(self, model: Quadratic, inside: Index) -> None:
        self.model, self.inside = model, inside
        H = model.hessian
        self._inverse = positive_inverse(H[inside[:, None], inside] + np.diag(model.ridge[inside]))
        self._x = self._inverse @ model.linear[inside]
        self._weights = self._inverse @ H[inside]
        self._rho = model.linear - self._x @ H[inside]

    def dropped(self, fixed: Mask) -> tuple[Index, list[Index], Vector]:
        """(leaders, places in S, what dropping costs) of the groups that may leave."""
        leaders = self.inside[~fixed[self.inside]]
        own = self.model.groups.spread(np.arange(len(fixed)))[self.inside]
        places = [np.flatnonzero(own == leader) for leader in leaders]
        costs = [0.5 * float(self._x[one] @ self._held(one)) for one in places]
        return leaders, places, np.array(costs)

    def _held(self, places: Index) -> Vector:
        """C x of a group."""
        return solved(self._inverse[np.ix_(places, places)], self._x[places])

    def added(self, fixed: Mask) -> tuple[Index, Vector]:
        """(leaders, gains) of the groups that may enter."""
        found = list(self._gains(fixed, None))
        return self._joined(found)

    def swapped(self, fixed: Mask, places: Index) -> tuple[Index, Vector]:
        """The same once a group has left."""
        return self._joined(list(self._gains(fixed, places)))

    def _joined(self, found: list[tuple[Index, Vector]]) -> tuple[Index, Vector]:
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        leaders, gains = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(leaders)
        return leaders[order], gains[order]

    def _gains(self, fixed: Mask, gone: Index | None) -> Iterator[tuple[Index, Vector]]:
        model, H = self.model, self.model.hessian
        outside = model.groups.held(~fixed)
        outside[self.inside] = False
        for g in model.groups.by_size(outside):
            rho = self._rho[g]
            across = self._weights[:, g]
            schur = H[g[:, :, None], g[:, None, :]] - np.einsum(
                "sgd,sge->gde", H[self.inside][:, g], across
            )
            np.einsum("gdd->gd", schur)[:] += model.ridge[g]
            if gone is not None:
                block = self._inverse[np.ix_(gone, gone)]
                part = across[gone]
                held = solved(block, part.reshape(len(gone), -1)).reshape(part.shape)
                rho = rho + np.einsum("sgd,s->gd", part, self._held(gone))
                schur = schur + np.einsum("sgd,sge->gde", part, held)
            try:
                ends = np.linalg.solve(schur, rho[:, :, None])[:, :, 0]
            except np.linalg.LinAlgError:
                ends = np.full(rho.shape, np.nan)
            yield g[:, 0], 0.5 * np.einsum("gd,gd->g", rho, ends)
