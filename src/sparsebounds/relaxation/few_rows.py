"""Newton's point on a piece with groups where rows are few: systems of n unknowns, not of p.

With V V^T = f'' on the p active coordinates, E the diagonal of ridge/u and of proximal terms, and
one column d/sqrt(u) of U per group on its cone, the matrix of Newton's system is

    M = M_0 - U Q U^T    M_0 = V V^T + E    Q = 1 - s s^T/share    s = sqrt(u)

(Q = 1 in the l0 form). M_0^-1 takes K = 1 + V^T E^-1 V = L L^T alone. With t = U^T x and
W = L^-1 V^T E^-1 U,

    x = M_0^-1 (r + U Q t)    (1 - Q + C Q) t = U^T M_0^-1 r    C = 1 - U^T M_0^-1 U = c + W^T W

where c = 1 - U^T E^-1 U is what proximal terms leave: small, and summed as such. An intercept is
one more coordinate, without E: it is eliminated last. All is kept in units in which E is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.linear import gram
from sparsebounds.penalties import Pattern
from sparsebounds.relaxation.conjugate import EXCHANGES
from sparsebounds.relaxation.points import SmoothPoint

FEW = 2
"""So many times as many columns as rows, or more, are worth it."""

ACCURATE = 1e-9
"""The share of the right side that may be left; beyond it the whole matrix is factored."""


@dataclass(frozen=True)
class FewRows:
    """f'' as V V^T on some features, and on b as the last coordinate if there is an intercept."""

    rows: Vector
    """V, one row per coordinate."""

    right: Vector
    """f'' (w, b) - f'."""

    def minimum(
        self, point: SmoothPoint, pattern: Pattern, proximal: Vector, held: float, now: Vector
    ) -> tuple[Vector, float] | None:
        """What `newton_point` asks for; None where rounding is too large.

        Groups that turn around from `now` on their cone are set to 0, and the rest is solved again.
        """
        active, count = pattern.active, len(pattern.active)
        small, right = proximal[active], self.right.copy()
        right[:count] += small * point.w[active] - pattern.linear
        level = 0.0
        if len(right) > count:
            level = float(self.rows[-1] @ self.rows[-1])
            more = held * max(level, 1e-300) + 1e-12
            right[-1], level = right[-1] + more * point.b, level + more
        system = _System(self.rows, right, level, pattern, small)
        found = system.solution()
        for _ in range(EXCHANGES):
            if found is None or not (wrong := pattern.turned(found[:count], now)).any():
                break
            system.drop(wrong)
            found = system.solution()
        if found is None or not system.solved_by(found):
            return None
        w = np.zeros(len(point.w))
        w[active] = found[:count]
        return w, float(found[-1]) if len(right) > count else point.b


class _System:
    """Newton's system on the coordinates that are kept; the others are 0."""

    def __init__(
        self, rows: Vector, right: Vector, level: float, pattern: Pattern, small: Vector
    ) -> None:
        """`level` is the curvature of an intercept, 0 without one; `small` are proximal terms."""
        count = len(small)
        self._right, self._level, self._share = right, level, np.inf
        if pattern.direction is not None:
            self._share = pattern.share
        E = pattern.ridge + small
        self._unit = 1.0 / np.sqrt(E)
        self._V = rows[:count] * self._unit[:, None]
        self._border = rows[count:]
        sides = right[:count, None]
        if level:
            sides = np.column_stack((sides, rows[:count] @ rows[count]))
        self._sides = sides * self._unit[:, None]
        self._U, self._s, self._c, self._of = _cones(pattern, small, E, self._unit)
        self._Z = (self._U.T @ self._V).T
        self.kept: Mask = np.ones(count, dtype=np.bool_)
        self._K = gram(self._V.T)
        np.einsum("ii->i", self._K)[:] += 1.0
        self._images = self._V.T @ self._sides

    def drop(self, out: Mask) -> None:
        """Keep some coordinates no longer: whole groups on their cones."""
        gone = self._V[out]
        self._K -= gone.T @ gone
        self._images -= gone.T @ self._sides[out]
        self.kept &= ~out
        # Their columns of U are on coordinates that are 0.
        groups = self._of[out]
        self._Z[:, groups], self._c[groups], self._s[groups] = 0.0, 1.0, 0.0

    def solution(self) -> Vector | None:
        """All coordinates; None where the system is not definite."""
        factor, failed = lapack.dpotrf(self._K, lower=1)
        if failed:
            return None
        count, sides, U, s = len(self.kept), self._sides.shape[1], self._U, self._s
        both = np.asfortranarray(np.column_stack((self._images, self._Z)))
        both = blas.dtrsm(1.0, factor, both, lower=1, overwrite_b=1)
        Y, W = both[:, :sides], both[:, sides:]
        C = gram(W.T)
        np.einsum("ii->i", C)[:] += self._c
        known = U.T @ self._sides - W.T @ Y
        # 1 - Q + C Q
        matrix = C + np.outer(s - C @ s, s) / self._share
        try:
            t = np.linalg.solve(matrix, known)
        except np.linalg.LinAlgError:
            return None
        t -= np.outer(s, s @ t) / self._share
        back = blas.dtrsm(1.0, factor, np.asfortranarray(Y + W @ t), lower=1, trans_a=1)
        x = np.where(self.kept[:, None], self._sides + U @ t - self._V @ back, 0.0)
        found = np.zeros(len(self._right))
        found[:count] = x[:, 0]
        if self._level:
            rest = self._level - float(self._sides[:, 1] @ x[:, 1])
            if not rest > ACCURATE * self._level:
                return None
            found[-1] = (self._right[-1] - float(self._sides[:, 1] @ x[:, 0])) / rest
            found[:count] -= found[-1] * x[:, 1]
        found[:count] *= self._unit
        return found

    def solved_by(self, found: Vector) -> bool:
        """Whether a solution leaves little of the right side."""
        count = len(self.kept)
        x = found[:count] / self._unit
        t = self._U.T @ x
        t -= self._s * float(self._s @ t) / self._share
        image = x @ self._V
        if self._level:
            image += found[-1] * self._border[0]
        left = self._V @ image + x - self._U @ t - self._sides[:, 0]
        size = float(np.max(np.abs(self._sides[:, 0]) + np.abs(x), initial=0.0))
        return bool(np.max(np.abs(left[self.kept]), initial=0.0) <= ACCURATE * size)


def _cones(
    pattern: Pattern, small: Vector, E: Vector, unit: Vector
) -> tuple[sp.csr_array, Vector, Vector, Vector]:
    """(E^-1/2 U, s, c, the column of each coordinate) of the groups on their cones."""
    assert pattern.cone is not None
    of, total = np.full(len(E), -1), 0
    values, s, c = pattern.cone * unit, [], []
    for members, block in pattern.blocks:
        d = pattern.cone[members]
        bend = -np.einsum("ndd->n", block) / np.sum(d * d, axis=1)
        values[members] *= np.sqrt(bend)[:, None]
        of[members] = (total + np.arange(len(d)))[:, None]
        s.append(1.0 / np.sqrt(bend))
        c.append(bend * np.sum(d * d * small[members] / (pattern.ridge[members] * E[members]), 1))
        total += len(d)
    on = of >= 0
    starts = np.append(0, np.cumsum(on))
    U = sp.csr_array((values[on], of[on], starts), shape=(len(E), total))
    return U, np.concatenate(s), np.concatenate(c), of
