"""What it would gain to add, drop or swap features: one table from one factorisation.

Around a model on the support S the loss is replaced by its quadratic model (exact for the
squared loss) q(w) = w.H w/2 - l.w, intercept eliminated. With M = H_SS + R, x = M^-1 l_S and
B = H_.S M^-1, the best value on a support changes by

    drop i          + x_i^2 / (2 M^-1_ii)
    add j           - rho_j^2 / (2 s_j)   with rho_j = l_j - B_j.l_S and s_j = H_jj + r_j - B_j.H_Sj
    swap i for j    drop i, then add j with rho_j + B_ji x_i / M^-1_ii and s_j + B_ji^2 / M^-1_ii

and by the prices l0 of the features that come and go.

A descent needs the best swap alone, if that helps. With c_i^2 / 2 what dropping i costs, g_j what
adding j gains, and b_ij = B_ji / sqrt(M^-1_ii), a swap gains

    (rho_j + b_ij c_i)^2 / (2 (s_j + b_ij^2)) - c_i^2 / 2  <=  g_j          (Cauchy and Schwarz)

and nothing unless c_i <= t_j = |rho_j| (b + sqrt(b^2 + s_j)) / s_j, with b^2 = H_jj + r_j - s_j the
most that b_ij^2 can be. So the i of least c_i is tried with all j, and then those i and j that the
two inequalities leave.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dger

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import positive_inverse
from sparsebounds.fitting import padded
from sparsebounds.models.blocks import Blocks, group_moves
from sparsebounds.models.hessian import Hessian
from sparsebounds.models.moves import Move, first
from sparsebounds.models.slabs import Slabs
from sparsebounds.penalties import SINGLE, Groups

LEAST = 1e-12
"""Changes smaller than this, relative to the linear term's reach, are rounding."""

WIDER = 1.0 + 1e-9
"""What is added to bounds on the gain of a swap, for rounding."""

FEW = 5000
"""Swaps that are all tried: ruling some out would take longer."""

LOST = 1e4
"""Digits lost to exchanges, as a multiple of rounding, after which a support is factored anew."""


@dataclass(frozen=True)
class Quadratic:
    """q on a pool of features: H, l, the ridge and the prices."""

    hessian: Vector | Hessian
    linear: Vector
    ridge: Vector
    price: Vector
    positive: Mask
    groups: Groups = SINGLE

    def in_units(self) -> tuple[Quadratic, Vector]:
        """The same with every feature in units in which it has curvature 1, and these units.

        An idle ball, or a ridge that rounding swallows, leaves nothing to divide by: the least
        ridge is 1e-12 of the curvature.
        """
        curvature = self.hessian.diagonal() + np.fmax(self.ridge, 0.0)
        unit = 1.0 / np.sqrt(np.fmax(curvature, 1e-300))
        ridge = np.fmax(unit * self.ridge * unit, 1e-12)
        if isinstance(self.hessian, Hessian):
            hessian: Vector | Hessian = self.hessian.scaled(unit)
        else:
            hessian = self.hessian * unit
            hessian *= unit[:, None]
        linear = unit * self.linear
        return replace(self, hessian=hessian, linear=linear, ridge=ridge), unit

    @np.errstate(all="ignore")
    def lowest(self, supports: Sequence[Index]) -> tuple[Index, Mask, Vector, Vector]:
        """(places, real, x, q): where q is least on supports, and its value there, less prices.

        One row per support, zeros after its last feature.
        """
        size = max(map(len, supports), default=0)
        places, real = padded(supports, max(size, min(1, len(self.linear))))
        matrix = self.hessian[places[:, :, None], places[:, None, :]]
        linear, ridge = self.linear[places], self.ridge[places]
        if not real.all():
            matrix = np.where(real[:, :, None] & real[:, None, :], matrix, 0.0)
            linear, ridge = np.where(real, linear, 0.0), np.where(real, ridge, 1.0)
        np.einsum("ijj->ij", matrix)[:] += ridge
        x = np.full(linear.shape, np.nan)
        with contextlib.suppress(np.linalg.LinAlgError):
            x[:] = np.linalg.solve(matrix, linear[:, :, None])[:, :, 0]
        return places, real, x, -0.5 * np.einsum("ij,ij->i", linear, x)

    def values(self, supports: Sequence[Index]) -> list[float]:
        """The least of q on supports, their prices included; NaN where the system is singular."""
        least: list[float] = self.lowest(supports)[3].tolist()
        prices = [float(np.sum(self.price[support])) for support in supports]
        return [fit + price for fit, price in zip(least, prices, strict=True)]

    @cached_property
    def slabs(self) -> Slabs:
        """The places of groups, where there are any."""
        return Slabs(self.groups)

    @cached_property
    def own(self) -> list[tuple[Vector, Vector]]:
        """(H_gg + R_g, R_g) of the groups of each slab."""
        assert isinstance(self.hessian, np.ndarray)
        return self.slabs.own(self.hessian, self.ridge)

    @cached_property
    def curvature(self) -> Vector:
        """Of each feature, its ridge included."""
        curvature: Vector = self.hessian.diagonal() + self.ridge
        return curvature

    @cached_property
    def signed(self) -> bool:
        """Whether a sign is asked of any feature."""
        return bool(np.any(self.positive))

    @cached_property
    def priced(self) -> bool:
        """Whether features have prices."""
        return bool(np.any(self.price > 0.0))

    @cached_property
    def least(self) -> float:
        """The smallest change that counts."""
        alone = 0.5 * self.linear**2 / self.curvature
        return LEAST * float(np.max(alone, initial=0.0))


