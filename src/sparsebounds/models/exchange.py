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

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sparsebounds._array import Index, Mask, Vector


@dataclass(frozen=True)
class Quadratic:
    """q on a pool of features: H, l, the ridge and the prices."""

    hessian: Vector
    linear: Vector
    ridge: Vector
    price: Vector
    positive: Mask


@dataclass(frozen=True)
class Move:
    """Features (positions in the pool) that leave and enter, and the change q predicts."""

    leave: int | None
    enter: int | None
    change: float


def moves(model: Quadratic, inside: Index, fixed: Mask, *, room: int, most: int) -> list[Move]:
    """The most promising moves from a support, best first, ties by position.

    `fixed` features neither leave nor enter; `room` is how many may be added without dropping.
    """
    H, ridge = model.hessian, model.ridge
    outside = np.setdiff1d(np.flatnonzero(~fixed), inside)
    found: list[Move] = []
    if len(inside) == 0:
        weights, x = np.zeros((len(outside), 0)), np.zeros(0)
        spread = np.zeros(0)
    else:
        factor = cho_factor(H[np.ix_(inside, inside)] + np.diag(ridge[inside]), lower=True)
        inverse = cho_solve(factor, np.eye(len(inside)))
        x, spread = inverse @ model.linear[inside], np.diagonal(inverse)
        weights = H[np.ix_(outside, inside)] @ inverse
    rho = model.linear[outside] - weights @ model.linear[inside]
    schur = np.diagonal(H)[outside] + ridge[outside]
    schur = schur - np.einsum("ji,ji->j", weights, H[np.ix_(outside, inside)])
    schur = np.maximum(schur, ridge[outside])

    def gain(numerator: Vector, denominator: Vector, positive: Mask) -> Vector:
        reach = np.where(positive, np.maximum(numerator, 0.0), np.abs(numerator))
        result: Vector = 0.5 * reach**2 / denominator
        return result

    movable = ~fixed[inside]
    dropped = 0.5 * x**2 / spread - model.price[inside]
    for i in np.flatnonzero(movable & (model.price[inside] > 0)):
        found.append(Move(int(inside[i]), None, float(dropped[i])))
    if len(outside):
        positive = model.positive[outside]
        added = model.price[outside] - gain(rho, schur, positive)
        if room > 0:
            best = np.argsort(added, kind="stable")[:most]
            found += [Move(None, int(outside[j]), float(added[j])) for j in best]
        if movable.any():
            shift = weights[:, movable] / spread[movable]
            after = gain(
                rho[:, None] + shift * x[movable],
                schur[:, None] + shift * weights[:, movable],
                positive[:, None],
            )
            table = dropped[movable] + model.price[outside][:, None] - after
            flat = np.argsort(table, axis=None, kind="stable")[:most]
            leaving = inside[movable]
            found += [
                Move(
                    int(leaving[at % table.shape[1]]),
                    int(outside[at // table.shape[1]]),
                    float(table.flat[at]),
                )
                for at in flat
            ]
    return sorted(found, key=lambda move: move.change)[:most]
