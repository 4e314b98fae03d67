"""Fractional weights -> 0 and 1 with the same sum, two at a time: a model with at most k nonzeros.

Moving u_i up and u_j down by the same amount, until one of the two is 0 or 1, keeps sum u and, on
tied features, the ridge term and the size in the ball. Of the two directions one does not raise

    Phi(u) = a.d + L/2 sum_j p_j d_j^2 + rate sum_i u_i (1 - u_i),   d = X_T D(v_T) (u - u0),

because with the probabilities that make the move 0 in the mean, Phi does not rise in the mean. Phi
starts at the bound of `bounds.shapley_folkman`, rate sum u (1 - u), and ends at no less than what
F has grown by, so that the model obeys the bound. A single last weight is rounded by the same rule;
the budget has room for it. Losses without L are given their curvature at z, which orders the
choices and promises nothing.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Index, Vector, nonzeros
from sparsebounds.bounds import INTEGER, rounding_rate
from sparsebounds.primalization.primalize import vertex_of
from sparsebounds.primalization.ties import TiedPoint, tied_point
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation


def round_in_pairs(point: TiedPoint, u: Vector) -> tuple[Vector, float]:
    """Weights 0 and 1 on the tied features in place of u (k forms), and rate sum_S u (1 - u).

    NaN in the place of the second where the loss has no largest curvature.
    """
    program, u = point.program, u.copy()
    S = np.flatnonzero((u > 0.0) & (u < 1.0))
    if len(S) == 0:
        return u, 0.0
    columns = point.columns[:, S]
    support = nonzeros(point.w)
    z = program.matrix.columns(support) @ point.w[support] + point.b
    smooth = program.loss.smoothness
    bend = program.F.curvature(z) if math.isnan(smooth) else smooth * program.F.p
    hessian = columns.T @ (bend[:, None] * columns)
    rate = rounding_rate(hessian, u[S])
    bound = math.nan if math.isnan(smooth) else rate * float(u[S] @ (1.0 - u[S]))
    slope = columns.T @ program.F.gradient(z)  # of Phi's first two terms, at u
    ridge = point.size[S]
    room = int(program.k or 0) - np.count_nonzero(program.free & (point.u == 1.0))
    values, left = u[S].tolist(), list(range(len(S) - 1, -1, -1))

    def steep(i: int) -> float:
        """The slope of Phi, and of the ridge where the sum of u changes, in one weight."""
        return float(slope[i] + ridge[i] + rate * (1.0 - 2.0 * values[i]))

    while len(left) > 1:
        i, j = left.pop(), left.pop()
        first = steep(i) - steep(j)
        second = 0.5 * float(hessian[i, i] - 2.0 * hessian[i, j] + hessian[j, j]) - 2.0 * rate
        back, forth = -min(values[i], 1.0 - values[j]), min(1.0 - values[i], values[j])
        step = _lower(first, second, back, forth)
        values[i], values[j] = _settled(values[i] + step), _settled(values[j] - step)
        slope += step * (hessian[i] - hessian[j])
        left += [at for at in (i, j) if 0.0 < values[at] < 1.0]
    if left:
        (i,) = left
        full = np.count_nonzero(u == 1.0) + values.count(1.0)
        forth = 1.0 - values[i] if full < room else -values[i]
        second = 0.5 * float(hessian[i, i]) - rate
        values[i] = _settled(values[i] + _lower(steep(i), second, -values[i], forth))
    u[S] = values
    return u, bound


def _lower(first: float, second: float, back: float, forth: float) -> float:
    """The step of the two at which first s + second s^2 is less."""
    return min(back, forth, key=lambda step: step * first + step**2 * second)


def _settled(value: float) -> float:
    """A weight, or 0 or 1 where it is one of these up to rounding."""
    return 0.0 if value < INTEGER else 1.0 if value > 1.0 - INTEGER else value


def primalized_supports(program: Program, relaxed: Relaxation) -> list[Index]:
    """Supports that primalization suggests to a search for models: free features, at most k.

    Parameters
    ----------
    program : Program
        The sparse program.
    relaxed : Relaxation
        What `relax` returned for it.

    Returns
    -------
    list of array of int
        The vertex's own, and its full weights alone (l0 forms); in the k forms, where that has more
        than k, the one rounded in pairs.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> program = sb.Program(data.X, data.y, k=3, ridge=0.1)
    >>> supports = sb.primalization.primalized_supports(program, sb.relax(program))
    >>> [support.tolist() for support in supports]
    [[0, 9, 19]]
    """
    point = tied_point(program, relaxed.w, relaxed.b)
    u = vertex_of(point)[0]
    weights = np.where(program.free, point.u, 0.0)
    weights[point.tied] = u
    chosen, whole = nonzeros(weights), program.groups.whole
    if program.k is None:
        return [whole(chosen), whole(np.flatnonzero(weights == 1.0))]
    if len(chosen) > program.k:
        weights[point.tied] = round_in_pairs(point, u)[0]
        chosen = nonzeros(weights)
    return [whole(chosen)]
