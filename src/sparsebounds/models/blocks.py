"""What it would gain to add, drop or swap groups: the table of `exchange`, block by block.

With I the places of a group inside, C = (M^-1_II)^-1 and g the features of a group outside,

    drop I          + x_I.C x_I / 2
    add g           - rho_g.S_g^-1 rho_g / 2    with S_g = H_gg + R_g - B_g H_Sg
    swap I for g    drop I, then add g with rho_g + B_gI C x_I and S_g + B_gI C B_gI^T

Groups of one size go through every step together. As S_g only grows once I has left, the gain of a
swap is at most that with the old S_g and the new rho_g, which is found for all swaps at once: they
are looked at closely in that order, while one may be among the best. Signs are not looked at: a fit
decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import inverses, positive_inverse, quadratic_forms
from sparsebounds.models.moves import Move, first

if TYPE_CHECKING:
    from sparsebounds.models.exchange import Quadratic


CLOSELY = 16
"""Swaps that are looked at closely at first; then four times as many, and so on."""


class Leaving(NamedTuple):
    """Groups of one size that may leave, a row per group."""

    leaders: Index
    places: Index
    """In S."""

    held: Vector
    """C."""

    pull: Vector
    """C x."""

    cost: Vector
    """What dropping costs, prices aside."""


class Entering(NamedTuple):
    """Groups of one size that may enter, a row per group."""

    features: Index
    schur: Vector
    """S, the groups along the last axis."""


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

    @cached_property
    def leaving(self) -> list[Leaving]:
        """The groups that may leave."""
        found, place = [], np.full(len(self._fixed), -1)
        place[self.inside] = np.arange(len(self.inside))
        for g in self.model.members:
            places = place[g[(place[g[:, 0]] >= 0) & ~self._fixed[g[:, 0]]]]
            if len(places):
                held = inverses(self._inverse[places[:, :, None], places[:, None, :]])
                x = self._x[places]
                pull = (held @ x[:, :, None])[:, :, 0]
                cost = 0.5 * np.einsum("id,id->i", x, pull)
                found.append(Leaving(self.inside[places[:, 0]], places, held, pull, cost))
        return found

    @cached_property
    def entering(self) -> list[Entering]:
        """The groups that may enter."""
        model, found = self.model, list[Entering]()
        opened = ~self._fixed
        opened[self.inside] = False
        for g in model.members:
            g = g[opened[g[:, 0]]]
            if len(g):
                taken = np.einsum("sgd,sge->deg", self._across[:, g], self._weights[:, g])
                schur = model.hessian[g.T[:, None], g.T[None]] - taken
                np.einsum("ddg->dg", schur)[:] += model.ridge[g].T
                found.append(Entering(g, schur))
        return found

    def _gains(self, some: Entering, rho: Vector) -> Vector:
        """rho.S^-1 rho / 2 of groups that may enter; the last axis is that of features."""
        g = some.features.T
        pulls = np.moveaxis(rho[..., g], -2, 0)
        return 0.5 * quadratic_forms(some.schur, pulls, self.model.ridge[g])

    def added(self) -> tuple[Index, Vector]:
        """(leaders, gains) of the groups that may enter."""
        leaders, gains = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for some in self.entering:
            leaders.append(some.features[:, 0])
            gains.append(self._gains(some, self._rho))
        return np.concatenate(leaders), np.concatenate(gains)

    def swaps(self) -> Iterator[Swaps]:
        """Groups of one size in the place of those of another."""
        for gone in self.leaving:
            pulls = np.einsum("ie,iep->ip", gone.pull, self._weights[gone.places])
            lost = gone.cost - self.model.price[gone.leaders]
            for some in self.entering:
                rho = self._rho + pulls
                change = lost[:, None] + self.model.price[some.features[:, 0]]
                yield Swaps(self, gone, some, rho, change, change - self._gains(some, rho))

    def dropped(self) -> tuple[Index, Vector]:
        """(leaders, what dropping costs) of the groups that may leave, prices aside."""
        leaders, cost = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for gone in self.leaving:
            leaders.append(gone.leaders)
            cost.append(gone.cost)
        return np.concatenate(leaders), np.concatenate(cost)


class Swaps(NamedTuple):
    """Groups of one size that may leave for those of another: a table of both."""

    here: Blocks
    gone: Leaving
    some: Entering
    rho: Vector
    change: Vector
    """What leaving costs, and prices."""

    least: Vector
    """The change at least."""

    def closely(self, rows: Index, columns: Index) -> Vector:
        """The change of some of them."""
        here, model = self.here, self.here.model
        g = self.some.features[columns]
        part = here._weights[self.gone.places[rows][:, :, None], g[:, None, :]]
        larger = np.einsum("sed,sef,sfh->dhs", part, self.gone.held[rows], part, optimize=True)
        larger += self.some.schur[:, :, columns]
        pulls = self.rho[rows[:, None], g].T
        gains = 0.5 * quadratic_forms(larger, pulls, model.ridge[g.T])
        return np.asarray(self.change[rows, columns] - gains)


def group_moves(
    model: Quadratic, inside: Index, fixed: Mask, room: int, most: int, below: float
) -> list[Move]:
    """The most promising moves of whole groups with a change below a level, best first."""
    here, found = Blocks(model, inside, fixed), list[Move]()
    leaving, lost = here.dropped()
    for i in np.flatnonzero(model.price[leaving] > 0.0):
        found.append(Move(int(leaving[i]), None, float(lost[i] - model.price[leaving[i]])))
    if room > 0:
        leaders, gains = here.added()
        changes = model.price[leaders] - gains
        found += [Move(None, int(leaders[j]), float(changes[j])) for j in first(changes, most)]
    for swaps in here.swaps():
        least, count = np.where(np.isnan(swaps.least), -np.inf, swaps.least).ravel(), CLOSELY
        while True:
            found = _best(found, most)
            last = min(found[-1].change, below) if len(found) == most else below
            left = np.flatnonzero(least < last)
            if len(left) == 0:
                break
            some = left[first(least[left], count)]
            rows, columns = np.divmod(some, swaps.least.shape[1])
            changes = swaps.closely(rows, columns)
            leave, enter = swaps.gone.leaders[rows], swaps.some.features[columns, 0]
            found += [
                Move(int(leave[j]), int(enter[j]), float(changes[j])) for j in first(changes, most)
            ]
            least[some], count = np.inf, 4 * count
    return _best(found, most)


def _best(moves: list[Move], most: int) -> list[Move]:
    """The most promising of some moves, best first."""
    finite = (move for move in moves if move.change < np.inf)
    return sorted(finite, key=lambda move: move.order)[:most]
