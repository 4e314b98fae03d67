"""The smooth part on the working set: f(w, b) = F(A w + b), A the columns read so far.

Two implementations of one interface. The squared loss lives in Gram form, with the intercept
eliminated by centring: no vector of n numbers inside Newton's loop. Any other loss keeps z = A w
+ b and carries the intercept as one more, unpenalised, coordinate.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebounds._array import Index, Vector
from sparsebounds.program import Program

FLAT = 1e-6
"""Curvature granted where a loss has none (Huber's tails), relative to the most it can have."""

BALANCING, BALANCED = 12, 1e-15
"""Newton steps for an intercept, and the slope at which it is the best one."""


@dataclass(frozen=True)
class SmoothPoint:
    """f at (w, b)."""

    w: Vector
    b: float
    value: float
    gradient: Vector
    """df/dw."""

    slope: float
    """df/db; 0 where the intercept is eliminated or not fitted."""

    z: Vector | None = None
    """A w + b, where the implementation keeps it."""

    @property
    def dual(self) -> float:
        """-F*(a) at a = F'(z), by Fenchel-Young."""
        return self.value - float(self.w @ self.gradient) - self.b * self.slope


@dataclass(frozen=True)
class SmoothPoints:
    """f at many (w, b): one row each."""

    w: Vector
    b: Vector
    value: Vector
    gradient: Vector
    slope: Vector
    z: Vector | None = None

    @property
    def dual(self) -> Vector:
        """-F*(a) at each a = F'(z)."""
        dual: Vector = self.value - np.einsum("ij,ij->i", self.w, self.gradient)
        return dual - self.b * self.slope

    def take(self, rows: Index) -> SmoothPoints:
        """Some of the points."""
        z = None if self.z is None else self.z[rows]
        return SmoothPoints(
            self.w[rows], self.b[rows], self.value[rows], self.gradient[rows], self.slope[rows], z
        )

    def row(self, i: int) -> SmoothPoint:
        """One of the points."""
        return SmoothPoint(
            self.w[i],
            float(self.b[i]),
            float(self.value[i]),
            self.gradient[i],
            float(self.slope[i]),
            None if self.z is None else self.z[i],
        )


class Smooth(ABC):
    """F on the working columns, which only ever grow."""

    has_intercept: bool
    """Whether b is a coordinate of Newton's system."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._store = np.empty((0, program.n))
        self.size = 0

    @property
    def _rows(self) -> Vector:
        """A^T: the working columns, one a row."""
        return self._store[: self.size]

    def add(self, columns: Vector) -> None:
        """Append columns to A."""
        size = self.size + columns.shape[1]
        if size > len(self._store):
            self._store = _grown(self._store, (max(size, 2 * self.size), self.program.n))
        self._store[self.size : size] = columns.T
        self.size = size

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

    @abstractmethod
    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        """f'' on the active features (and b, last) and the right side f'' (w, b) - f'.

        Both are the caller's to change.
        """

    @abstractmethod
    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        """t -> the derivative of f on the segment from `point` to `other`."""

    @abstractmethod
    def predictions(self, w: Vector, b: float) -> Vector:
        """z = A w + b."""

    def _image(self, w: Vector) -> Vector:
        support = np.flatnonzero(w)
        if len(support) * 4 > len(w):
            return w @ self._rows
        image: Vector = w[support] @ self._rows[support]
        return image


class GramPart(Smooth):
    """Squared loss: f(w) = w.G w/2 - c.w + constant, G and c of the centred columns."""

    has_intercept = False

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._p = program.F.p
        # Equal weights, the usual case, are one factor outside the products.
        self._equal = float(self._p[0]) if np.all(self._p == self._p[0]) else None
        self._target = program.y if program.offset is None else program.y - program.offset
        self._mean = float(self._p @ self._target) if program.fit_intercept else 0.0
        self._target = self._target - self._mean
        self._constant = 0.5 * float(self._p @ self._target**2)
        self._means = np.empty(0)
        self._linear = np.empty(0)
        self._products = np.empty((0, 0))

    @property
    def gram(self) -> Vector:
        """G on the working columns."""
        return self._products[: self.size, : self.size]

    def add(self, columns: Vector) -> None:
        old = self.size
        means = np.zeros(columns.shape[1])
        if self.program.fit_intercept:
            # Centred before they are multiplied: a mean of 1e8 would drown what matters.
            means = self._p @ columns
            columns = columns - means
        super().add(columns)
        # Symmetric products go to a kernel of half the work; cross products are taken once.
        fresh = self._rows[old:]
        if self._equal is not None:
            corner, cross = (
                self._equal * (fresh @ fresh.T),
                self._equal * (self._rows[:old] @ fresh.T),
            )
            linear = self._equal * (fresh @ self._target)
        else:
            root, weighted = fresh * np.sqrt(self._p), fresh * self._p
            corner, cross = root @ root.T, self._rows[:old] @ weighted.T
            linear = weighted @ self._target
        if len(self._products) < len(self._store):
            self._products = _grown(self._products, (len(self._store), len(self._store)))
        self._products[old : self.size, old : self.size] = corner
        self._products[:old, old : self.size] = cross
        self._products[old : self.size, :old] = cross.T
        self._means = np.concatenate((self._means, means))
        self._linear = np.concatenate((self._linear, linear))

    def part(self, index: Index) -> GramPart:
        part = copy.copy(self)
        part._store, part.size = self._rows[index], len(index)
        part._products = self._products.ravel().take(self._places(index))
        part._means, part._linear = self._means[index], self._linear[index]
        return part

    def curbed(self, index: Index, diagonal: Vector) -> GramPart:
        """f on some of the columns, less w.diag(diagonal) w/2, which must leave it convex.

        It has no predictions.
        """
        part = copy.copy(self)
        part._store, part.size = np.empty((0, self.program.n)), len(index)
        part._products = self._products.ravel().take(self._places(index))
        np.einsum("ii->i", part._products)[:] -= diagonal
        part._means, part._linear = self._means[index], self._linear[index]
        return part

    def at(self, w: Vector, b: float) -> SmoothPoint:
        used = np.flatnonzero(w)
        # The rows of few features cost less than the whole matrix, though they are copied.
        product = self.gram @ w if 3 * len(used) > len(w) else w[used] @ self.gram[used]
        gradient = product - self._linear
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
        return self._products.ravel().take(self._places(active)), self._linear[active]

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
        return self._image(w) + self._mean


class GeneralPart(Smooth):
    """Any convex loss: derivatives through z = A w + b."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.has_intercept = program.fit_intercept
        self._squares = np.empty(0)

    def add(self, columns: Vector) -> None:
        super().add(columns)
        self._squares = np.concatenate((self._squares, self.program.F.p @ columns**2))

    def part(self, index: Index) -> GeneralPart:
        part = copy.copy(self)
        part._store, part.size = self._rows[index], len(index)
        part._squares = self._squares[index]
        return part

    def at(self, w: Vector, b: float) -> SmoothPoint:
        F, z = self.program.F, self.predictions(w, b)
        with np.errstate(over="ignore", invalid="ignore"):
            a = F.gradient(z)
            value = F.value(z)
        slope = float(np.sum(a)) if self.has_intercept else 0.0
        return SmoothPoint(w, b, value, self._rows @ a, slope, z)

    def at_many(self, w: Vector, b: Vector) -> SmoothPoints:
        F, used = self.program.F, np.flatnonzero(np.any(w != 0.0, axis=0))
        z = w[:, used] @ self._rows[used] + b[:, None]
        if self.has_intercept:
            b, z = self._balanced(b, z)
        with np.errstate(over="ignore", invalid="ignore"):
            a, value = F.gradient(z), F.values(z)
        gradient = a @ self._rows.T
        slope = np.sum(a, axis=1) if self.has_intercept else np.zeros(len(w))
        return SmoothPoints(w, b, value, gradient, slope, z)

    def metric(self, point: SmoothPoint) -> Vector:
        # The mean curvature in place of each row's own: a metric need not be exact.
        return self._squares * max(float(np.sum(self._bend(point))), self._least)

    def metrics(self, points: SmoothPoints) -> Vector:
        assert points.z is not None
        bend = np.sum(self.program.F.curvature(points.z), axis=1)
        return np.outer(np.maximum(bend, self._least), self._squares)

    @property
    def _least(self) -> float:
        """The curvature granted where there is none."""
        smooth = self.program.loss.smoothness
        return FLAT * (1.0 if np.isnan(smooth) else smooth)

    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        assert point.z is not None
        bend = self._bend(point)
        rows = self._rows[active]
        gradient = point.gradient[active]
        if self.has_intercept:
            rows = np.concatenate((rows, np.ones((1, self.program.n))))
            gradient = np.append(gradient, point.slope)
        scaled = rows * np.sqrt(bend)
        return scaled @ scaled.T, rows @ (bend * point.z) - gradient

    def _balanced(self, b: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Each row's best intercept by Newton's method: only then is a = F'(z) a dual vector."""
        F = self.program.F
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(BALANCING):
                slope = np.sum(F.gradient(z), axis=1)
                if not np.any(np.abs(slope) > BALANCED):
                    break
                step = slope / np.sum(F.curvature(z), axis=1)
                step = np.where(np.isfinite(step), np.clip(step, -2.0, 2.0), 0.0)
                b, z = b - step, z - step[:, None]
        return b, z

    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        assert point.z is not None
        assert other.z is not None
        start, step = point.z, other.z - point.z

        def derivative(t: float) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                slope = float(self.program.F.gradient(start + t * step) @ step)
            return np.inf if np.isnan(slope) else slope

        return derivative

    def predictions(self, w: Vector, b: float) -> Vector:
        return self._image(w) + b

    def _bend(self, point: SmoothPoint) -> Vector:
        assert point.z is not None
        bend: Vector = self.program.F.curvature(point.z)
        return bend


def _grown(array: Vector, shape: tuple[int, int]) -> Vector:
    """A larger array with the old one in its corner; the rest is not set."""
    larger = np.empty(shape)
    larger[: array.shape[0], : array.shape[1]] = array
    return larger


def smooth_part(program: Program) -> Smooth:
    """The implementation for the program's loss."""
    return GramPart(program) if program.loss.name == "squared" else GeneralPart(program)
