"""The smooth part on the working set: f(w, b) = F(A w + b), A the columns read so far.

Two implementations of one interface. The squared loss lives in Gram form, with the intercept
eliminated by centring: no vector of n numbers inside Newton's loop. Any other loss keeps z = A w
+ b and carries the intercept as one more, unpenalised, coordinate.

A, and every vector of n numbers, stay where X lives (`home`); what belongs to features comes to the
host, where Newton's small systems are solved.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from sparsebounds._support.array import HOST, Array, Home, Index, Vector, nonzeros
from sparsebounds._support.linear import gram, product
from sparsebounds.losses import Loss, MeanLoss
from sparsebounds.matrices import Matrix
from sparsebounds.program import Program
from sparsebounds.relaxation.conjugate import Products
from sparsebounds.relaxation.few_rows import FEW, FewRows
from sparsebounds.relaxation.points import SmoothPoint, SmoothPoints

FLAT = 1e-6
"""Curvature granted where a loss has none (Huber's tails), relative to the most it can have."""

BALANCING, BALANCED = 12, 1e-15
"""Newton steps for an intercept, and the slope at which it is the best one."""


class Smooth(ABC):
    """F on the working columns, which only ever grow."""

    has_intercept: bool
    """Whether b is a coordinate of Newton's system."""

    def __init__(self, program: Program, home: Home) -> None:
        self.program = program
        self._home = home
        self._store = home.empty((0, program.n))
        self.size = 0

    @property
    def _rows(self) -> Array:
        """A^T: the working columns, one per row."""
        return self._store[: self.size, :]

    def reserve(self, size: int) -> None:
        """Have room for so many columns."""
        if size > self._store.shape[0]:
            self._store = _grown(self._store, self._home.empty((size, self.program.n)))

    def read(self, matrix: Matrix, features: Index) -> None:
        """Append these columns of X to A."""
        read = matrix.resident if self.program.loss.portable else matrix.columns
        self.add(read(features))

    def add(self, columns: Array) -> None:
        """Append columns, which are at home, to A."""
        size = self.size + columns.shape[1]
        if size > self._store.shape[0]:
            self.reserve(max(size, 2 * self.size))
        self._store[self.size : size, :] = columns.T
        self.size = size

    def price(self, count: int) -> float:
        """Multiplications that adding so many columns takes."""
        return 0.0

    @abstractmethod
    def part(self, index: Index) -> Smooth:
        """F on some of the columns."""

    @abstractmethod
    def at(self, w: Vector, b: float) -> SmoothPoint:
        """f, and its derivatives, at (w, b)."""

    @abstractmethod
    def at_many(self, w: Vector, b: Vector) -> SmoothPoints:
        """`at` for every row of w, at its best intercept: products of matrices."""

    @abstractmethod
    def metric(self, point: SmoothPoint) -> Vector:
        """The diagonal of f'' in w, roughly, and positive where the loss is flat."""

    @abstractmethod
    def metrics(self, points: SmoothPoints) -> Vector:
        """`metric` for every point, or one row for all."""

    def magnitude(self, point: SmoothPoint) -> float:
        """The size of the terms that f adds up near a point: rounding is a share of that."""
        return abs(point.value)

    def fades(self, point: SmoothPoint) -> bool:
        """Whether the loss falls as an exponential here: little curvature is left, but some."""
        return False

    @abstractmethod
    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        """f'' on the active features (and b, last) and the right side f'' (w, b) - f'.

        Both are the caller's to change.
        """

    def products(self, point: SmoothPoint, active: Index) -> Products | None:
        """The same f'' by its products with vectors; None where the matrix is better."""
        return None

    def few_rows(self, point: SmoothPoint, active: Index) -> FewRows | None:
        """The same f'' by its rows; None where they are many, or elsewhere."""
        few = self._home is HOST and FEW * self.program.n <= len(active) <= len(self._store)
        return FewRows(*self._weighted(point, active)) if few else None

    @abstractmethod
    def _weighted(self, point: SmoothPoint, active: Index) -> tuple[Array, Vector]:
        """Rows that have f'' as their products, one per coordinate, and the right side."""

    @abstractmethod
    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        """t -> the derivative of f on the segment from `point` to `other`."""

    @abstractmethod
    def predictions(self, w: Vector, b: float) -> Vector:
        """z = A w + b."""

    def _image(self, w: Vector) -> Array:
        """A w, at home."""
        support = nonzeros(w)
        if len(support) * 4 > len(w):
            return product(self._rows.T, self._home.bring(w))
        return self._home.bring(w[support]) @ self._home.rows(self._rows, support)


class GramPart(Smooth):
    """Squared loss: f(w) = w.G w/2 - c.w + constant, G and c of the centred columns."""

    has_intercept = False

    def __init__(self, program: Program, home: Home) -> None:
        super().__init__(program, home)
        p = program.F.p
        # Equal weights, the usual case, are one factor outside the products.
        self._equal = float(p[0]) if np.all(p == p[0]) else None
        target = program.y if program.offset is None else program.y - program.offset
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
            self._products = _grown(self._products, np.empty((room, room)))
        self._products[old : self.size, old : self.size] = corner
        self._products[:old, old : self.size] = cross
        self._products[old : self.size, :old] = cross.T
        self._means = np.concatenate((self._means, means))
        self._linear = np.concatenate((self._linear, linear))

    def part(self, index: Index) -> GramPart:
        part = copy.copy(self)
        part._store, part.size = self._home.rows(self._rows, index), len(index)
        part._products = self._products.ravel().take(self._places(index))
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
            part._products = self._products.ravel().take(self._places(index))
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
        products = self._products.ravel().take(self._places(index))
        return products, self._linear[index], self._means[index]

    def _weighted(self, point: SmoothPoint, active: Index) -> tuple[Array, Vector]:
        return self._home.rows(self._rows, active) * self._root, self._linear[active]

    def _places(self, index: Index) -> Index:
        """Where G on some features lies: one flat index is half the price of a pair."""
        places: Index = index[:, None] * self._products.shape[1] + index
        return places

    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        step = other.w - point.w
        start, end = float(point.gradient @ step), float(other.gradient @ step)
        return lambda t: start + t * (end - start)

    def predictions(self, w: Vector, b: float) -> Vector:
        # b is the optimal intercept for w: on centred columns, the mean response.
        return self._home.fetch(self._image(w)) + self._mean


class GeneralPart(Smooth):
    """Any convex loss: derivatives through z = A w + b."""

    def __init__(self, program: Program, home: Home) -> None:
        super().__init__(program, home)
        self.has_intercept = program.fit_intercept
        self._F = program.F if home is HOST else _moved(program.F, home)
        self._squares = np.empty(0)
        self._last: tuple[SmoothPoint, Array] | None = None

    def add(self, columns: Array) -> None:
        super().add(columns)
        self._squares = np.append(self._squares, self._home.fetch(self._F.p @ columns**2))

    def part(self, index: Index) -> GeneralPart:
        part = copy.copy(self)
        part._store, part.size = self._home.rows(self._rows, index), len(index)
        part._squares = self._squares[index]
        return part

    def at(self, w: Vector, b: float) -> SmoothPoint:
        F, z = self._F, self._image(w) + b
        with np.errstate(over="ignore", invalid="ignore"):
            a = F.gradient(z)
            value = F.value(z)
        slope = float(self._home.xp.sum(a)) if self.has_intercept else 0.0
        return SmoothPoint(w, b, value, self._scores(a), slope, z)

    def at_many(self, w: Vector, b: Vector) -> SmoothPoints:
        home, F = self._home, self._F
        z = self._images(w) + home.bring(b)[:, None]
        if self.has_intercept:
            b, z = self._balanced(b, z)
        with np.errstate(over="ignore", invalid="ignore"):
            a, value = F.gradient(z), home.fetch(F.values(z))
        gradient = self._scores_many(a)
        slope = home.fetch(home.xp.sum(a, axis=1)) if self.has_intercept else np.zeros(len(w))
        return SmoothPoints(w, b, value, gradient, slope, z)

    def _scores(self, a: Array) -> Vector:
        """A^T a."""
        return self._home.fetch(product(self._rows, a))

    def _images(self, w: Vector) -> Array:
        """A w for every row of w, at home."""
        home, used = self._home, np.flatnonzero(np.any(w != 0.0, axis=0))
        return product(home.bring(w[:, used]), home.rows(self._rows, used))

    def _scores_many(self, a: Array) -> Vector:
        """A^T a for every row of a."""
        return self._home.fetch(product(a, self._rows.T))

    def metric(self, point: SmoothPoint) -> Vector:
        # The mean curvature in place of each row's own: a metric need not be exact.
        # Far down an exponential it is as small as the slope.
        total, fades = self._home.xp.sum, self.fades(point)
        slope = float(total(abs(self._F.gradient(point.z)))) if fades else np.inf
        return self._squares * max(float(total(self._bend(point))), min(slope, self._least))

    def magnitude(self, point: SmoothPoint) -> float:
        # The rounding of predictions counts as much as the slopes there.
        z: Array = point.z
        return abs(point.value) + float(abs(self._F.gradient(z)) @ abs(z))

    def fades(self, point: SmoothPoint) -> bool:
        return 0.0 < float(self._home.xp.sum(self._bend(point))) < self._least

    def metrics(self, points: SmoothPoints) -> Vector:
        assert points.z is not None
        bend = self._home.fetch(self._home.xp.sum(self._F.curvature(points.z), axis=1))
        return np.outer(np.maximum(bend, self._least), self._squares)

    @property
    def _least(self) -> float:
        """The curvature granted where there is none."""
        return least_bend(self.program.loss)

    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        rows, right = self._weighted(point, active)
        return self._home.fetch(gram(rows)), right

    def _weighted(self, point: SmoothPoint, active: Index) -> tuple[Array, Vector]:
        assert point.z is not None
        xp, bend, gradient = self._home.xp, self._bend(point), point.gradient[active]
        rows = self._home.rows(self._rows, active)
        if self.has_intercept:
            rows = xp.concat((rows, xp.ones_like(bend)[None, :]))
            gradient = np.append(gradient, point.slope)
        right = self._home.fetch(product(rows, bend * point.z)) - gradient
        return rows * xp.sqrt(bend), right

    def _balanced(self, b: Vector, z: Array) -> tuple[Vector, Array]:
        """Each row's best intercept by Newton's method: only then is a = F'(z) a dual vector."""
        F, home = self._F, self._home
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(BALANCING):
                slope, bend = map(home.fetch, F.sums(z))
                if not np.any(np.abs(slope) > BALANCED):
                    break
                step = slope / bend
                step = np.where(np.isfinite(step), np.clip(step, -2.0, 2.0), 0.0)
                b, z = b - step, z - home.bring(step)[:, None]
        return b, z

    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        assert point.z is not None
        assert other.z is not None
        start, step = point.z, other.z - point.z

        def derivative(t: float) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                slope = float(self._F.gradient(start + t * step) @ step)
            return np.inf if np.isnan(slope) else slope

        return derivative

    def predictions(self, w: Vector, b: float) -> Vector:
        return self._home.fetch(self._image(w)) + b

    def _bend(self, point: SmoothPoint) -> Array:
        """F''(z); that of the last point is kept."""
        if self._last is None or self._last[0] is not point:
            assert point.z is not None
            self._last = point, self._F.curvature(point.z)
        return self._last[1]


def _grown(array: Array, larger: Array) -> Array:
    """A larger array with the old one in its corner; the rest stays as it is."""
    larger[: array.shape[0], : array.shape[1]] = array
    return larger


def _moved(F: MeanLoss, home: Home) -> MeanLoss:
    """F with its vectors brought home."""
    offset = None if F.offset is None else home.bring(F.offset)
    return MeanLoss(F.loss, home.bring(F.y), home.bring(F.p), offset)


def least_bend(loss: Loss) -> float:
    """The curvature granted where a loss has none."""
    return FLAT * (1.0 if np.isnan(loss.smoothness) else loss.smoothness)
