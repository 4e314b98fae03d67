"""The relaxation of a node for the truncated loss (`bounds.rows`), and the shares that raise it.

The relaxed value is concave in the shares theta of the rows in doubt, and in what the ridges keep.
d psi/d theta at the relaxed residuals, and (w_j^2/u_j - w_j^2)/2, are a supergradient. The maximum
over all of these with a convex H is approached from inside, as in `relaxation.diagonal`: by Newton
steps on the value plus mu times a barrier,

    log det(M + L + eta) + sum log(1 - theta_i) + sum log theta_i + sum log d_j,

which is that of the whole problem in (w, b, e), e the outliers' residuals, with e eliminated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh, lapack

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import INSIDE, Lent, RowBounds, States
from sparsebounds.penalties import Penalty
from sparsebounds.relaxation.diagonal import supergradient
from sparsebounds.relaxation.newton import newton
from sparsebounds.relaxation.row_part import RowPart

OPEN = 0.95
"""The part of its ridge that an open feature lends, before d."""

FIRST = 0.1
"""The part of that which d begins with."""

AMPLE, ENOUGH = 1e6, 4.0
"""Curvature that is as good as knowing the intercept, and what of it is enough, in units of the
curvature of a row in doubt."""

EACH = 3e5
"""Operations that could be done in the time that a Newton step takes besides its own."""

START = 0.7
"""Where the ascent begins: this part of the largest share that all rows may have."""

MOST = 3e9
"""Operations up to which the barrier's whole curvature is used, beyond them its diagonal."""

SMALLER = 0.35
"""What mu falls by."""


Effort: TypeAlias = tuple[int, float]
"""The most steps towards the best shares, and the accuracy that ends them."""


@dataclass(eq=False)
class Node:
    """A node with what proves its bound."""

    state: States
    w: Vector
    b: float
    lent: Lent
    lower: float
    """Proved."""

    value: float
    """That of the relaxation, as computed."""

    work: float = 0.0
    """Operations that the relaxation took, about."""

    scope: int | None = None
    """The node of the tree that the bound is evaluated at: this one, or one above it."""


def relaxed_node(
    bounds: RowBounds,
    state: States,
    w: Vector,
    b: float,
    lent: Lent,
    goal: float = math.inf,
    *,
    tight: float = 1e-9,
) -> Node:
    """The relaxation of a node, from coefficients w and b; it ends early once `goal` is decided."""
    program, live = bounds.program, bounds.live(state)
    part = RowPart(bounds, state, lent)
    penalty = node_penalty(bounds, state, live).with_ridge(bounds.own[live] - part.lends)
    w = np.where(penalty.positive, np.maximum(w[live], 0.0), w[live])
    low, high = bounds.range(state)
    b = min(max(b, low), high)
    scale = max(abs(program.null), 1e-300)
    charge = _charge(bounds, state, lent)

    def enough(value: float, dual: float) -> bool:
        return dual - charge >= goal or value - charge < goal < math.inf

    found = newton(
        part,
        penalty,
        part.at(w, b),
        tight * scale,
        scale,
        most_steps=60,
        enough=enough,
    )
    best = np.zeros(program.m)
    best[live] = found.best.w
    lower = bounds.bound(state, best, found.best.b, lent)
    value = found.point.value + found.slopes.value
    work = (1 + found.steps) * (EACH + 2.0 * program.n * len(live) * (len(live) + 8.0))
    return Node(state, best, found.best.b, lent, lower, value, work)


def node_penalty(bounds: RowBounds, state: States, live: Index) -> Penalty:
    """h on the features left at a node, with their whole ridge."""
    program, kept = bounds.program, state[live]
    k = program.k
    if k is not None:
        k = max(k - int(np.count_nonzero((kept > 0) & program.free[live])), 0)
    ridge = None if program.ball is None else float(bounds.own[0])
    return program.penalty(live, ridge, inside=kept > 0, outside=kept < 0, k=k)


def _charge(bounds: RowBounds, state: States, lent: Lent) -> float:
    """What the intercept's range and the ball take from the relaxed value."""
    low, high = bounds.range(state)
    far = max(abs(low - lent.middle), abs(high - lent.middle))
    return 0.5 * lent.eta * far**2 + bounds.ball


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


