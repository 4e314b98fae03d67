"""The quadratic of a loss around predictions, on a pool of features, and where it is least.

With B = F''(z), a = F'(z) and centred columns A, one per row, the intercept eliminated:

    H = A B A^T - c c^T / mass     l = A r - c level     c = A B 1    mass = sum B
    r = B z - a                    level = sum r / mass

For the squared loss it is the objective less a constant, wherever it is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.fitting import Bends, bends
from sparsebounds.models.exchange import Quadratic
from sparsebounds.models.hessian import Hessian
from sparsebounds.models.pool import Columns
from sparsebounds.program import Program


@dataclass(frozen=True)
class Expansion:
    """A quadratic in units in which every feature has curvature 1, and the way back."""

    quadratic: Quadratic
    unit: Vector
    mean: Vector
    """Weighted means of the columns; the intercept is `level` less what they contribute."""

    mass: float
    """The sum of B."""

    level: float
    constant: float
    """The objective without features; NaN where the quadratic is not the objective."""

    @classmethod
    def at(cls, program: Program, pool: Index, columns: Columns, z: Vector, eta: float) -> Self:
        """Around predictions z."""
        bend = bends(program.F, z)
        right = bend * z - program.F.gradient(z)
        hessian, linear, mean = columns.moments(bend, right)
        mass = float(bend.sum())
        level = float(right.sum()) / mass if program.fit_intercept else 0.0
        ridge = program.ridges[pool] if program.ball is None else np.full(len(pool), eta)
        return cls._of(program, pool, hessian, linear, ridge, mean, mass, level, np.nan)

    @classmethod
    def squared(cls, program: Program, pool: Index, columns: Columns) -> Self:
        """The squared loss itself."""
        p = program.F.p
        target = program.F.target
        level = float(p @ target) if program.fit_intercept else 0.0
        target = target - level
        constant, ridge = 0.5 * float(p @ target**2), program.ridges[pool]
        hessian, linear, mean = columns.moments(p, p * target)
        return cls._of(program, pool, hessian, linear, ridge, mean, 1.0, level, constant)

    @classmethod
    def _of(
        cls,
        program: Program,
        pool: Index,
        hessian: Vector | Hessian,
        linear: Vector,
        ridge: Vector,
        mean: Vector,
        mass: float,
        level: float,
        constant: float,
    ) -> Self:
        prices, positive = program.prices[pool], program.positive[pool]
        groups = program.groups.part(pool)
        quadratic, unit = Quadratic(hessian, linear, ridge, prices, positive, groups).in_units()
        return cls(quadratic, unit, mean, mass, level, constant)

    @property
    def bends(self) -> Bends:
        """Its second derivatives."""
        whole: Vector = self.quadratic.hessian[np.arange(len(self.unit))]
        hessian = whole / self.unit / self.unit[:, None]
        return Bends(hessian, self.mean, self.mass)

    @np.errstate(all="ignore")
    def least(self, supports: Sequence[Index]) -> tuple[Vector, Vector, Vector]:
        """(w, b, q): where the quadratic is least on supports, and its value there, less prices.

        One row per support, zeros after its last feature; b goes with columns less their means.
        """
        places, real, x, least = self.quadratic.lowest(supports)
        w = x * self.unit[places]
        b = self.level - np.einsum("ij,ij->i", np.where(real, self.mean[places], 0.0), w)
        return w, b, least
