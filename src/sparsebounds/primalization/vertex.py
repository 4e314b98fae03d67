"""A vertex of { u in [0, 1]^t : A u = A u0 } that costs no more than u0, by basis exchange.

A's columns are split into a basis of rank r and the rest. Of the rest one column at a time is
moved, the basis following so that A u stays, in the direction in which c.u does not grow, until it
or a column of the basis is at 0 or 1; in the second case they change places. Each column is moved
once, at r^2 operations, and in the end only columns of the basis are strictly between 0 and 1.

A linear program would do as well. Measured from 300 ties of rank 50 to 3000 of rank 500, the walk
takes between all and a quarter of the time of one dual simplex solve, and keeps A u to 1e-15 where
the solver leaves up to 1e-11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dger

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.linear import inverse as inverse_of
from sparsebounds._support.linear import solved

DEPENDENT = 1e-10
"""A column counts as dependent when its distance from the others is below this, for length 1."""

SNAP = 1e-10
"""Rounding error that is allowed for, relative to a weight of 1, to the largest |w_i x_i|, or to
a pivot of 1."""

REFACTOR = 64
"""Exchanges after which the inverse of the basis is computed afresh."""


@dataclass(frozen=True)
class Basis:
    """A in the coordinates of its own range: `rows` has `rank` rows, its columns in `order`."""

    rows: Vector
    order: Index
    rank: int


def basis(columns: Vector, lengths: Vector) -> Basis:
    """The range of the columns, each scaled to length 1 (of `lengths`), by pivoted QR."""
    unit = columns / np.where(lengths > 0.0, lengths, 1.0)
    if unit.shape[0] > unit.shape[1] > 0:
        unit = np.asarray(np.linalg.qr(unit, mode="r"), dtype=np.float64)
    if unit.size == 0:
        return Basis(np.zeros((0, unit.shape[1])), np.arange(unit.shape[1]), 0)
    triangle, order = qr(unit, mode="r", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > DEPENDENT))
    return Basis(np.asarray(triangle[:rank], dtype=np.float64), order.astype(np.int64), rank)


def vertex(found: Basis, lengths: Vector, u0: Vector, cost: Vector) -> Vector:
    """The vertex reached from u0; at most `found.rank` of its entries are not 0 or 1."""
    rank, rows = found.rank, found.rows
    # In units of length 1: y = u times the length, between 0 and the length.
    top = np.where(lengths > 0.0, lengths, 1.0)[found.order]
    y = u0[found.order] * top
    price = cost[found.order] / top
    target = rows @ y
    inside = np.arange(rank)  # the basis, as positions in `order`
    inverse, exchanges = np.asfortranarray(inverse_of(rows[:, inside])), 0
    for j in range(rank, len(y)):
        p = inverse @ rows[:, j]
        sign = -1.0 if price[j] >= price[inside] @ p else 1.0
        way = -sign * p
        room = np.where(way > 0.0, top[inside] - y[inside], y[inside])
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = np.where(np.abs(way) > SNAP, np.maximum(room, 0.0) / np.abs(way), np.inf)
        own = y[j] if sign < 0.0 else top[j] - y[j]
        step = min(own, float(np.min(limit, initial=np.inf)))
        y[inside] = np.clip(y[inside] + step * way, 0.0, top[inside])
        if step == own:
            y[j] = 0.0 if sign < 0.0 else top[j]
            continue
        y[j] += sign * step
        # Of the columns that block, the one with the largest pivot leaves.
        leave = int(np.argmax(np.where(limit <= step * (1.0 + 1e-12), np.abs(way), -1.0)))
        y[inside[leave]] = top[inside[leave]] if way[leave] > 0.0 else 0.0
        inside[leave] = j
        exchanges += 1
        if exchanges % REFACTOR:
            row = inverse[leave] / p[leave]
            inverse = dger(-1.0, p, row, a=inverse, overwrite_a=1)
            inverse[leave] = row
        else:
            inverse = np.asfortranarray(inverse_of(rows[:, inside]))
    outside = np.setdiff1d(np.arange(len(y)), inside)
    if rank:
        # What rounding the steps has cost, put right at once.
        exact = solved(rows[:, inside], target - rows[:, outside] @ y[outside])
        y[inside] = np.clip(exact, 0.0, top[inside])
    u = np.empty(len(y))
    u[found.order] = y / top
    return snapped(u, lengths, float(np.max(u0 * lengths)))


def snapped(u: Vector, lengths: Vector, largest: float) -> Vector:
    """u with what is nothing but rounding put to 0 (beside the largest |w_i x_i|) or 1."""
    u = np.where(u * lengths <= SNAP * largest, 0.0, u)
    return np.where(u >= 1.0 - SNAP, 1.0, u)
