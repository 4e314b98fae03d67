"""What the open features of a node lend to its loss by supports (`bounds.rows`).

Let J be the features that are in, and the intercept, and O all others. Let every row have curvature
of at least -kappa, so that the loss has at least -G = -A^T diag(p kappa) A. J lends the diagonal
L_J, of which N = L_J - G_JJ is left. Open features lend a whole matrix,

    K = G_OO + G_OJ N^-1 G_JO,

with which the sum is just convex. What they pay is less than a diagonal above K, since a model has
at most r of them: for every u with at most r numbers that are not 0 (Gershgorin),

    u.K u <= sum e_j u_j^2,   e_j = K_jj + the r - 1 largest |K_jl| of other open features,

where columns are scaled to a ridge of 1. Any matrix above N^-1 may stand in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.rounding import TINY, gamma
from sparsebounds.bounds.many import MORE

UNSURE = 0.1
"""Rounding of N beyond this part of it leaves nothing that is proved."""


@dataclass(frozen=True, eq=False)
class Lending:
    """What the features left at a node lend by supports."""

    rows: Vector
    """The features left, one per row."""

    held: Vector
    """A_J, one per row."""

    weights: Vector
    """p kappa, one number per row of the data."""

    root: Vector
    """P: P P^T is proved to be at least N^-1."""

    open: Mask
    """Which of the features left are open."""

    lends: Vector
    """What leaves the ridge of each feature left."""

    matrix: Vector
    """What is added to the curvature of H: K, and what features lend that are in."""

    @classmethod
    def of(
        cls,
        rows: Vector,
        inside: Mask,
        own: Vector,
        lends: Vector,
        eta: float | None,
        weights: Vector,
        room: int,
        wider: float = 1.0,
    ) -> Self | None:
        """None where it is not proved that the sum is convex.

        `own` are the ridges of the features left and `lends` what those lend that are in; `eta`
        is None where there is no intercept.
        """
        held, given = rows[inside], lends[inside]
        if eta is not None:
            held, given = np.vstack((held, np.ones(rows.shape[1]))), np.append(given, eta)
        off = wider * 4.0 * gamma(rows.shape[1] + 64)
        root = _root(held, given, weights, off)
        if root is None:
            return None
        unit = 1.0 / np.sqrt(own[~inside])
        some = rows[~inside] * (np.sqrt(weights) * unit[:, None])
        G, cross = some @ some.T, some @ ((held * np.sqrt(weights)).T @ root)
        K = G + cross @ cross.T
        size = np.sqrt(np.square(some) @ np.ones(some.shape[1])) * MORE
        reach = np.sqrt(np.square(held) @ weights) @ np.abs(root)
        # By Cauchy, a product is off by at most so much of the sizes of its factors.
        off *= 1.0 + 4.0 * float(reach @ reach)
        most = float(np.max(size, initial=0.0))
        paid = _gershgorin(K, room) * MORE + off * size * (size + max(room - 1, 0) * most)
        lost = (rows.shape[1] + 8.0) * TINY * float(np.max(np.square(unit), initial=0.0))
        every, matrix = lends.copy(), np.diag(np.where(inside, lends, 0.0))
        every[~inside] = (paid + lost) / np.square(unit) * MORE
        place = np.flatnonzero(~inside)
        matrix[np.ix_(place, place)] = K / unit / unit[:, None]
        if not np.all(np.isfinite(every)):
            return None
        return cls(rows, held, weights, root, ~inside, every, matrix)

    def pull(self, z: Vector, off: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """What points add, of whose fits z are what features add that are not in, within `off`.

        kappa (z + A_J y) for the weighted rows, and u.K u, each with what it may be off by: K u is
        X_O times the first. One row per point.
        """
        A, P, weights = self.held, self.root, self.weights
        rounding = 4.0 * gamma(A.shape[1] + len(A) + 64)
        size, wide = np.abs(A), np.abs(P)
        g = (z * weights) @ A.T
        lost = (off * weights) @ size.T + rounding * ((np.abs(z) * weights) @ size.T)
        inner = g @ P
        inner_off = lost @ wide + rounding * (np.abs(g) @ wide)
        y = inner @ P.T
        y_off = inner_off @ wide.T + rounding * (np.abs(inner) @ wide.T)
        moved = z + y @ A
        moved_off = off + y_off @ size + rounding * (np.abs(y) @ size + np.abs(moved)) + TINY
        square = np.square(z) @ weights + np.sum(np.square(inner), axis=1)
        square_off = (np.abs(z) * off * 2.0 + np.square(off)) @ weights
        square_off += np.sum(inner_off * (2.0 * np.abs(inner) + inner_off), axis=1)
        square_off += rounding * square
        return moved, moved_off * MORE, square, square_off * MORE


def _root(held: Vector, given: Vector, weights: Vector, off: float) -> Vector | None:
    """P with P^T N P proved to be at least 1, N = diag(given) - A_J diag(weights) A_J^T."""
    if not len(held):
        return np.zeros((0, 0))
    if not np.all(given > 0.0):
        return None
    # In units in which what is given is 1.
    scaled = held * (np.sqrt(weights) / np.sqrt(given)[:, None])
    N = np.eye(len(held)) - scaled @ scaled.T
    factor, failed = lapack.dpotrf(N, lower=1, clean=1)
    if failed or not np.all(np.isfinite(factor)):
        return None
    P, failed = lapack.dtrtri(factor, lower=1)
    if failed:
        return None
    P = P.T
    reach = np.sqrt(np.square(scaled) @ np.ones(scaled.shape[1])) @ np.abs(P)
    unsure = off * (np.outer(reach, reach) + np.abs(P).T @ np.abs(P)) * 4.0
    apart = np.abs(P.T @ N @ P - np.eye(len(P))) + unsure
    most = float(np.max(np.sum(apart, axis=1))) * MORE
    # Larger by a little more than all that is unsure, the division at the end included.
    root: Vector = P * (1.0 + most) / np.sqrt(given)[:, None]
    return root if most <= UNSURE and np.all(np.isfinite(root)) else None


def _gershgorin(K: Vector, room: int) -> Vector:
    """K_jj and the room - 1 largest |K_jl|."""
    sums: Vector = np.diagonal(K).copy()
    most = min(room - 1, len(K) - 1)
    if most <= 0:
        return sums
    others = np.abs(K)
    np.einsum("ii->i", others)[:] = 0.0
    if most < len(K) - 1:
        others = np.partition(others, len(K) - most, axis=1)[:, len(K) - most :]
    sums += np.sum(others, axis=1)
    return sums
