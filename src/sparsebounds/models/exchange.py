"""What it would gain to add, drop or swap features: one table from one factorisation.

Around a model on the support S the loss is replaced by its quadratic model (exact for the
squared loss) q(w) = w.H w/2 - l.w, intercept eliminated. With M = H_SS + R, x = M^-1 l_S and
B = H_.S M^-1, the best value on a support changes by

    drop i          + x_i^2 / (2 M^-1_ii)
    add j           - rho_j^2 / (2 s_j)   with rho_j = l_j - B_j.l_S and s_j = H_jj + r_j - B_j.H_Sj
    swap i for j    drop i, then add j with rho_j + B_ji x_i / M^-1_ii and s_j + B_ji^2 / M^-1_ii

and by the prices l0 of the features that come and go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import inverse as inverse_of
from sparsebounds._support.linear import solved

LEAST = 1e-12
"""Changes smaller than this, relative to the linear term's reach, are rounding."""


@dataclass(frozen=True)
class Quadratic:
    """q on a pool of features: H, l, the ridge and the prices."""

    hessian: Vector
    linear: Vector
    ridge: Vector
    price: Vector
    positive: Mask

    def in_units(self) -> Quadratic:
        """The same with every feature in units in which it has curvature 1.

        An idle ball, or a ridge that rounding swallows, leaves nothing to divide by: the least
        ridge is 1e-12 of the curvature.
        """
        curvature = np.diagonal(self.hessian) + np.fmax(self.ridge, 0.0)
        unit = 1.0 / np.sqrt(np.fmax(curvature, 1e-300))
        ridge = np.fmax(unit * self.ridge * unit, 1e-12)
        hessian = unit[:, None] * self.hessian * unit
        return Quadratic(hessian, unit * self.linear, ridge, self.price, self.positive)

    @np.errstate(all="ignore")
    def value(self, inside: Index) -> float:
        """The least of q on a support, its prices included; 0 for none."""
        matrix = self.hessian[inside[:, None], inside] + np.diag(self.ridge[inside])
        linear = self.linear[inside]
        fit = -0.5 * float(linear @ solved(matrix, linear)) if len(inside) else 0.0
        return fit + float(np.sum(self.price[inside]))

    @np.errstate(all="ignore")
    def least(self) -> float:
        """The smallest change that counts."""
        alone = 0.5 * self.linear**2 / (np.diagonal(self.hessian) + self.ridge)
        return LEAST * float(np.max(alone, initial=0.0))


@np.errstate(all="ignore")
def gain(numerator: Vector, denominator: Vector, positive: Mask) -> Vector:
    """What freeing one coordinate gains: numerator^2 / (2 denominator), one-sided if asked."""
    reach = np.where(positive, np.maximum(numerator, 0.0), np.abs(numerator))
    result: Vector = 0.5 * reach**2 / denominator
    return result


@dataclass(frozen=True)
class Around:
    """A support S in q: x = M^-1 l_S, the diagonal of M^-1, and what the others would find."""

    outside: Index
    x: Vector
    spread: Vector
    weights: Vector
    """B = H_.S M^-1, one row an outside feature."""

    rho: Vector
    schur: Vector


# Overflow on columns of extreme scales makes a change infinite or NaN: such moves are not made.
@np.errstate(all="ignore")
def around(model: Quadratic, inside: Index, fixed: Mask) -> Around:
    """One factorisation for all moves from a support."""
    H, ridge = model.hessian, model.ridge
    open_ = ~fixed
    open_[inside] = False
    outside = np.flatnonzero(open_)
    rho = model.linear[outside]
    schur = np.diagonal(H)[outside] + ridge[outside]
    if len(inside) == 0:
        nothing = np.zeros(0)
        return Around(outside, nothing, nothing, np.zeros((len(outside), 0)), rho, schur)
    inverse = inverse_of(H[inside[:, None], inside] + np.diag(ridge[inside]))
    across = H[outside[:, None], inside]
    weights = across @ inverse
    schur = schur - np.einsum("ji,ji->j", weights, across)
    return Around(
        outside,
        inverse @ model.linear[inside],
        np.diagonal(inverse),
        weights,
        rho - weights @ model.linear[inside],
        np.maximum(schur, ridge[outside]),
    )


@dataclass(frozen=True)
class Move:
    """Features (positions in the pool) that leave and enter, and the change q predicts."""

    leave: int | None
    enter: int | None
    change: float


@np.errstate(all="ignore")
def moves(model: Quadratic, inside: Index, fixed: Mask, *, room: int, most: int) -> list[Move]:
    """The most promising moves from a support, best first, ties by position.

    `fixed` features neither leave nor enter; `room` is how many may be added without dropping.
    Features without a price are not dropped: that never helps.
    """
    here = around(model, inside, fixed)
    outside, movable = here.outside, ~fixed[inside]
    found: list[Move] = []
    dropped = 0.5 * here.x**2 / here.spread - model.price[inside]
    for i in np.flatnonzero(movable & (model.price[inside] > 0)):
        found.append(Move(int(inside[i]), None, float(dropped[i])))
    if len(outside):
        positive = model.positive[outside]
        if room > 0:
            added = model.price[outside] - gain(here.rho, here.schur, positive)
            found += [Move(None, int(outside[j]), float(added[j])) for j in _first(added, most)]
        if movable.any():
            shift = here.weights[:, movable] / here.spread[movable]
            regained = gain(
                here.rho[:, None] + shift * here.x[movable],
                here.schur[:, None] + shift * here.weights[:, movable],
                positive[:, None],
            )
            table = dropped[movable] + model.price[outside][:, None] - regained
            leaving = inside[movable]
            found += [
                Move(
                    int(leaving[at % table.shape[1]]),
                    int(outside[at // table.shape[1]]),
                    float(table.flat[at]),
                )
                for at in _first(table.ravel(), most)
            ]
    return sorted(found, key=lambda move: move.change)[:most]


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
    least, seen = model.least(), set[bytes]()
    # On columns so ill scaled that the changes predicted are rounding, moves may lead in a circle.
    while not stop() and inside.tobytes() not in seen:
        if visited is not None and inside.tobytes() in visited:
            return None
        seen.add(inside.tobytes())
        move = next(iter(moves(model, inside, fixed, room=room, most=1)), None)
        if move is None or not move.change < -least:
            break
        room += (move.leave is not None) - (move.enter is not None)
        inside = after(inside, move)
    if visited is not None:
        visited |= seen
    return inside


def after(inside: Index, move: Move) -> Index:
    """The support once a move is made, sorted."""
    keep = inside if move.leave is None else inside[inside != move.leave]
    return keep if move.enter is None else np.sort(np.append(keep, move.enter))


def _first(values: Vector, most: int) -> Index:
    """Positions of the `most` smallest values, ascending, ties by position."""
    if most == 1:
        return np.array([np.argmin(values)])
    return np.argsort(values, kind="stable")[:most]
