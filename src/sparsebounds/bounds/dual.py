"""A dual vector, repaired into dom F*, with what every bound needs of it.

Weak duality holds at ANY a in dom F*, converged or not:

    objective(w, b) >= -F*(a) + sum_j w_j x_j.a + b sum(a) + penalty(w).

A dual vector is kept per sample, as t_i = a_i / p_i: then membership of dom F* is a
comparison of floats, and the exact a_i = s_i t_i / sum(s) needs no rounding of the shares
p_i. With an intercept the exact sum(a) is as good as 0 only up to rounding; the bound pays
|sum(a)| times a certified bound of |b| (`bounds.intercept`).

Claims. A score found here is within its radius of the exact one, and so is the score that another
order of summation finds: a bound evaluated elsewhere uses a reach of at most |x_j.a| plus twice the
radius. What a certificate claims is therefore evaluated with WIDER times the room for rounding
(`widened`): every order of summation, on every storage, then proves at least the claim.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds._support.derived import derived
from sparsebounds._support.rounding import (
    TINY,
    U,
    down,
    in_parts,
    largest_of,
    length_up,
    norm_up,
    up,
)
from sparsebounds.bounds.intercept import intercept_bound
from sparsebounds.bounds.repair import balance, off_balance, repair
from sparsebounds.bounds.upper import WIDER as WIDER
from sparsebounds.bounds.upper import null_up, row_parts, weighted_mean_up
from sparsebounds.losses import ULPS, Envelope
from sparsebounds.program import Program

GRAIN = 2.0**-46
"""What a claim leaves in addition, relative to its terms: last digits of everything else."""


@dataclass(frozen=True)
class DualPoint:
    """A point of dom F* and its scores.

    Attributes
    ----------
    t : array
        The repaired dual vector per sample, t_i = a_i / p_i.
    conjugate : float
        A float at least F*(a), plus what rounding of the intercept's equation costs.
    scores : array
        X^T a, computed.
    radius : array
        A bound of the rounding error of `scores`.
    reach : array
        A float at least ``|x_j.a|``; at least max(0, -x_j.a) where w_j >= 0 is asked.
    ceiling : float
        No bound may exceed this: models above it were left out of account (intercept, box).

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> a = program.F.gradient(np.zeros(3))
    >>> point = sb.bounds.dual_point(program, a)
    >>> point.t.round(3).tolist(), point.scores.round(3).tolist()
    ([-3.0, -2.0, -1.0], [-1.0, -0.667, -0.333])
    """

    t: Vector
    conjugate: float
    scores: Vector
    radius: Vector
    reach: Vector
    ceiling: float


def dual_point(program: Program, a: Vector) -> DualPoint:
    """The dual point at a vector: clipped, balanced, then scored.

    Parameters
    ----------
    program : Program
        The sparse program.
    a : array
        F'(z) at a prediction z, or any other vector of one number per row.

    Returns
    -------
    DualPoint
        What bounds, screening and certificates take.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> a = program.F.gradient(np.zeros(3))
    >>> print(f"{sb.bounds.dual_point(program, a).conjugate:.3f} {program.F.conjugate(a):.3f}")
    -2.333 -2.333
    """
    vector = check.real_vector("a", a, program.n, "row")
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        t = vector / program.F.p
    # A share below the smallest float makes 0/0 of a_i = 0.
    return dual_point_at(program, repair(program, np.where(np.isnan(t), 0.0, t)))


def scored(program: Program, t: Vector) -> Vector:
    """X^T a for a dual vector: one pass.

    Parameters
    ----------
    program : Program
        The sparse program.
    t : array
        The vector per sample, t_i = a_i / p_i.

    Returns
    -------
    array
        One score per feature.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> sb.bounds.scored(program, np.array([3.0, 0.0, -6.0])).tolist()
    [1.0, 0.0, -2.0]
    """
    scores = program.matrix.scores(program.weights * t)
    scores /= program.mass
    return scores


def scored_together(program: Program, t: Vector) -> tuple[Vector, Vector]:
    """`scored` for every row of t, in one pass where X is read by blocks; bounds of the errors.

    These bound the error of the inner products, before the division by the mass.
    """
    weighted = program.weights * t
    with np.errstate(over="ignore", invalid="ignore"):
        scores = program.matrix.scores_many(weighted) / program.mass
        return scores, program.matrix.score_radius_many(weighted)


def dual_point_at(
    program: Program, t: Vector, scores: Vector | None = None, inner: Vector | None = None
) -> DualPoint:
    """The dual point at t, which must lie in the domain already (as `repair` leaves it).

    Parameters
    ----------
    program : Program
        The sparse program.
    t : array
        The vector per sample, t_i = a_i / p_i.
    scores : array, optional
        Those that `scored` returned for this t, where they are at hand.
    inner : array, optional
        Bounds of their errors, where they were scored together with others.

    Returns
    -------
    DualPoint
        What bounds, screening and certificates take.

    Raises
    ------
    ValueError
        Where t is outside the domain.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> sb.bounds.dual_point_at(program, -program.y).reach.round(3).tolist()
    [1.0, 0.667, 0.333]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if scores is None:
            scores = scored(program, t)
        if inner is None:
            inner = program.matrix.score_radius(program.weights * t)
        return _enclosed(program, t, scores, inner)