@np.errstate(all="ignore")
def gain(numerator: Vector, denominator: Vector, positive: Mask) -> Vector:
    """What freeing one coordinate gains: numerator^2 / (2 denominator), one-sided if asked."""
    if np.any(positive):
        numerator = np.where(positive, np.maximum(numerator, 0.0), numerator)
    result: Vector = 0.5 * numerator**2 / denominator
    return result


class Around:
    """A support S in q, one row per feature inside and one column per feature of the pool."""

    def __init__(self, model: Quadratic, inside: Index) -> None:
        """One factorisation for all moves from a support."""
        self.model, self.inside = model, inside.copy()
        H, size, pool = model.hessian, len(inside), len(model.linear)
        across = H[inside]
        matrix = across.take(inside, axis=1)
        np.einsum("ii->i", matrix)[:] += model.ridge[inside]
        inverse = positive_inverse(matrix)
        self._rows = rows = np.empty((size, pool + size + 1))
        """M^-1 H_S., M^-1 and x, side by side: exchanges change all three in the same way."""

        self.weights = np.matmul(inverse, across, out=rows[:, :pool])
        """B^T = M^-1 H_S., one column per feature."""

        rows[:, pool:-1] = inverse
        self.spread: Vector = rows[:, pool:-1].diagonal()
        """The diagonal of M^-1."""

        self.x = np.matmul(inverse, model.linear[inside], out=rows[:, -1])
        """M^-1 l_S."""

        self.rho = model.linear - model.linear[inside] @ self.weights
        taken = np.einsum("ij,ij->j", self.weights, across)
        self._schur = model.curvature - taken
        self.schur: Vector = np.maximum(self._schur, model.ridge)
        """s: the curvature that is left to each feature outside."""

        self._lost = 0.0

    def swaps(self, leaving: Index | slice, entering: Index | None = None) -> Vector:
        """-2 times what features gain that enter in the place of others: one row per place in
        the support that is left, one column per feature, or per one of those entering."""
        weights, spread, x = self.weights[leaving], self.spread[leaving], self.x[leaving]
        rho, schur, positive = self.rho, self.schur, self.model.positive
        if entering is not None:
            weights, positive = weights.take(entering, axis=1), positive[entering]
            rho, schur = rho[entering], schur[entering]
        shift = weights / spread[:, None]
        top = shift * x[:, None]
        top += rho
        if self.model.signed:
            np.maximum(top, 0.0, out=top, where=positive)
        shift *= weights
        shift += schur
        top *= top
        top /= shift
        return np.negative(top, out=top)

    def best_swap(self, fixed: Mask) -> Move | None:
        """The swap that helps most, ties by position; no feature has a price."""
        cost = self.x**2 / self.spread
        cost[fixed[self.inside]] = np.inf
        if self.weights.size > FEW:
            return self._best_of_few(fixed, cost)
        if not self.weights.size:
            return None
        changes = self.swaps(slice(None))
        changes += cost[:, None]
        changes[:, self.inside] = np.inf
        if fixed.any():
            changes[:, fixed] = np.inf
        i, j = divmod(first(changes.ravel(), 1)[0], changes.shape[1])
        change = 0.5 * float(changes[i, j])
        return Move(int(self.inside[i]), j, change) if change < np.inf else None

    def _best_of_few(self, fixed: Mask, cost: Vector) -> Move | None:
        """The same among the swaps that the two inequalities leave."""
        inside, rho, schur = self.inside, self.rho, self.schur
        enters = ~fixed
        enters[inside] = False
        place = int(cost.argmin())
        changes = self.swaps(slice(place, place + 1))[0]
        best = -changes[enters].min(initial=np.inf) - cost[place]
        alone = WIDER * rho**2 / schur
        enters &= alone >= best
        entering = enters.nonzero()[0]
        alone, left = alone[entering], schur[entering]
        room = np.maximum(self.model.curvature[entering] - self._schur[entering], 0.0)
        most = alone / left * (np.sqrt(room) + np.sqrt(room + left)) ** 2
        entering = entering[most >= cost[place]]
        leaving = (cost <= most.max(initial=0.0)).nonzero()[0]
        if not len(entering) or not len(leaving):
            return None
        changes = self.swaps(leaving, entering)
        changes += cost[leaving, None]
        i, j = divmod(first(changes.ravel(), 1)[0], len(entering))
        return Move(int(inside[leaving[i]]), int(entering[j]), 0.5 * float(changes[i, j]))

    def swap(self, move: Move) -> Around:
        """The support with one feature in another's place: two changes of rank one, in place."""
        model, rows, pool = self.model, self._rows, len(self.model.linear)
        assert move.enter is not None
        place, enter = int((self.inside == move.leave).argmax()), move.enter
        row = rows[place].copy()
        spread, x = float(row[pool + place]), float(row[-1])
        self.rho += row[:pool] * (x / spread)
        self._schur += row[:pool] ** 2 / spread
        _subtract(rows, rows[:, pool + place] / spread, row)
        self.inside[place] = enter
        rows[place] = 0.0
        schur = max(float(self._schur[enter]), float(model.ridge[enter]))
        reach = rows[:, enter].copy()
        fresh = model.hessian[enter]
        inside = fresh[self.inside]
        inside[place] = 0.0
        row[:pool] = fresh - inside @ self.weights
        row[pool:-1] = -reach
        row[pool + place], row[-1] = 1.0, self.rho[enter]
        self.rho -= row[:pool] * (float(self.rho[enter]) / schur)
        self._schur -= row[:pool] ** 2 / schur
        row /= schur
        _subtract(rows, reach, row)
        rows[place] = row
        np.maximum(self._schur, model.ridge, out=self.schur)
        # What is divided by little loses digits.
        self._lost += max(spread, 1.0 / schur)
        return self if self._lost < LOST else Around(model, self.inside)


