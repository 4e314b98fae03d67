"""The curvature of a quadratic loss, Q = A^T A, and proofs that it exceeds another matrix.

A are the program's columns times the roots of the rows' weights, centred where there is an
intercept. For the squared loss the weights are the rows' shares; for others see `bounds.region`.
Q - diag(d) - R^T R is proved to be positive semidefinite by a Cholesky factorisation in floating
point, of that matrix less a multiple of the identity that is larger than every rounding (Rump,
2006).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.linear import gram
from sparsebounds._support.rounding import TINY, U, gamma, length_up
from sparsebounds.bounds.many import MORE
from sparsebounds.bounds.moments import Moments
from sparsebounds.program import Program


class Curvature:
    """Q of some columns of a program, formed once.

    `columns` are the program's own, all of them, and `gram` is Q in float64; pass them where they
    are at hand. `weights` are those of the rows, if not their shares.
    """

    def __init__(
        self,
        program: Program,
        columns: Vector | None = None,
        gram: Vector | None = None,
        weights: Vector | None = None,
    ) -> None:
        self.program = program
        self.weights = p = program.F.p if weights is None else weights
        self.whole = 1.0 if weights is None else float(np.sum(weights))
        """The sum of the weights."""

        self._gram = gram
        self._linear: dict[float, tuple[float, Vector, Vector]] = {}
        self._moments = None
        if columns is None and weights is None and Moments.known(program):
            self._moments = moments = Moments.of(program)
            self._gram, self.power = moments.gram, moments.power
            self.spread = np.maximum(np.diagonal(moments.gram), 0.0)
            return
        every = np.arange(program.m)
        columns = program.matrix.columns(every) if columns is None else columns
        self.rows = self.centred = np.ascontiguousarray(columns.T)
        self.sizes = program.matrix.sizes(every, columns).T
        """What roundings are relative to, in magnitude: the columns, or more."""

        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.power = np.square(self.sizes) @ p
            """The squared lengths of these, before they are centred."""

            if program.fit_intercept:
                self.centred = self.rows - (self.rows @ p / self.whole)[:, None]
            self.spread = np.square(self.centred) @ p
            """The diagonal of Q."""

    @staticmethod
    def known(program: Program) -> bool:
        """Whether a program has such a curvature, the same everywhere, of columns it knows."""
        return program.loss.name == "squared" and program.matrix.elementwise

    @property
    def sound(self) -> bool:
        """Whether the loss has this curvature, at least where it matters."""
        return self.known(self.program)

    @property
    def lengths(self) -> Vector:
        """The lengths of the columns, before they are centred, rounded up."""
        lengths: Vector = np.sqrt(self.power) * (1.0 + 2.0 * gamma(self.depth + 8))
        return lengths

    @property
    def depth(self) -> int:
        """The roundings of a product of two columns: sums over the rows, and the entries' own."""
        return self.program.n + 2 * self.program.matrix.entry_roundings

    @property
    def gram(self) -> Vector:
        """Q, in float64."""
        gram = self.products(np.arange(self.program.m)) if self._gram is None else self._gram
        self._gram = gram
        return gram

    def expect(self, entries: int) -> None:
        """Form all of Q now if so many of its entries will be asked for in all."""
        if entries > self.program.m**2:
            _ = self.gram

    def part(self, live: Index) -> Vector:
        """Q on some of the features; kept where it is all of Q."""
        if self._gram is None and len(live) < self.program.m:
            return self.products(live)
        part: Vector = self.gram.ravel().take(live[:, None] * self.program.m + live)
        return part

    def products(self, live: Index) -> Vector:
        """Q on some of the features, from their columns."""
        scaled = self.centred[live] * np.sqrt(self.weights)
        products: Vector = gram(scaled)
        return products

    def linear(self, wider: float = 1.0) -> tuple[float, Vector, Vector]:
        """(kappa, c, error): F(w) = w.Q w/2 - c.w + kappa at w = 0 and its slope.

        kappa is rounded down, and `error` bounds what c is off by, with `wider` times the room.
        """
        if wider not in self._linear:
            self._linear[wider] = self._sloped(wider)
        return self._linear[wider]

    @np.errstate(over="ignore", invalid="ignore")
    def _sloped(self, wider: float) -> tuple[float, Vector, Vector]:
        program = self.program
        n, p = program.n, self.weights
        target, doubt = self.target()
        mean = float(p @ target) / self.whole if program.fit_intercept else 0.0
        rest = target - mean
        # What `rest` may be off by: a rounding or two, and the mean's own error.
        off = 4.0 * U * (np.abs(target) + np.abs(rest) + abs(mean)) + TINY + doubt
        if program.fit_intercept:
            shift = 2.0 * gamma(n + 8) * float(p @ np.abs(target)) + MORE * float(p @ doubt)
            off = off + shift / self.whole
        kappa = 0.5 * float(p @ np.square(np.maximum(np.abs(rest) - wider * off, 0.0)))
        kappa *= 1.0 - wider * 4.0 * gamma(n + 16)
        root = np.sqrt(p)
        size, error = length_up(root * rest) * MORE, length_up(root * off) * MORE
        slope = self.centred @ (p * rest) if self._moments is None else self._moments.linear
        unsure = self.lengths * (8.0 * gamma(self.depth + 32) * (size + error) + 2.0 * error)
        return kappa, slope, wider * (unsure + 4.0 * U * np.abs(slope)) + TINY

    def scores(self, a: Vector, live: Index) -> tuple[Vector, Vector]:
        """X^T a for some of the features, and a bound of its rounding and that of a."""
        matrix, n = self.program.matrix, self.program.n
        size = matrix.norms[live] * length_up(a)
        if self._moments is not None:
            return matrix.scores(a)[live], matrix.score_radius(a)[live] + 8.0 * U * size
        return self.rows[live] @ a, gamma(n + 8 + matrix.entry_roundings) * size

    def target(self) -> tuple[Vector, Vector]:
        """What Xw + b is compared with, and what that may be off by."""
        return self.program.F.target, np.zeros(self.program.n)

    def units(self, live: Index, d: Vector) -> Vector:
        """Powers of 2 that take the diagonal to about 1, exactly: units do not matter."""
        size = self.spread[live] + np.abs(d)
        return np.exp2(-np.round(0.5 * np.log2(np.where(size > 0.0, size, 1.0))))

    @np.errstate(over="ignore", invalid="ignore")
    def room(self, live: Index, d: Vector, unit: Vector) -> float:
        """More than the rounding of Q - diag(d) - R^T R and of its factorisation, in those units.

        R is square, and the trace of R^T R at most twice that of Q + diag(|d|).
        """
        n, count, square = self.depth, len(live), np.square(unit)
        trace = float(np.sum(self.power[live] * square)) * MORE
        total = float(np.sum((self.spread[live] + np.abs(d)) * square)) * MORE
        # Products and sums of n terms, centring, roots, the entries themselves, underflow.
        room = 4.0 * gamma(n + 32) * trace + (n + 8) * TINY * float(np.sum(square))
        return room + 8.0 * gamma(count + 32) * (total + trace) + count * TINY

    def exceeds(self, live: Index, d: Vector, spare: float, factor: Vector | None = None) -> bool:
        """Whether Q - diag(d) - R^T R less `spare` in each unit is proved positive semidefinite."""
        return self.factored(live, d, spare, factor) is not None

    def factored(
        self, live: Index, d: Vector, spare: float, factor: Vector | None = None
    ) -> Vector | None:
        """The Cholesky factor of that matrix in its units, below the diagonal; None: no proof."""
        unit = self.units(live, d)
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = (self.part(live) * unit * unit[:, None]).T
            if factor is not None:
                scaled = factor * unit
                most = 1.9 * np.sum((self.spread[live] + np.abs(d)) * np.square(unit))
                if factor.shape != matrix.shape or not np.sum(np.square(scaled)) <= most:
                    return None
                matrix = matrix - scaled.T @ scaled
            np.einsum("ii->i", matrix)[:] -= d * np.square(unit) + spare
        found, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        # Some versions of LAPACK do not report a pivot of NaN as a failure.
        proved = int(failed) == 0 and bool(np.all(np.isfinite(np.diagonal(found))))
        return np.asarray(found) if proved else None
