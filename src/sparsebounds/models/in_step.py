"""Problems in step by the kind of their loss: what `Lockstep` asks of it, for all of them at once.

Of the squared loss a Gram matrix per set of rows and response says it all; other losses are fitted
by Newton's method on all rows.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.linear import gram
from sparsebounds.fitting import fitted
from sparsebounds.losses import MeanLoss
from sparsebounds.models.lockstep import Alike, Lockstep, State, Unsettled

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

    def around(self, state: State) -> tuple[Vector, Vector, Vector, Vector]:
        home = self._home[state.which]
        across = self._hessian[home[:, None], state.inside]
        rho = self._linear[home] - (state.w[:, None, :] @ across)[:, 0]
        return across, np.einsum("ijj->ij", self._hessian)[home], rho, self._mean[home]


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
    """Other losses: Newton's method on all rows."""

    def __init__(self, alike: Alike) -> None:
        super().__init__(alike)
        self._squares = alike.columns**2

    def _loss(self, which: Index) -> MeanLoss:
        return MeanLoss(self.alike.loss, self.alike.y[which], self.alike.p[which])

    def _cuts(self, state: State) -> list[slice]:
        """Parts of a state whose columns are gathered at a time."""
        count, size = state.inside.shape
        share = max(1, ENTRIES // (max(1, size) * self.alike.columns.shape[1]))
        return [slice(i, i + share) for i in range(0, max(count, 1), share)]

    def fit(self, state: State, limit: Vector) -> State:
        found = State(state.which, state.inside, state.w.copy(), state.b.copy(), state.value.copy())
        for cut in self._cuts(state):
            which, inside = state.which[cut], state.inside[cut]
            A, ridges = self.alike.columns[inside], self.alike.ridges[which[:, None], inside]
            start = state.w[cut], state.b[cut], limit[cut]
            F = self._loss(which)
            done = fitted(F, self.alike.intercept, A, ridges, *start)
            found.w[cut], found.b[cut] = done.w, done.b
            found.value[cut] = np.where(np.isnan(done.value), np.inf, done.value)
        return found

    def around(self, state: State) -> tuple[Vector, Vector, Vector, Vector]:
        columns, parts = self.alike.columns.T, list[tuple[Vector, ...]]()
        for cut in self._cuts(state):
            F, A = self._loss(state.which[cut]), self.alike.columns[state.inside[cut]]
            z = (state.w[cut, None, :] @ A)[:, 0] + state.b[cut, None]
            a, bend = F.gradient(z), F.curvature(z)
            A *= bend[:, None, :]
            across = (A.reshape(-1, A.shape[2]) @ columns).reshape(*A.shape[:2], len(columns.T))
            parts.append((across, bend @ self._squares.T, -(a @ columns), bend @ columns))
            if self.alike.intercept:
                across, diagonal, rho, mean = parts[-1]
                mass = bend.sum(axis=1)[:, None]
                mean /= mass
                inner = mean[np.arange(len(mean))[:, None], state.inside[cut]]
                across -= (inner * mass)[:, :, None] * mean[:, None, :]
                diagonal -= mass * mean**2
                rho += mean * a.sum(axis=1)[:, None]
        across, diagonal, rho, mean = (np.concatenate(part) for part in zip(*parts, strict=True))
        return across, diagonal, rho, mean if self.alike.intercept else np.zeros_like(mean)


def in_step(alike: Alike) -> Lockstep:
    """The problems, by the kind of their loss."""
    return Squared(alike) if alike.loss.name == "squared" else General(alike)
