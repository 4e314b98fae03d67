"""The squared loss on a tall matrix, of which a pass or two are enough: n drops out.

With the intercept minimised out, F(w) = w.Q w/2 - c.w + constant, Q and c of the centred columns.
They are summed block by block. For any vector s, with r_i = x_i - s and d = sum_i p_i r_i,

    Q = sum_i p_i r_i r_i^T - d d^T,    c = sum_i p_i (y_i - mean) r_i - d sum_i p_i (y_i - mean),

so that s need not be the means, only near them. All this is kept beside the data: programs on the
same data, or on some of their columns, have it from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.derived import derived
from sparsebounds._support.level import above
from sparsebounds.data import Data
from sparsebounds.matrices import Recoding, StandardizedMatrix, WhitenedMatrix
from sparsebounds.program import Program


@dataclass(frozen=True, eq=False)
class Moments:
    """The sums of a program's columns and of its response."""

    gram: Vector
    """Q."""

    linear: Vector
    """c."""

    means: Vector
    """The weighted means of the columns; 0 where there is no intercept."""

    mean: float
    """The same of the response less the offset."""

    constant: float
    """F(0)."""

    summed: Vector
    """sum_i p_i r_i^2, of which Q's rounding is a share; about the diagonal of Q."""

    @staticmethod
    def known(program: Program) -> bool:
        """Whether a program has such moments, in less room than its columns."""
        matrix = program.matrix
        stated = program.problem.standardize
        shifted = stated is not None and bool(stated[0].any())
        tall = matrix.tall and (program.fit_intercept or not shifted)
        return tall and program.loss.name == "squared" and program.box is None

    @classmethod
    def of(cls, program: Program) -> Moments:
        """Those of a program."""
        stored, matrix = _stored(program.data, program.level, program.fit_intercept), program.matrix
        if isinstance(matrix, WhitenedMatrix):
            return stored.scaled(program, matrix.inner).mixed(matrix.recoding)
        return stored.scaled(program, matrix) if isinstance(matrix, StandardizedMatrix) else stored

    def scaled(self, program: Program, matrix: StandardizedMatrix) -> Moments:
        """Those of the columns shifted and scaled."""
        stored, center, scale = self, matrix.center, matrix.scale
        gram = stored.gram / scale / scale[:, None]
        means = (stored.means - center) / scale if program.fit_intercept else stored.means
        return replace(
            stored,
            gram=gram,
            linear=stored.linear / scale,
            means=means,
            summed=stored.summed / np.square(scale),
        )

    def mixed(self, recoding: Recoding) -> Moments:
        """Those of the columns times T; for `summed` at least, by the triangle inequality."""
        more = 1.0 + 2.0**-40
        return replace(
            self,
            gram=recoding.times(recoding.times(self.gram).T),
            linear=recoding.times(self.linear),
            means=recoding.times(self.means),
            summed=np.square(recoding.sizes.times(np.sqrt(self.power))) * more,
        )

    @property
    def power(self) -> Vector:
        """The squared lengths of the columns before they are centred, or more."""
        return np.maximum(self.summed, np.diagonal(self.gram) + np.square(self.means))

    def part(self, index: Index) -> Moments:
        """Those of some of the columns."""
        return replace(
            self,
            gram=self.gram[np.ix_(index, index)],
            linear=self.linear[index],
            means=self.means[index],
            summed=self.summed[index],
        )


@derived
@np.errstate(over="ignore", invalid="ignore")
def _stored(data: Data, level: float, fit_intercept: bool) -> Moments:
    """The same of the columns as they are stored."""
    if data.source is not None:
        whole, index = data.source
        return _stored(whole, level, fit_intercept).part(index)
    p, target = data.shares, above(data.y, level)
    if data.offset is not None:
        target = target - data.offset
    mean, shift = 0.0, np.zeros(data.matrix.shape[1])
    if fit_intercept:
        mean, shift = float(p @ target), data.matrix.scores(p)
        target = target - mean
    gram, sums, linear = data.matrix.comoments(p, shift, target)
    summed = np.diagonal(gram).copy()
    if fit_intercept:
        gram -= np.outer(sums, sums)
        linear -= float(p @ target) * sums
        shift = shift + sums
    constant = 0.5 * float(p @ np.square(target))
    return Moments(gram, linear, shift, mean, constant, summed)
