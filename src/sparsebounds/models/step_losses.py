"""Problems in step by the kind of their loss: what `Lockstep` asks of it, for all of them at once.

Of the squared loss a Gram matrix per set of rows and response says it all; other losses are fitted
by Newton's method on all rows.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds._support.linear import gram
from sparsebounds._support.threads import one_thread
from sparsebounds.fitting import FEWER, Kinds, Patterns, fitted, merged
from sparsebounds.losses import MeanLoss
from sparsebounds.models.lockstep import Alike, Lockstep, Quadratic, State, Unsettled

POOL = 100
"""Features in play beside a model's own and twice as many, where there are more."""

ENTRIES = 1 << 21
"""Numbers of columns that are gathered at a time."""


class Squared(Lockstep):
    """The squared loss: Gram matrices, one per set of rows and response, say it all."""

    def __init__(self, alike: Alike) -> None:
        super().__init__(alike)
        _, first, home = np.unique(alike.kind, return_index=True, return_inverse=True)
        self._home = home
        A, p, target = alike.columns, alike.p[first], alike.y[first]
        self._mean, self._level = np.zeros((len(p), len(A))), np.zeros(len(p))
        if alike.intercept:
            self._mean, self._level = p @ A.T, np.einsum("ij,ij->i", p, target)
        target = target - self._level[:, None]
        self._constant = 0.5 * np.einsum("ij,ij,ij->i", p, target, target)
        self._linear = (p * target) @ A.T
        self._hessian = np.stack(_grams(A, p, alike.mass[first]))
        self._hessian -= self._mean[:, :, None] * self._mean[:, None, :]

    def fit(self, state: State, limit: Vector) -> State:
        home, inside = self._home[state.which], state.inside
        matrix = self._hessian[home[:, None, None], inside[:, :, None], inside[:, None, :]]
        np.einsum("ijj->ij", matrix)[:] += self.alike.ridges[state.which[:, None], inside]
        right = self._linear[home[:, None], inside]
        try:
            w: Vector = np.linalg.solve(matrix, right[:, :, None])[:, :, 0].astype(np.float64)
        except np.linalg.LinAlgError as error:
            raise Unsettled from error
        value = self._constant[home] - 0.5 * np.einsum("ij,ij->i", right, w)
        b = self._level[home] - np.einsum("ij,ij->i", self._mean[home[:, None], inside], w)
        return State(state.which, inside, w, b, value)

    def around(self, state: State) -> Quadratic:
        home = self._home[state.which]
        across = self._hessian[home[:, None], state.inside]
        rho = self._linear[home] - (state.w[:, None, :] @ across)[:, 0]
        diagonal = np.einsum("ijj->ij", self._hessian)[home]
        pool = np.tile(np.arange(len(self.alike.columns)), (len(home), 1))
        return Quadratic(pool, state.inside, across, diagonal, rho, self._mean[home])


def _grams(A: Vector, p: Vector, mass: Vector) -> list[Vector]:
    """A diag(p) A^T for each row of p.

    Of all rows, less those that are left out, where these are fewer.
    """
    weights = p * mass[:, None]
    whole = weights.max(axis=0)
    out = whole - weights
    out[out <= 1e-12 * whole] = 0.0
    if np.count_nonzero(out) + len(whole) >= np.count_nonzero(p):
        return [_gram(A, row) for row in p]
    full = _gram(A, whole)
    return [(full - _gram(A, less)) / total for less, total in zip(out, mass, strict=True)]


def _gram(A: Vector, p: Vector) -> Vector:
    rows = np.flatnonzero(p)
    found: Vector = gram(A[:, rows] * np.sqrt(p[rows]))
    return found