def dual_points_at(program: Program, t: Vector) -> Iterator[DualPoint]:
    """`dual_point_at` for every row of t, scored together; last digits may differ.

    Parameters
    ----------
    program : Program
        The sparse program.
    t : array
        Vectors per sample, as rows.

    Yields
    ------
    DualPoint
        One per row.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> points = sb.bounds.dual_points_at(program, np.stack([-program.y, -0.5 * program.y]))
    >>> [round(sb.bounds.bound_at(program, point), 3) for point in points]
    [1.833, 1.625]
    """
    for row, scores, inner in zip(t, *scored_together(program, t), strict=True):
        yield _enclosed(program, row, scores, inner)


def _enclosed(program: Program, t: Vector, scores: Vector, inner: Vector) -> DualPoint:
    """The dual point at t; `inner` bounds the error of the inner products X^T (s t)."""
    conjugate, ceiling = charged_conjugate(program, t)
    radius = _radius(program, program.weights * t, scores, inner)
    return DualPoint(t, conjugate, scores, radius, _reach(program, scores, radius), ceiling)


def _radius(program: Program, weighted: Vector, scores: Vector, inner: Vector) -> Vector:
    """A bound of the rounding error of scores; `inner` is that of the inner products alone."""
    with np.errstate(over="ignore", invalid="ignore"):
        # s_i t_i is rounded once, the quotient once and the mass once. All terms are >= 0: eight
        # roundings of their sum are a factor of at most 1 + 2^-49, and TINY each underflow.
        least, underflow = down(program.mass), program.n * TINY  # of the products s_i t_i
        length = up(up(2.0 * U * length_up(weighted)) + underflow)

        def bounded(scores: Vector, inner: Vector, norms: Vector) -> Vector:
            radius = norms * length
            radius += inner
            radius /= least
            radius += 4.0 * U * np.abs(scores)
            radius *= 1.0 + 2.0**-49
            radius += 8.0 * TINY
            # An overflow on the way leaves even the sign unknown.
            radius[~np.isfinite(scores)] = np.inf
            return radius

        return in_parts(bounded, scores, inner, program.matrix.norms)


def _reach(program: Program, scores: Vector, radius: Vector) -> Vector:
    def reached(scores: Vector, radius: Vector) -> Vector:
        size = scores if program.signed else np.abs(scores)
        reach = np.maximum(up(size + radius), 0.0)
        reach[np.isnan(reach)] = np.inf
        return reach

    if program.signed:
        scores = np.where(program.positive, -scores, np.abs(scores))
    with np.errstate(over="ignore", invalid="ignore"):
        return in_parts(reached, scores, radius)


def widened(program: Program, point: DualPoint, slip: Vector | None = None) -> DualPoint:
    """The dual point with the room for rounding that claims leave.

    Parameters
    ----------
    program : Program
        The sparse program.
    point : DualPoint
        What `dual_point` made of a dual vector.
    slip : array, optional
        A bound of ``|t'_i - t_i|``, where the dual vector itself may be another elsewhere.

    Returns
    -------
    DualPoint
        The same vector with a larger radius, reach and conjugate.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> point = sb.bounds.dual_point(program, program.F.gradient(np.zeros(3)))
    >>> wide = sb.bounds.widened(program, point)
    >>> bool(np.all(wide.reach >= point.reach))
    True
    """
    conjugate, ceiling = charged_conjugate(program, point.t, WIDER, slip)
    with np.errstate(over="ignore", invalid="ignore"):
        if program.matrix.sparse:
            # The claim holds for the same numbers in a dense matrix, too.
            weighted = program.weights * point.t
            elsewhere = program.matrix.radius_elsewhere(weighted)
            radius = WIDER * _radius(program, weighted, point.scores, elsewhere)
        else:
            radius = WIDER * point.radius
        if slip is not None:
            moved = up(norm_up(program.weights * slip) / down(program.mass))
            radius = radius + program.matrix.norms * moved
    reach = _reach(program, point.scores, radius)
    return replace(point, conjugate=conjugate, radius=radius, reach=reach, ceiling=ceiling)


