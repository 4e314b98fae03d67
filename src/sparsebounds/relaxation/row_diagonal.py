"""The best shares of rows where features lend by a diagonal (`bounds.rows`).

The relaxed value is concave in the shares theta of the rows in doubt, and in what the ridges keep.
d psi/d theta at the relaxed residuals, and (w_j^2/u_j - w_j^2)/2, are a supergradient. The ascent
(`relaxation.row_shares`) has the barrier

    log det(M + L + eta) + sum log(1 - theta_i) + sum log theta_i + sum log d_j,

which is that of the whole problem in (w, b, e), e the outliers' residuals, with e eliminated.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh, lapack

from sparsebounds._support.array import Vector
from sparsebounds.bounds import INSIDE, Lent, RowBounds, States
from sparsebounds.relaxation.diagonal import supergradient
from sparsebounds.relaxation.rows import AMPLE, ENOUGH, OPEN, Node, node_penalty, relaxed_node

FIRST = 0.1
"""The part of what it may lend that d of an open feature begins with."""

START = 0.7
"""Where the ascent begins: this part of the largest share that all rows may have."""

MOST = 3e9
"""Operations up to which the barrier's whole curvature is used, beyond them its diagonal."""


def even_shares(bounds: RowBounds, state: States, lent: Lent) -> Vector | None:
    """The largest share that all rows in doubt may have; None where they may have none."""
    loss, live = (
        bounds.loss(state, replace(lent, theta=np.zeros(bounds.program.n))),
        bounds.live(state),
    )
    base, _ = bounds.matrix(loss.least, lent, live)
    whole, _ = bounds.matrix(loss.least - loss.doubt, lent, live)
    if not loss.doubt.any() or not len(base):
        return np.where(loss.doubt, 0.999, 0.0)
    size = np.sqrt(np.maximum(np.diagonal(base), 1e-300))
    try:
        last = len(base) - 1
        most = eigh(
            (base - whole) / size / size[:, None],
            base / size / size[:, None],
            eigvals_only=True,
            subset_by_index=(last, last),
        )[0]
    except np.linalg.LinAlgError:
        return None
    kappa = 1.0 / max(float(most), 1e-6)
    return np.where(loss.doubt, min(kappa / (1.0 + kappa), 0.999), 0.0)