class General(Lockstep):
    """Other losses, and wide tables: Newton's method on all rows, or one for each that is alike.

    In play are the features that gain most one by one, where there are many.
    """

    def __init__(self, alike: Alike) -> None:
        super().__init__(alike)
        self._squares = alike.columns**2
        self._responses = Kinds.of(alike.y)
        if self._responses is not None:
            worth = alike.columns.shape[1] // (FEWER * len(self._responses.values))
            self._patterns = Patterns(alike.columns, worth)

    def _loss(self, which: Index) -> MeanLoss:
        return MeanLoss(self.alike.loss, self.alike.y[which], self.alike.p[which])

    def _cuts(self, state: State, least: int = 0) -> list[slice]:
        """Parts of a state whose columns, or `least` for each, are gathered at a time."""
        count, size = state.inside.shape
        share = max(1, ENTRIES // (max(1, least, size) * self.alike.columns.shape[1]))
        return [slice(i, i + share) for i in range(0, max(count, 1), share)]

    def _rows(self, which: Index, inside: Index) -> tuple[MeanLoss, Vector]:
        """The data term and the columns of some supports."""
        F, columns, responses = self._loss(which), self.alike.columns, self._responses
        patterns = None if responses is None else self._patterns.of(inside)
        if responses is None or not patterns:
            return F, columns[inside]
        return merged(F, responses.at(which), columns, inside, patterns)

    def fit(self, state: State, limit: Vector) -> State:
        found = State(state.which, state.inside, state.w.copy(), state.b.copy(), state.value.copy())
        for cut in self._cuts(state):
            which, inside = state.which[cut], state.inside[cut]
            F, A = self._rows(which, inside)
            ridges = self.alike.ridges[which[:, None], inside]
            start = state.w[cut], state.b[cut], limit[cut]
            done = fitted(F, self.alike.intercept, A, ridges, *start)
            found.w[cut], found.b[cut] = done.w, done.b
            found.value[cut] = np.where(np.isnan(done.value), np.inf, done.value)
        return found

    def around(self, state: State) -> Quadratic:
        own, size = state.inside.shape[1], 0
        if not self.alike.narrow:
            size = min(POOL + 2 * own, len(self.alike.columns) - own)
        parts = [self._around(state.at(cut), size) for cut in self._cuts(state, size)]
        names = [field.name for field in fields(Quadratic)]
        return Quadratic(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))

    def _around(self, state: State, size: int) -> Quadratic:
        """The loss around models, with so many features in play beside their own; 0: all."""
        columns, inside, intercept = self.alike.columns, state.inside, self.alike.intercept
        F, A, every = self._loss(state.which), columns[inside], np.arange(len(inside))[:, None]
        z = (state.w[:, None, :] @ A)[:, 0] + state.b[:, None]
        a, bend = F.gradient(z), F.curvature(z)
        A *= bend[:, None, :]
        mass, rho = bend.sum(axis=1)[:, None], -(a @ columns.T)
        mean = bend @ columns.T / mass if intercept else np.zeros_like(rho)
        rho += mean * a.sum(axis=1)[:, None]
        diagonal = bend @ self._squares.T - mass * mean**2
        pool, at = np.tile(np.arange(len(columns)), (len(inside), 1)), inside
        if size:
            gain = rho**2 / (diagonal + self.alike.ridges[state.which])
            gain[:, ~self.alike.open] = -1.0
            gain[every, inside] = -np.inf
            best = np.argpartition(gain, -size, axis=1)[:, -size:]
            pool, at = np.hstack((inside, best)), np.tile(np.arange(inside.shape[1]), (len(a), 1))
            across = A @ columns[pool].transpose(0, 2, 1)
            diagonal, rho, mean = diagonal[every, pool], rho[every, pool], mean[every, pool]
        else:
            across = (A.reshape(-1, A.shape[2]) @ columns.T).reshape(*inside.shape, len(columns))
        across -= (mean[every, at] * mass)[:, :, None] * mean[:, None, :]
        return Quadratic(pool, at, across, diagonal, rho, mean)


def in_step(alike: Alike) -> Lockstep:
    """The problems, by the kind of their loss."""
    return Squared(alike) if alike.by_gram else General(alike)


@one_thread()
def climbed(alike: Alike, most: int, begun: list[State] | None, limit: float | None) -> list[State]:
    """The states of all sizes; other processes are asked for them by this name."""
    # In shared memory arrays are of a class of their own, with slower operations, and read-only.
    alike = replace(alike, columns=np.asarray(alike.columns))
    own = begun and [State(*(np.array(one) for one in vars(state).values())) for state in begun]
    return in_step(alike).climb(most, late=Deadline(limit).late, begun=own)
