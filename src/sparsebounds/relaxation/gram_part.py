"""The smooth part of the squared loss, by a Gram matrix.

The intercept is eliminated by centring: no vector of n numbers is inside Newton's loop.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from sparsebounds._support.array import Array, Home, Index, Vector, nonzeros
from sparsebounds._support.linear import gram, product
from sparsebounds.program import Program
from sparsebounds.relaxation.points import SmoothPoint, SmoothPoints
from sparsebounds.relaxation.smooth import WorkingPart, grown

MANY = 200
"""Features of which the rows of G may be read as a whole."""


class GramPart(WorkingPart):
    """Squared loss: f(w) = w.G w/2 - c.w + constant, G and c of the centred columns."""

    has_intercept = False

    def __init__(self, program: Program, home: Home) -> None:
        super().__init__(program, home)
        p = program.F.p
        # Equal weights, the usual case, are one factor outside the products.
        self._equal = float(p[0]) if np.all(p == p[0]) else None
        target = program.F.target
        self._mean = float(p @ target) if program.fit_intercept else 0.0
        target = target - self._mean
        self._constant = 0.5 * float(p @ target**2)
        self._p, self._root, self._target = map(home.bring, (p, np.sqrt(p), target))
        self._means = np.empty(0)
        self._linear = np.empty(0)
        self._products = np.empty((0, 0))

    @property
    def gram(self) -> Vector:
        """G on the working columns."""
        return self._products[: self.size, : self.size]

    def price(self, count: int) -> float:
        return float(self.program.n) * count * (self.size + 0.5 * count)

    def add(self, columns: Array) -> None:
        old, fetch = self.size, self._home.fetch
        means = np.zeros(columns.shape[1])
        if self.program.fit_intercept:
            # Centred before they are multiplied: a mean of 1e8 would drown what matters.
            shift = self._p @ columns
            means, columns = fetch(shift), columns - shift
        super().add(columns)
        # Symmetric products go to a kernel of half the work; cross products are taken once.
        fresh = self._rows[old:, :]
        if self._equal is not None:
            corner = self._equal * fetch(gram(fresh))
            cross = self._equal * fetch(product(self._rows[:old, :], fresh.T))
            linear = self._equal * fetch(fresh @ self._target)
        else:
            root, weighted = fresh * self._root, fresh * self._p
            corner, cross = fetch(gram(root)), fetch(product(self._rows[:old, :], weighted.T))
            linear = fetch(weighted @ self._target)
        room = self._store.shape[0]
        if len(self._products) < room:
            self._products = grown(self._products, np.empty((room, room)))
        self._products[old : self.size, old : self.size] = corner
        self._products[:old, old : self.size] = cross
        self._products[old : self.size, :old] = cross.T
        self._means = np.concatenate((self._means, means))
        self._linear = np.concatenate((self._linear, linear))

    def part(self, index: Index) -> GramPart:
        part = copy.copy(self)
        part._store, part.size = self._home.rows(self._rows, index), len(index)
        part._products = self._on(index)
        part._means, part._linear = self._means[index], self._linear[index]
        return part

    def moved(self, mean: float, means: Vector) -> GramPart:
        """The same f for a response and columns with these means, which an intercept takes up."""
        part = copy.copy(self)
        part._mean, part._means = mean, means
        return part

    def curbed(self, index: Index | slice, diagonal: Vector) -> GramPart:
        """f on some columns less w.diag(diagonal) w/2, which leaves it convex; no predictions."""
        part = copy.copy(self)
        part._store, part.size = self._home.empty((0, self.program.n)), len(diagonal)
        if isinstance(index, slice):
            part._products = self.gram[index, index].copy()
        else:
            part._products = self._on(index)
        np.einsum("ii->i", part._products)[:] -= diagonal
        part._means, part._linear = self._means[index], self._linear[index]
        return part

    def at(self, w: Vector, b: float) -> SmoothPoint:
        used = nonzeros(w)
        # The rows of few features cost less than the whole matrix, though they are copied.
        few = 3 * len(used) <= len(w)
        image = w[used] @ self.gram[used] if few else product(self.gram, w)
        gradient = image - self._linear
        value = self._constant + 0.5 * float(w @ (gradient - self._linear))
        return SmoothPoint(w, self._mean - float(self._means @ w), value, gradient, 0.0)

    def at_many(self, w: Vector, b: Vector) -> SmoothPoints:
        used = np.flatnonzero(np.any(w != 0.0, axis=0))
        gradient = w[:, used] @ self.gram[used] - self._linear
        value = self._constant + 0.5 * np.einsum("ij,ij->i", w, gradient - self._linear)
        return SmoothPoints(w, self._mean - w @ self._means, value, gradient, np.zeros(len(w)))

    def metric(self, point: SmoothPoint) -> Vector:
        return np.diagonal(self.gram)

    def metrics(self, points: SmoothPoints) -> Vector:
        return np.diagonal(self.gram)

    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        return self.moments(active)[:2]

    def moments(self, index: Index) -> tuple[Vector, Vector, Vector]:
        """G and c on some of the columns, and the means that were subtracted from these."""
        return self._on(index), self._linear[index], self._means[index]

    def _weighted(self, point: SmoothPoint, active: Index) -> tuple[Array, Vector]:
        return self._home.rows(self._rows, active) * self._root, self._linear[active]

    def _on(self, index: Index) -> Vector:
        """G on some features: by whole rows where these are most of it, else number by number."""
        if len(index) > max(MANY, self.size // 3):
            return self.gram[index].take(index, axis=1)
        return self._products.ravel().take(index[:, None] * self._products.shape[1] + index)

    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        step = other.w - point.w
        start, end = float(point.gradient @ step), float(other.gradient @ step)
        return lambda t: start + t * (end - start)

    def predictions(self, w: Vector, b: float) -> Vector:
        # b is the optimal intercept for w: on centred columns, the mean response.
        return self._home.fetch(self._image(w)) + self._mean
