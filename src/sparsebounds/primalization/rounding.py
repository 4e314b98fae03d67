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

from sparsebounds._support.array import Index, Vector
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
    support = np.flatnonzero(point.w)
    z = program.matrix.columns(support) @ point.w[support] + point.b
    smooth = program.loss.smoothness
    bend = program.F.curvature(z) if math.isnan(smooth) else smooth * program.F.p
    hessian = columns.T @ (bend[:, None] * columns)
    rate = rounding_rate(hessian, u[S])
    bound = math.nan if math.isnan(smooth) else rate * float(u[S] @ (1.0 - u[S]))
    slope = columns.T @ program.F.gradient(z)  # of Phi's first two terms, at u
    ridge = point.size[S]
    room = int(program.k or 0) - np.count_nonzero(program.free & (point.u == 1.0))

    def rise(length: float) -> float:
        """What Phi, and the ridge where the sum of u changes, gains on a step at the pair."""
        steep, bent = (
            slope[pair] + ridge[pair] + rate * (1.0 - 2.0 * value),
            hessian[pair[:, None], pair],
        )
        first, second = steep @ sign, 0.5 * (sign @ bent @ sign) - rate * len(pair)
        return length * float(first) + length**2 * float(second)

    while True:
        pair = np.flatnonzero((u[S] > 0.0) & (u[S] < 1.0))[:2]
        if len(pair) == 0:
            return u, bound
        sign, value = np.array([1.0, -1.0])[: len(pair)], u[S[pair]]
        lengths = [-float(np.min(np.where(sign > 0.0, value, 1.0 - value)))]
        if len(pair) > 1 or np.count_nonzero(u == 1.0) < room:
            lengths.append(float(np.min(np.where(sign > 0.0, 1.0 - value, value))))
        step = min(lengths, key=rise)
        end = value + step * sign
        u[S[pair]] = np.where(end < INTEGER, 0.0, np.where(end > 1.0 - INTEGER, 1.0, end))
        slope += step * (sign @ hessian[pair])


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
    chosen, whole = np.flatnonzero(weights), program.groups.whole
    if program.k is None:
        return [whole(chosen), whole(np.flatnonzero(weights == 1.0))]
    if len(chosen) > program.k:
        weights[point.tied] = round_in_pairs(point, u)[0]
        chosen = np.flatnonzero(weights)
    return [whole(chosen)]