# Overflow on columns of extreme scales makes a change infinite or NaN: such moves are not made.
@np.errstate(all="ignore")
def moves(
    model: Quadratic,
    inside: Index,
    fixed: Mask,
    *,
    room: int,
    most: int,
    here: Around | None = None,
    below: float = np.inf,
) -> list[Move]:
    """The most promising moves from a support, best first, ties by position.

    `fixed` features neither leave nor enter; `room` is how many may be added without dropping.
    Features without a price are not dropped: that never helps. `here` is the support's own, where
    it is at hand. Swaps of no interest are those whose change is not `below` a level.
    """
    if not model.groups.single:
        return group_moves(model, inside, fixed, room, most, below)
    here = Around(model, inside) if here is None else here
    inside, price = here.inside, np.where(fixed, np.inf, model.price)
    price[inside] = np.inf
    found: list[Move] = []
    stays, free = fixed[inside], model.price[inside] <= 0.0
    dropped = 0.5 * here.x**2 / here.spread - model.price[inside]
    for i in np.flatnonzero(~(stays | free)):
        found.append(Move(int(inside[i]), None, float(dropped[i])))
    if not np.all(np.isinf(price)):
        if room > 0:
            added = price - gain(here.rho, here.schur, model.positive)
            found += [Move(None, j, float(added[j])) for j in first(added, most)]
        if not stays.all():
            changes = here.swaps(slice(None))
            changes *= 0.5
            changes += price
            changes += np.where(stays, np.inf, dropped)[:, None]
            found += [
                Move(int(inside[at // len(price)]), at % len(price), float(changes.flat[at]))
                for at in first(changes.ravel(), most)
            ]
    found = [move for move in found if move.change < np.inf]
    return sorted(found, key=lambda move: move.change)[:most]


@np.errstate(all="ignore")
def descend(
    model: Quadratic,
    inside: Index,
    fixed: Mask,
    *,
    room: int,
    stop: Callable[[], bool] = lambda: False,
    visited: set[bytes] | None = None,
) -> Index | None:
    """The support that best move after best move ends at, by q alone.

    `visited` are the supports that earlier descents in the same q came by, with the same `room`
    to spare; None where this one joins them, as it would end where they did.
    """
    least, seen, here = model.least, set[bytes](), None
    # On columns so ill scaled that the changes predicted are rounding, moves may lead in a circle.
    while not stop() and inside.tobytes() not in seen:
        if visited is not None and inside.tobytes() in visited:
            return None
        seen.add(inside.tobytes())
        if here is None and model.groups.single:
            here = Around(model, inside)
        if here is not None and room <= 0 and not model.priced:
            move = here.best_swap(fixed)
        else:
            found = moves(model, inside, fixed, room=room, most=1, here=here, below=0.0)
            move = next(iter(found), None)
        if move is None or not move.change < -least:
            break
        room += (move.leave is not None) - (move.enter is not None)
        if here is not None and move.leave is not None and move.enter is not None:
            here = here.swap(move)
            inside = np.sort(here.inside)
        else:
            inside, here = after(inside, move, model.groups), None
    if visited is not None:
        visited |= seen
    return inside


@np.errstate(all="ignore")
def without_least(model: Quadratic, inside: Index, fixed: Mask) -> Index:
    """The support without the feature, or group, that q loses least by."""
    if model.groups.single:
        here = Around(model, inside)
        loss = np.where(fixed[inside], np.inf, here.x**2 / here.spread)
        return np.delete(inside, np.argmin(loss))
    blocks = Blocks(model, inside, fixed)
    least = model.slabs.leaders[blocks.leaving[np.argmin(blocks.dropped())]]
    return after(inside, Move(int(least), None, 0.0), model.groups)


def after(inside: Index, move: Move, groups: Groups = SINGLE) -> Index:
    """The support once a move is made, sorted; groups come and go as a whole."""
    if move.leave is not None:
        gone = groups.whole(np.array([move.leave]))
        inside = inside[inside != move.leave if len(gone) == 1 else ~np.isin(inside, gone)]
    if move.enter is not None:
        inside = np.concatenate((inside, groups.whole(np.array([move.enter]))))
    return np.sort(inside)


def _subtract(rows: Vector, left: Vector, right: Vector) -> None:
    """rows - outer(left, right), in place and in one pass."""
    dger(-1.0, right, left, a=rows.T, overwrite_a=1)