def lowered(bound: Any) -> Any:
    """A bound, or an array of them, less GRAIN of itself; infinite ones stay."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(bound), bound, bound - GRAIN * np.abs(bound))[()]


def charged_conjugate(
    program: Program, t: Vector, wider: float = 1.0, slip: Vector | None = None
) -> tuple[float, float]:
    """`conjugate` and `ceiling` of the dual point at t, which must lie in the domain.

    `wider` multiplies the room for rounding; `slip` bounds what t may be off by.
    """
    inside = np.array_equal(program.loss.clip(program.y, t), t)
    if not inside or not largest_of(t) <= check.LARGEST:
        raise ValueError("The dual vector is outside the domain of the conjugate; repair it first.")
    conjugate, ceiling = conjugate_up(program, t, wider, slip), math.inf
    if program.box is not None:
        ceiling = program.box.ceiling
    elif program.fit_intercept:
        ceiling = max(null_up(program), program.ceiling)
    if program.fit_intercept:
        # The sum of exact products; each may lose a little to underflow.
        total, rounding = balance(program, t)
        imbalance = up(up(abs(total) + rounding) + 8.0 * program.n * TINY)
        if slip is not None:
            imbalance = up(WIDER * (imbalance + off_balance(program, t)))
        # The bound of |b| depends on column norms, and these on the order of sums.
        reach_b = _intercept_reach(program, ceiling) * (1.0 + (wider - 1.0) * 2.0**-30)
        conjugate = up(conjugate + up(up(imbalance / down(program.mass)) * reach_b))
    return math.inf if math.isnan(conjugate) else float(conjugate), ceiling


@derived
def _intercept_reach(program: Program, level: float) -> float:
    """A bound of |b| over the models of objective at most `level`."""
    if program.box is not None:
        return program.box.reach
    return intercept_bound(program, level, conjugate_up(program, np.zeros(program.n)))


def conjugate_up(
    program: Program, t: Vector, wider: float = 1.0, slip: Vector | None = None
) -> float:
    """A float at least F*(a) = sum_i p_i (loss*(y_i, t_i) - t_i o_i).

    With `slip`, at least that of every vector of the domain within slip_i of t_i: a convex function
    is largest at an end.
    """
    worst = np.empty(program.n)
    for rows in row_parts(program):
        loss, y, own = program.loss, program.y[rows], t[rows]
        ends = [own]
        if slip is not None:
            ends = [loss.clip(y, own - slip[rows]), loss.clip(y, own + slip[rows])]
        values = []
        for end in ends:
            with np.errstate(over="ignore", invalid="ignore"):
                # 2^-50 covers the roundings of the slack itself.
                slack = loss.conjugate_terms(y, end) * (wider * ULPS * U * (1.0 + 2.0**-50))
                slack += (wider * ULPS + 4.0) * TINY
                value = up(loss.conjugate(y, end) + slack)
                if program.offset is not None:
                    value = up(value + up(-end * program.offset[rows]))
            values.append(np.where(np.isnan(value), np.inf, value))
        np.maximum.reduce(values, out=worst[rows])
    return weighted_mean_up(program, worst)


@derived
def floor(program: Program, wider: float = 1.0) -> float:
    """inf F rounded down, which no model is below: what the dual vector 0 proves of any supports.

    Parameters
    ----------
    program : Program
        The sparse program.
    wider : float, default 1
        Multiplies the room for rounding.

    Returns
    -------
    float
        -inf where the loss has no least value.

    Examples
    --------
    >>> program = sb.Program(np.eye(2), [0.0, 3.0], k=1, ridge=1.0, loss="poisson")
    >>> print(f"{sb.bounds.floor(program):.4f}")
    -0.1479
    """
    loss, y = program.loss, program.y
    if isinstance(loss, Envelope):
        loss = loss.loss  # whose infimum does not depend on the box
    value = -loss.infimum(y)
    with np.errstate(over="ignore", invalid="ignore"):
        slack = up(up(wider * ULPS * U * loss.conjugate_terms(y, 0.0 * y)) + ULPS * TINY)
        mean = weighted_mean_up(program, up(value + slack)) if np.any(value) else 0.0
    return -math.inf if math.isnan(mean) else 0.0 - mean
