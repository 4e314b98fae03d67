"""Purify against the leading directions only: fewer fractional weights for a small change of z.

At the optimum (w, u) of the relaxation on the full X a tied feature has a.(x_i v_i) = -kappa c_i,
c_i its cost: a change of weights that keeps c.u leaves the relaxed objective alone to first order.
Let A = (x_i v_i) over the ties, rows scaled by sqrt(p_i), and keep its j leading directions only. A
vertex u' of the weights with the same image there, and the same c.u (but in the form l0 +
ridge, where that is not needed), has few fractional entries S, and A u' - A u has only the other
directions, which are short where the singular values beyond j are small:

    value <= p** + excess + L/2 |A (u' - u)|^2,     loss'' <= L,

    l0 + ridge   excess = sum_S l0 (1 - u')^2,   |S| <= j
    l0 + ball    excess = sum_S l0 (1 - u'),     |S| <= j + 1
    k forms      excess <= 0, and at most k + j nonzeros

There is no term of first order in dX.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.primalization import basis, tied_point, vertex
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation


class Directions:
    """The tied columns of a relaxed point, in the order of their singular directions."""

    def __init__(self, program: Program, relaxed: Relaxation) -> None:
        self.program = program
        self.point = tied_point(program, relaxed.w, relaxed.b)
        A = np.sqrt(program.F.p)[:, None] * self.point.columns
        _, values, right = np.linalg.svd(A, full_matrices=False)
        self._rows = values[:, None] * right

    def purify(self, j: int) -> tuple[Vector, float, float]:
        """(w, b) with binary weights, purified against the first j directions, and a bound.

        That is what its objective is promised not to exceed; NaN where the loss has no L.
        """
        program, point = self.program, self.point
        u0 = point.u[point.tied]
        rows = self._rows[:j]
        if program.form != "l0+ridge":
            scale = float(np.max(np.abs(rows), initial=0.0)) or 1.0
            rows = np.vstack((rows, point.cost * (scale / np.max(point.cost, initial=1e-300))))
        lengths = np.linalg.norm(rows, axis=0)
        u = vertex(basis(rows, lengths), lengths, u0, point.cost) if len(u0) else u0
        w, b = point.moved(u)
        moved = float(np.sum((self._rows @ (u - u0)) ** 2))
        bound = point.value + point.excess(u) + 0.5 * program.loss.smoothness * moved
        return w, b, bound
