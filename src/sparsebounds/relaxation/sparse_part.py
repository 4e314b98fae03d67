"""The smooth part on columns of a sparse matrix: A stays sparse, and so do its products.

A Newton step asks for f'' = A^T D A. A product of it with a vector takes two passes over the stored
entries of A, so conjugate gradients are tried first, wherever a factorisation of the matrix costs
more than a few products. Centring and scaling are left to the matrix, as terms of rank one.
"""

from __future__ import annotations

import copy

import numpy as np

from sparsebounds._support.array import HOST, Array, Home, Index, Vector
from sparsebounds.matrices import Matrix
from sparsebounds.program import Program
from sparsebounds.relaxation.conjugate import Products
from sparsebounds.relaxation.general_part import GeneralPart
from sparsebounds.relaxation.gram_part import GramPart
from sparsebounds.relaxation.points import SmoothPoint, SmoothPoints
from sparsebounds.relaxation.smooth import WorkingPart

FACTORED = 4000
"""Coordinates of the largest system that is factored: its matrix takes 128 MB."""

FEW = 5
"""Products that are no more than a factorisation: the matrix is formed at once."""

CALL, ENTRY, ROW, FLOP = 4e4, 4.0, 8.0, 0.1
"""Nanoseconds that a product takes, about: in all, per stored entry and per row; and those of a
multiplication in a factorisation. The matrix takes a product per entry and entry of its row."""


class SparsePart(GeneralPart):
    """Any convex loss, the squared one too, on columns that are mostly zeros, or very long."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, HOST)
        self._index = np.zeros(0, dtype=np.int64)
        self._part: Matrix = program.matrix.part(self._index)

    def read(self, matrix: Matrix, features: Index) -> None:
        self._index = np.concatenate((self._index, features))
        self._part, self.size = matrix.part(self._index), len(self._index)
        if len(features):
            mean, spread = matrix.part(features).moments(self._F.p)
            self._squares = np.append(self._squares, mean**2 + spread)

    def part(self, index: Index) -> SparsePart:
        part = copy.copy(self)
        part._index, part._part = self._index[index], self._part.part(index)
        part._squares, part.size = self._squares[index], len(index)
        return part

    def at(self, w: Vector, b: float) -> SmoothPoint:
        if not self._part.tall:
            return super().at(w, b)
        sums = np.zeros(2)

        def slopes(rows: slice, image: Vector) -> Vector:
            F, z = self._F.within(rows), image
            z += b
            a: Vector = F.gradient(z)
            sums[:] += F.value(z), float(np.sum(a))
            return a

        with np.errstate(over="ignore", invalid="ignore"):
            z, gradient = self._part.swept(w, slopes)
        slope = float(sums[1]) if self.has_intercept else 0.0
        return SmoothPoint(w, b, float(sums[0]), gradient, slope, z)

    def at_many(self, w: Vector, b: Vector) -> SmoothPoints:
        if not self._part.tall:
            return super().at_many(w, b)
        z = self._images(w)
        z += b[:, None]
        if self.has_intercept:
            b, z = self._balanced(b, z)
        value, slope, gradient = np.zeros(len(w)), np.zeros(len(w)), np.zeros(w.shape)
        part, scale = self._part.unscaled
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, block in part.row_blocks(np.arange(self.size)):
                F, here = self._F.within(rows), z[:, rows]
                a = F.gradient(here)
                value += F.values(here)
                slope += np.sum(a, axis=1)
                gradient += a @ block
        slope = slope if self.has_intercept else np.zeros(len(w))
        return SmoothPoints(w, b, value, gradient / scale, slope, z)

    def system(self, point: SmoothPoint, active: Index) -> tuple[Vector, Vector]:
        assert point.z is not None
        bend, part = self._bend(point), self._of(active)
        matrix, border, pull = part.normal(bend, point.z)
        right = pull - point.gradient[active]
        if not self.has_intercept:
            return matrix, right
        total = float(np.sum(bend))
        last = float(bend @ point.z) - point.slope
        return np.block([[matrix, border[:, None]], [border, total]]), np.append(right, last)

    def products(self, point: SmoothPoint, active: Index) -> Products | None:
        count, n = len(active), self.program.n
        if not self._part.sparse and count <= FACTORED:
            return None
        entries = float(np.sum(self._part.filled(active)))
        product = CALL + ENTRY * entries + ROW * n
        most = (FLOP * float(count) ** 3 + ENTRY * entries * (FEW + entries / n)) / product
        final = count > FACTORED
        if most < FEW and not final:
            return None
        bend, part = self._bend(point), self._of(active)
        # What leaves the piece goes to 0, and the gradient with it.
        left = point.w.copy()
        left[active] = 0.0
        leaving = np.flatnonzero(left)
        gradient, slope = point.gradient[active], point.slope
        if len(leaving):
            gone = bend * self._of(leaving).product(left[leaving])
            gradient, slope = gradient - part.scores(gone), slope - float(np.sum(gone))
        diagonal, intercept = self.metric(point)[active], self.has_intercept
        if intercept:
            diagonal = np.append(diagonal, np.sum(bend))
            gradient = np.append(gradient, slope)

        def apply(v: Vector) -> Vector:
            if not intercept:
                return part.scores(bend * part.product(v))
            image = bend * (part.product(v[:-1]) + v[-1])
            return np.append(part.scores(image), np.sum(image))

        return Products(apply, diagonal, gradient, intercept, int(most), final)

    def _of(self, active: Index) -> Matrix:
        return self._part if len(active) == self.size else self._part.part(active)

    def _image(self, w: Vector) -> Array:
        return self._part.product(w)

    def _images(self, w: Vector) -> Array:
        part, scale = self._part.unscaled
        return part.combine((w / scale).T).T

    def _scores(self, a: Array) -> Vector:
        return self._part.scores(a)

    def _scores_many(self, a: Array) -> Vector:
        return self._part.project(a.T)


def working_part(program: Program) -> WorkingPart:
    """The smooth part for columns that are read one batch after the other."""
    matrix = program.matrix
    if matrix.thin or (matrix.tall and program.loss.name != "squared"):
        return SparsePart(program)
    return smooth_part(program, matrix.home if program.loss.portable else HOST)


def smooth_part(program: Program, home: Home = HOST) -> WorkingPart:
    """The implementation for the program's loss, where the columns it is given live."""
    return (GramPart if program.loss.name == "squared" else GeneralPart)(program, home)