class DiagonalAscent:
    """x = (theta of the rows in doubt, d of the open features): what is sought at a node.

    An open feature lends OPEN of its ridge, less d.
    """

    def __init__(self, bounds: RowBounds, state: States, most_eta: float) -> None:
        program = bounds.program
        self.bounds, self.state, self.eta = bounds, state, AMPLE
        self.middle = 0.5 * sum(bounds.range(state))
        self.live = bounds.live(state)
        self.opened = np.flatnonzero(state[self.live] == 0)
        """Places among the live features."""

        self.nothing = Lent.nothing(program.n, program.m)
        self.doubt = np.flatnonzero(bounds.loss(state, self.nothing).doubt)
        self.p = program.F.p[self.doubt]
        size = len(self.doubt) + len(self.opened)
        inner = min(self._through(size), size**3 / 3.0)
        self.work = inner * (inner <= MOST)
        self.work += 2.0 * len(self.live) ** 2 * (program.n + len(self.live))
        """Operations of a step, about."""

        self._A: Vector | None = None
        if program.fit_intercept:
            # Were the intercept known, the rows could have these shares: it need not lend more.
            start = self.start()
            share = 0.0 if start is None else float(np.max(start[: len(self.doubt)], initial=0.0))
            self.eta = min(most_eta, ENOUGH * share / (1.0 - share))

    def lent(self, x: Vector) -> Lent:
        """What is lent at x."""
        program = self.bounds.program
        theta = np.zeros(program.n)
        theta[self.doubt] = x[: len(self.doubt)]
        shares = np.where(self.state[: program.m] > 0, INSIDE, 0.0)
        places = self.live[self.opened]
        shares[places] = OPEN - x[len(self.doubt) :] / self.bounds.own[places]
        return Lent.stored(theta, shares, self.eta, self.middle)

    def start(self) -> Vector | None:
        """A point inside; None where rows in doubt may have no share."""
        d = FIRST * OPEN * self.bounds.own[self.live[self.opened]]
        lent = self.lent(np.append(np.zeros(len(self.doubt)), d))
        even = even_shares(self.bounds, self.state, lent)
        return None if even is None else np.append(START * even[self.doubt], d)

    def relaxed(self, x: Vector, w: Vector, b: float, spare: float = 0.0) -> Node:
        return relaxed_node(self.bounds, self.state, w, b, self.lent(x), tight=1e-6, spare=spare)

    def barrier(self, x: Vector) -> tuple[float, Vector] | None:
        """Its height and the factor of M + L + eta; None outside."""
        theta = x[: len(self.doubt)]
        if not (np.all(x > 0.0) and np.all(theta < 1.0)):
            return None
        lent = self.lent(x)
        matrix, _ = self.bounds.matrix(self.bounds.loss(self.state, lent).least, lent, self.live)
        factor, failed = lapack.dpotrf(matrix.T, lower=1)
        if failed:
            return None
        height = 2.0 * float(np.sum(np.log(np.diagonal(factor))))
        return height + float(np.sum(np.log1p(-theta)) + np.sum(np.log(x))), factor

    def slope(self, node: Node, inside: Vector) -> Vector:
        """A supergradient of the relaxed value."""
        bounds = self.bounds
        r = bounds.residuals(node.w, node.b)
        rows = bounds.loss(self.state, node.lent).rise(r)[self.doubt] * self.p
        kept = (1.0 - node.lent.shares[self.live]) * bounds.own[self.live]
        penalty = node_penalty(bounds, self.state, self.live).with_ridge(kept)
        return np.append(rows, supergradient(penalty, node.w[self.live])[self.opened])

    def step(self, inside: Vector, x: Vector, pull: Vector) -> tuple[Vector, float]:
        """The Newton step of the barrier with a linear term of slope `pull`, and its decrement.

        With v = L^-1 a for row a, L the factor, times 1/(1 - theta), and L^-1 e_j for feature j,
        the barrier's curvature is (v_i.v_j)^2 off its diagonal: the products of all v_i v_i^T.
        """
        factor, count, opened = inside, len(self.doubt), self.opened
        open_ = 1.0 / (1.0 - x[:count])
        if self._A is None:
            A = self.bounds.rows[np.ix_(self.live, self.doubt)]
            if self.bounds.program.fit_intercept:
                A = np.vstack((A, np.ones(count)))
            self._A = A * np.sqrt(self.p)
        inverse = np.tril(lapack.dtrtri(factor, lower=1)[0]) if len(factor) else factor
        v = np.hstack((inverse @ (self._A * open_), inverse[:, opened]))
        square = np.einsum("ij,ij->j", v, v)
        own = square.copy()
        own[:count] += open_
        slope = pull + 1.0 / x - own
        rest = np.square(own) + 1.0 / np.square(x)
        if len(v) and self._through(len(x)) <= min(len(x) ** 3 / 3.0, MOST):
            step = _solved(rest - np.square(square), v, slope)
        elif len(x) ** 3 / 3.0 > MOST or not len(v):
            step = slope / rest
        else:
            whole = np.square(v.T @ v)
            np.einsum("ii->i", whole)[:] = rest
            step = lapack.dposv(whole, slope, lower=1)[1]
        return step, math.sqrt(max(float(step @ slope), 0.0))

    def _through(self, size: int) -> float:
        """Operations of a step by the products of v v^T, whatever the number of rows."""
        width = len(self.live) + self.bounds.program.fit_intercept
        pairs = 0.5 * width * (width + 1.0)
        return pairs**2 * (size + pairs / 3.0)


def _solved(diagonal: Vector, v: Vector, slope: Vector) -> Vector:
    """(diag + Z^T Z)^-1 slope, the columns of Z being v_i v_i^T."""
    root = np.sqrt(diagonal)
    step: Vector = woodbury(all_pairs(v) / root, slope / root) / root
    return step


def all_pairs(v: Vector) -> Vector:
    """Columns whose inner products are the squares of those of v's columns."""
    first, second = np.tril_indices(len(v))
    twice = np.where(first == second, 1.0, math.sqrt(2.0))[:, None]
    pairs: Vector = v[first] * v[second] * twice
    return pairs


def woodbury(Z: Vector, right: Vector) -> Vector:
    """(I + Z^T Z)^-1 right, for fewer rows than columns."""
    small = Z @ Z.T
    np.einsum("ii->i", small)[:] += 1.0
    solved = lapack.dposv(small, Z @ right, lower=1)[1]
    found: Vector = right - solved @ Z
    return found