@np.errstate(all="ignore")
def best_shares(
    bounds: RowBounds,
    state: States,
    w: Vector,
    b: float,
    most_eta: float,
    effort: Effort,
    *,
    goal: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
) -> Node | None:
    """A node's relaxation at nearly the best shares; a bound of `goal` is enough.

    The range of the intercept lends what it is worth, and at most `most_eta`.
    """
    steps, fine = effort
    ascent = Ascent(bounds, state, most_eta)
    start = ascent.start()
    if start is None:
        return None
    x = start
    node = best = ascent.relaxed(x, w, b)
    work = node.work
    if not len(ascent.doubt):
        # There is nothing to pay for.
        plain = relaxed_node(bounds, state, w, b, ascent.nothing)
        best, work = max(node, plain, key=lambda one: one.lower), work + plain.work
    found = ascent.barrier(x)
    if not len(x) or found is None:
        return replace(best, work=work)
    height, factor = found
    slope = ascent.slope(node, x)
    mu = max(float(slope @ x), 1e-12 * abs(node.value)) / len(x)
    for _ in range(steps):
        if best.lower >= goal or mu * len(x) < fine * abs(node.value) or stop():
            break
        step = ascent.step(factor, x, slope / mu)
        falling = step < 0.0
        length = float(np.min(-0.9 * x[falling] / step[falling], initial=1.0))
        merit, moved, gain = node.value + mu * height, False, 0.0
        for _ in range(6):
            trial = x + length * step
            found = ascent.barrier(trial)
            if found is not None:
                other = ascent.relaxed(trial, node.w, node.b)
                work += other.work + ascent.work
                gain = other.value + mu * found[0] - merit
                if gain > 0.0:
                    node, x, (height, factor), moved = other, trial, found, True
                    slope = ascent.slope(node, x)
                    break
            length *= 0.4
        if node.lower > best.lower:
            best = node
        if not moved or length < 0.3 or gain < 0.1 * mu * len(x):
            mu *= SMALLER
    return replace(best, work=work)


class Ascent:
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

    def relaxed(self, x: Vector, w: Vector, b: float) -> Node:
        return relaxed_node(self.bounds, self.state, w, b, self.lent(x), tight=1e-6)

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

    def slope(self, node: Node, x: Vector) -> Vector:
        """A supergradient of the relaxed value."""
        bounds = self.bounds
        r = bounds.residuals(node.w, node.b)
        rows = bounds.loss(self.state, node.lent).rise(r)[self.doubt] * self.p
        kept = (1.0 - node.lent.shares[self.live]) * bounds.own[self.live]
        penalty = node_penalty(bounds, self.state, self.live).with_ridge(kept)
        return np.append(rows, supergradient(penalty, node.w[self.live])[self.opened])

    def step(self, factor: Vector, x: Vector, pull: Vector) -> Vector:
        """The Newton step of the barrier with a linear term of slope `pull`.

        With v = L^-1 a for row a, L the factor, times 1/(1 - theta), and L^-1 e_j for feature j,
        the barrier's curvature is (v_i.v_j)^2 off its diagonal: the products of all v_i v_i^T.
        """
        count, opened = len(self.doubt), self.opened
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
            return _solved(rest - np.square(square), v, slope)
        if len(x) ** 3 / 3.0 > MOST or not len(v):
            few: Vector = slope / rest
            return few
        whole = np.square(v.T @ v)
        np.einsum("ii->i", whole)[:] = rest
        step: Vector = lapack.dposv(whole, slope, lower=1)[1]
        return step

    def _through(self, size: int) -> float:
        """Operations of a step by the products of v v^T, whatever the number of rows."""
        width = len(self.live) + self.bounds.program.fit_intercept
        pairs = 0.5 * width * (width + 1.0)
        return pairs**2 * (size + pairs / 3.0)


def _solved(diagonal: Vector, v: Vector, slope: Vector) -> Vector:
    """(diag + Z^T Z)^-1 slope, the columns of Z being v_i v_i^T (Woodbury)."""
    first, second = np.tril_indices(len(v))
    twice = np.where(first == second, 1.0, math.sqrt(2.0))[:, None]
    Z = v[first] * v[second] * twice / np.sqrt(diagonal)
    small, scaled = Z @ Z.T, slope / np.sqrt(diagonal)
    np.einsum("ii->i", small)[:] += 1.0
    solved = lapack.dposv(small, Z @ scaled, lower=1)[1]
    step: Vector = (scaled - solved @ Z) / np.sqrt(diagonal)
    return step
