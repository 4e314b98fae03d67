"""What it would gain to add, drop or swap groups: the table of `exchange`, block by block.

With I the places of a group inside, C = (M^-1_II)^-1 and g the features of a group outside,

    drop I          + x_I.C x_I / 2
    add g           - rho_g.S_g^-1 rho_g / 2    with S_g = H_gg + R_g - B_g H_Sg
    swap I for g    drop I, then add g with rho_g + B_gI C x_I and S_g + B_gI C B_gI^T

Groups of one size go through every step together. As S_g only grows once I has left, the gain of a
swap is at most that with the old S_g and the new rho_g, which is no system to solve: swaps are
looked at closely where that may be among the best. Signs are not looked at: a fit decides.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import positive_inverse, solved
from sparsebounds.models.moves import Move, first

if TYPE_CHECKING:
    from sparsebounds.models.exchange import Quadratic


CLOSER = 8
"""Times as many swaps as are wanted are looked at closely, per group that leaves, at most."""


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
    def _outside(self) -> list[tuple[Index, Vector, Vector]]:
        """(features, S, S^-1) of the groups that may enter, a row per group, by their sizes."""
        model, found = self.model, list[tuple[Index, Vector, Vector]]()
        open_ = model.groups.held(~self._fixed)
        open_[self.inside] = False
        for g in model.groups.by_size(open_):
            taken = np.einsum("sgd,sge->gde", self._across[:, g], self._weights[:, g])
            schur = model.hessian[g[:, :, None], g[:, None, :]] - taken
            np.einsum("gdd->gd", schur)[:] += model.ridge[g]
            try:
                inverse = np.linalg.inv(schur)
            except np.linalg.LinAlgError:
                inverse = np.full(schur.shape, np.nan)
            found.append((g, schur, inverse))
        return found

    def added(self) -> tuple[Index, Vector]:
        """(leaders, gains) of the groups that may enter."""
        leaders, gains = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for g, _, inverse in self._outside:
            leaders.append(g[:, 0])
            gains.append(_gains(inverse, self._rho[g]))
        every = np.concatenate(leaders)
        order = np.argsort(every)
        return every[order], np.concatenate(gains)[order]

    def swapped(self, gone: Index, least: float, most: int) -> tuple[Index, Vector]:
        """(leaders, gains less prices) of groups that may enter once a group of S has left.

        Those that gain more than `least`, and the `most` best of them at least.
        """
        price = self.model.price
        leaders, gains = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        held = self._held(gone)
        for g, schur, inverse in self._outside:
            rho = self._rho[g] + np.einsum("sgd,s->gd", self._weights[gone][:, g], held)
            limit = _gains(inverse, rho) - price[g[:, 0]]
            some = np.flatnonzero(~(limit <= least))
            if len(some) > CLOSER * most:
                some = some[np.argsort(-limit[some], kind="stable")[: CLOSER * most]]
            if len(some) == 0:
                continue
            part = self._weights[gone][:, g[some]]
            block = self._inverse[np.ix_(gone, gone)]
            share = solved(block, part.reshape(len(gone), -1)).reshape(part.shape)
            try:
                larger = schur[some] + np.einsum("sgd,sge->gde", part, share)
                ends = np.linalg.solve(larger, rho[some, :, None])[:, :, 0]
            except np.linalg.LinAlgError:
                continue
            leaders.append(g[some, 0])
            gains.append(0.5 * np.einsum("gd,gd->g", rho[some], ends) - price[g[some, 0]])
        return np.concatenate(leaders), np.concatenate(gains)


def _gains(inverse: Vector, rho: Vector) -> Vector:
    """rho.S^-1 rho / 2, a row per group."""
    ends = np.einsum("gde,ge->gd", inverse, rho)
    return np.asarray(0.5 * np.einsum("gd,gd->g", rho, ends))


def group_moves(model: Quadratic, inside: Index, fixed: Mask, room: int, most: int) -> list[Move]:
    """The most promising moves of whole groups, best first."""
    here, found = Blocks(model, inside, fixed), list[Move]()
    leaving, places, lost = here.dropped()
    dropped = lost - model.price[leaving]
    for i in np.flatnonzero(model.price[leaving] > 0.0):
        found.append(Move(int(leaving[i]), None, float(dropped[i])))
    if room > 0:
        leaders, gains = here.added()
        changes = model.price[leaders] - gains
        found += [Move(None, int(leaders[j]), float(changes[j])) for j in first(changes, most)]
    for i in np.argsort(dropped, kind="stable").tolist():
        found = _best(found, most)
        last = found[-1].change if len(found) == most else np.inf
        leaders, gains = here.swapped(places[i], float(dropped[i]) - last, most)
        changes = float(dropped[i]) - gains
        found += [
            Move(int(leaving[i]), int(leaders[j]), float(changes[j])) for j in first(changes, most)
        ]
    return _best(found, most)


def _best(moves: list[Move], most: int) -> list[Move]:
    """The most promising of some moves, best first."""
    finite = (move for move in moves if move.change < np.inf)
    return sorted(finite, key=lambda move: move.order)[:most]
