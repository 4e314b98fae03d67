"""A relaxed solution on its piece of h, and where it moves when features are put in or out.

On a piece (zeros, linear and quadratic features, signs) the relaxed problem is a quadratic: its
solution is w = M^-1 r on the active features, M the Hessian. Putting features out, or in (l0 forms:
the price is paid, the linear term kink_i |w_i| becomes the ridge's), changes M by few rows, so that

    w' = w + M^-1[:, A] y,    w'_i = 0 for i out,    y_i = kink_i sign_i - ridge_i w'_i for i in,

a system as large as the set A of features that change. Features whose sign turns join those out.
With one feature i, v_i the diagonal of M^-1, the relaxed value grows by

    w_i^2 / (2 v_i)  with i out,    (kink_i - ridge_i |w_i|)^2 / (2 ridge_i (1 + ridge_i v_i))  in.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.linear import solved
from sparsebounds.penalties import Pattern

EXCHANGES = 1
"""Times that features of the wrong sign join those out."""


class Piece:
    """A piece, its solution and the inverse of its Hessian; `places` are among its features."""

    def __init__(
        self, pattern: Pattern, inverse: Vector, right: Vector, ridge: Vector, kink: Vector
    ) -> None:
        self.pattern, self.ridge, self.kink = pattern, ridge, kink
        count = len(pattern.active)
        self._inverse = inverse[:count, :count]
        self.own = np.diagonal(self._inverse)
        self.w: Vector = (inverse @ right)[:count]

    @classmethod
    def of(
        cls, pattern: Pattern, matrix: Vector, right: Vector, ridge: Vector, kink: Vector
    ) -> Piece | None:
        """From M, in Fortran order, and r (both may have an intercept last); None if M is not
        definite, or empty. `ridge` and `kink` are those of the active features."""
        if len(matrix) == 0:
            return None
        factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        if failed:
            return None
        half, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
        if failed:
            return None
        upper = np.triu_indices(len(half), 1)
        half[upper] = half.T[upper]
        return cls(pattern, half, right, ridge, kink)

    def gains(self) -> tuple[Vector, Vector]:
        """(out, in): what each undecided feature adds to the relaxed value; 0 for the others."""
        size, ridge = np.abs(self.w), self.ridge
        undecided = (self.pattern.linear != 0.0) & (self.w * self.pattern.sign > 0.0)
        out = np.square(self.w) / (2.0 * self.own)
        pull = np.square(np.maximum(self.kink - ridge * size, 0.0))
        into = pull / (2.0 * ridge * (1.0 + ridge * self.own))
        return np.where(undecided, out, 0.0), np.where(undecided, into, 0.0)

    def moved(self, inside: Index, outside: Index) -> Vector:
        """The solution with some more features in, some out."""
        sign, w = self.pattern.sign, self.w
        for exchange in range(EXCHANGES + 1):
            w = self._solution(inside, outside)
            wrong = w * sign < 0.0
            wrong[inside] = wrong[outside] = False
            if exchange == EXCHANGES or not wrong.any():
                break
            outside = np.concatenate((outside, np.flatnonzero(wrong)))
        return w

    def _solution(self, inside: Index, outside: Index) -> Vector:
        changed = np.concatenate((inside, outside))
        if len(changed) == 0:
            return self.w
        columns = self._inverse[:, changed]
        count, ridge = len(inside), self.ridge[inside]
        system = columns[changed]
        right = -self.w[changed]
        system[:count] *= ridge[:, None]
        system[np.arange(count), np.arange(count)] += 1.0
        right[:count] = self.kink[inside] * self.pattern.sign[inside] - ridge * self.w[inside]
        w: Vector = self.w + columns @ solved(system, right)
        w[outside] = 0.0
        return w
