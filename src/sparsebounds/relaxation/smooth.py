"""The smooth part on the working set: f(w, b) = F(A w + b), A the columns read so far.

`Smooth` is what Newton asks of f, `WorkingPart` what working sets ask, too. `GramPart` is for the
squared loss, `GeneralPart` for any other; `SparsePart` is for columns that are sparse or very long.

A, and every vector of n numbers, stay where X lives (`home`); what belongs to features comes to the
host, where Newton's small systems are solved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from sparsebounds._support.array import HOST, Array, Home, Index, Vector, nonzeros
from sparsebounds._support.linear import product
from sparsebounds.matrices import Matrix
from sparsebounds.program import Program
from sparsebounds.relaxation.conjugate import Products
from sparsebounds.relaxation.few_rows import FEW, FewRows
from sparsebounds.relaxation.points import SmoothPoint, SmoothPoints


class Smooth(ABC):
    """What Newton's method asks of f."""

    has_intercept: bool
    """Whether b is a coordinate of Newton's system."""

    @abstractmethod
    def at(self, w: Vector, b: float) -> SmoothPoint:
        """f, and its derivatives, at (w, b)."""

    @abstractmethod
    def metric(self, point: SmoothPoint) -> Vector:
        """The diagonal of f'' in w, roughly, and positive where the loss is flat."""

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
        return None

    @abstractmethod
    def along(self, point: SmoothPoint, other: SmoothPoint) -> Callable[[float], float]:
        """t -> the derivative of f on the segment from `point` to `other`."""


class WorkingPart(Smooth):
    """F on the working columns, which only ever grow."""

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
            self._store = grown(self._store, self._home.empty((size, self.program.n)))

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
    def part(self, index: Index) -> WorkingPart:
        """F on some of the columns."""

    @abstractmethod
    def at_many(self, w: Vector, b: Vector) -> SmoothPoints:
        """`at` for every row of w, at its best intercept: products of matrices."""

    @abstractmethod
    def metrics(self, points: SmoothPoints) -> Vector:
        """`metric` for every point, or one row for all."""

    def magnitude(self, point: SmoothPoint) -> float:
        """The size of the terms that f adds up near a point: rounding is a share of that."""
        return abs(point.value)

    def few_rows(self, point: SmoothPoint, active: Index) -> FewRows | None:
        few = self._home is HOST and FEW * self.program.n <= len(active) <= len(self._store)
        return FewRows(*self._weighted(point, active)) if few else None

    @abstractmethod
    def _weighted(self, point: SmoothPoint, active: Index) -> tuple[Array, Vector]:
        """Rows that have f'' as their products, one per coordinate, and the right side."""

    @abstractmethod
    def predictions(self, w: Vector, b: float) -> Vector:
        """z = A w + b."""

    def _image(self, w: Vector) -> Array:
        """A w, at home."""
        support = nonzeros(w)
        if len(support) * 4 > len(w):
            return product(self._rows.T, self._home.bring(w))
        return self._home.bring(w[support]) @ self._home.rows(self._rows, support)


def grown(array: Array, larger: Array) -> Array:
    """A larger array with the old one in its corner; the rest stays as it is."""
    larger[: array.shape[0], : array.shape[1]] = array
    return larger
