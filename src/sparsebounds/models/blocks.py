"""What it would gain to add, drop or swap groups: the table of `exchange`, block by block.

With I the places of a group inside, C = (M^-1_II)^-1 and g the features of a group outside,

    drop I          + x_I.C x_I / 2
    add g           - rho_g.S_g^-1 rho_g / 2    with S_g = H_gg + R_g - B_g H_Sg
    swap I for g    drop I, then add g with rho_g + B_gI C x_I and S_g + B_gI C B_gI^T

Groups of about one size go through every step together (`slabs`). As S_g only grows once I has
left, the gain of a swap is at most that with the old S_g and the new rho_g, which is found for all
swaps at once: they are looked at closely in that order, while one may be among the best. Signs are
not looked at: a fit decides.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import inverses, positive_inverse, quadratic_forms
from sparsebounds.models.moves import Move, first

if TYPE_CHECKING:
    from sparsebounds.models.exchange import Quadratic


CLOSELY = 16
"""Swaps that are looked at closely at first; then four times as many, and so on."""


class Blocks:
    """A support S of whole groups in q."""

    def __init__(self, model: Quadratic, inside: Index, fixed: Mask) -> None:
        """`fixed` features neither leave nor enter."""
        self.model, self.inside, self._slabs = model, inside, model.slabs
        held = np.unique(self._slabs.number[inside])
        stays = fixed[self._slabs.leaders]
        self.entering = ~stays
        """Which groups may enter."""

        self.entering[held] = False
        self.leaving: Index = held[~stays[held]]
        """The groups that may leave."""

        across = model.hessian[inside]
        self._inverse = positive_inverse(across[:, inside] + np.diag(model.ridge[inside]))
        self._x = self._inverse @ model.linear[inside]
        self._rows = self._slabs.spread(across)
        self._weights = self._inverse @ self._rows
        self._rho = self._slabs.spread(model.linear) - self._x @ self._rows

    @cached_property
    def schur(self) -> list[Vector]:
        """S of each slab, the groups along the last axis."""
        found = []
        for slab, (own, _) in zip(self._slabs.slabs, self.model.own, strict=True):
            rows, weights = slab.blocks(self._rows), slab.blocks(self._weights)
            taken = np.matmul(rows.transpose(1, 2, 0), weights.transpose(1, 0, 2))
            found.append(own - taken.transpose(1, 2, 0))
        return found

    @cached_property
    def _gone(self) -> tuple[Index, Mask, Vector, Vector, Vector]:
        """(places in S, which are real, C, C x, what dropping costs) of the groups that may leave.

        A row per group.
        """
        slabs, place = self._slabs, np.zeros(len(self.model.linear), dtype=np.int64)
        place[self.inside] = np.arange(len(self.inside))
        at, real = slabs.places(self.leaving)
        places = place[slabs.columns[at]]
        block = self._inverse[places[:, :, None], places[:, None, :]]
        both = real[:, :, None] & real[:, None, :]
        held = inverses(np.where(both, block, np.eye(at.shape[1])))
        x = np.where(real, self._x[places], 0.0)
        pull = np.matmul(held, x[:, :, None])[:, :, 0]
        return places, real, held, pull, 0.5 * np.einsum("id,id->i", x, pull)

    def added(self) -> Vector:
        """What each group gains that enters."""
        return self._gains(self._rho)

    def dropped(self) -> Vector:
        """What dropping costs, of the groups that may leave; prices aside."""
        return self._gone[-1]

    def _gains(self, rho: Vector) -> Vector:
        """rho.S^-1 rho / 2 of all groups, on the last axis."""
        return 0.5 * self._slabs.forms(self.schur, rho, self.model.own)

    def swapped(self) -> Vector:
        """The change of q by a swap at least, prices aside.

        A row per group that may leave, a column per group.
        """
        return self.dropped()[:, None] - self._gains(self._pulled)

    @cached_property
    def _pulled(self) -> Vector:
        """rho once a group has left."""
        places, real, _, pull, _ = self._gone
        spread = np.zeros((len(places), len(self.inside)))
        rows, inner = np.nonzero(real)
        spread[rows, places[rows, inner]] = pull[rows, inner]
        return self._rho + spread @ self._weights

    def closely(self, rows: Index, groups: Index) -> Vector:
        """The change of q by some swaps, prices aside."""
        places, real, held, _, cost = self._gone
        change = cost[rows]
        for slab, schur, (_, least) in zip(
            self._slabs.slabs, self.schur, self.model.own, strict=True
        ):
            some = np.flatnonzero((groups >= slab.groups.start) & (groups < slab.groups.stop))
            if len(some) == 0:
                continue
            at, row = groups[some] - slab.groups.start, rows[some]
            g = self._slabs.starts[groups[some], None] + np.arange(slab.room)
            part = self._weights[places[row][:, :, None], g[:, None, :]]
            part = np.where(real[row][:, :, None], part, 0.0)
            more = np.matmul(part.transpose(0, 2, 1), np.matmul(held[row], part))
            larger = schur[:, :, at] + more.transpose(1, 2, 0)
            pulls = self._pulled[row[:, None], g].T
            change[some] -= 0.5 * quadratic_forms(larger, pulls, least[:, at])
        return change


def group_moves(
    model: Quadratic, inside: Index, fixed: Mask, room: int, most: int, below: float
) -> list[Move]:
    """The most promising moves of whole groups with a change below a level, best first."""
    here, found, leaders = Blocks(model, inside, fixed), list[Move](), model.slabs.leaders
    price, leaving = model.price[leaders], here.leaving
    gone = here.dropped() - price[leaving]
    for i in np.flatnonzero(price[leaving] > 0.0):
        found.append(Move(int(leaders[leaving[i]]), None, float(gone[i])))
    new = np.where(here.entering, price, np.inf)
    if room > 0:
        changes = new - here.added()
        found += [Move(None, int(leaders[j]), float(changes[j])) for j in first(changes, most)]
    least = here.swapped() + (new - price[leaving][:, None])
    least[np.isnan(least)] = -np.inf
    least[:, ~here.entering] = np.inf
    least, count = least.ravel(), CLOSELY
    while True:
        found = _best(found, most)
        last = min(found[-1].change, below) if len(found) == most else below
        left = np.flatnonzero(least < last)
        if len(left) == 0:
            return found
        some = left[first(least[left], count)]
        rows, groups = np.divmod(some, len(leaders))
        changes = here.closely(rows, groups) + new[groups] - price[leaving[rows]]
        leave, enter = leaders[leaving[rows]], leaders[groups]
        found += [
            Move(int(leave[j]), int(enter[j]), float(changes[j])) for j in first(changes, most)
        ]
        least[some], count = np.inf, 4 * count


def _best(moves: list[Move], most: int) -> list[Move]:
    """The most promising of some moves, best first."""
    finite = (move for move in moves if move.change < np.inf)
    return sorted(finite, key=lambda move: move.order)[:most]
