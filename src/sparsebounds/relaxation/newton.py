"""Semismooth Newton on the working set: min f(w, b) + h(w).

At w, a proximal step in the metric of f''s diagonal tells which piece of h to expect: zero,
linear or quadratic, group by group. On that piece the problem is smooth; its Newton
point is the next iterate if it goes down, else an exact search along the segment finds the best
point on it, at a zero of some coordinate if need be. A proximal term eps diag(f'') keeps the
system regular (duplicate columns, linear pieces) and grows when steps are short. Once the piece is
right the Newton point is exact, up to the loss's own curvature: convergence is quadratic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds._support.linear import positive_solved
from sparsebounds.penalties import Pattern, Penalty, Slopes
from sparsebounds.relaxation.conjugate import EXCHANGES
from sparsebounds.relaxation.points import SmoothPoint
from sparsebounds.relaxation.smooth import Smooth

FLAT_INTERCEPT = 1e-10
"""The proximal term of the intercept, relative to its curvature."""

LEAST_PROXIMAL, FIRST_PROXIMAL, GROWN_PROXIMAL = 1e-12, 1e-9, 1e-3
BALANCED = 0.01
"""What the intercept may be off balance by, as a share of the gap, for a dual value to count."""

NOISE = 1e-14
"""Rounding error of the objective, relative to the size of its terms."""

LARGE, FEW = 100, 8
"""In systems of so many coordinates, a share of 1/FEW is dropped without another factorisation."""

STEEP, HALVINGS = 1e3, 60
"""A line search halves where f rises so many times as steeply as it falls; its steps at most."""

PATIENCE = 12
"""Steps without a narrower gap before Newton's method gives up."""


@dataclass(frozen=True)
class NewtonResult:
    """Where Newton's method stopped, and why."""

    point: SmoothPoint
    slopes: Slopes
    gap: float
    """Primal value less the dual value on the working set."""

    dual: float
    """The best dual value on the working set."""

    best: SmoothPoint
    """The point whose gradient gives it."""

    steps: int
    cut: bool = False
    """Whether a deadline ended it."""


def newton(
    smooth: Smooth,
    penalty: Penalty,
    start: SmoothPoint,
    tolerance: float,
    scale: float,
    *,
    least_steps: int = 0,
    most_steps: int = 300,
    patience: int = PATIENCE,
    worth: float = 0.0,
    deadline: Deadline = NEVER,
    enough: Callable[[float, float], bool] = lambda value, dual: False,
) -> NewtonResult:
    """Minimise f + h over the working set until the gap is within `tolerance`.

    It takes `least_steps` at least. `scale` is the size of the terms that f adds up: its rounding
    is a fraction of that. A step that closes no more than the share `worth` of the gap counts as
    one without progress.
    `enough(value, dual)` may end the work before the gap closes, and so does a step that would
    not end before the `deadline`.
    """
    noise = NOISE * scale
    point, slopes = start, penalty.slopes(start.w)
    value, best_dual, best = point.value + slopes.value, -np.inf, point
    highest = -np.inf
    proximal, steps, idle, narrowest = FIRST_PROXIMAL, 0, 0, np.inf
    cut = False
    while True:
        # -F*(a) - h*(-A^T a) is a bound on the working set where the intercept is balanced.
        # Nearly balanced, the first-order change in b is charged to the gap; further off it says
        # nothing, because the best intercept may be far away.
        dual = point.dual - penalty.conjugate(-point.gradient)
        charge = abs(point.slope) * (1.0 + abs(point.b))
        if dual - charge > highest:
            highest, best = dual - charge, point
        if charge <= max(tolerance, BALANCED * (value - dual)):
            best_dual = max(best_dual, dual - charge)
        gap = value - best_dual
        idle = 0 if gap < (1.0 - worth) * narrowest else idle + 1
        narrowest = min(gap, narrowest)
        near = gap <= tolerance and steps >= least_steps
        if near or steps >= most_steps or idle >= patience:
            break
        if enough(value, best_dual):
            break

        diagonal = smooth.metric(point)
        with np.errstate(divide="ignore"):
            # A column of zeros has no curvature and no gradient: any length will do.
            step = np.where(diagonal > 1e-290, 1.0 / (diagonal * (1.0 + proximal)), 1.0)
        step = penalty.even(step)
        pattern = penalty.pattern(point.w - step * point.gradient, step)
        size = len(pattern.active) ** 2
        if deadline.late(newton=size):
            cut = True
            break
        with deadline.timed("newton", size):
            # Where steps are short, the intercept is held back as the features are.
            held = proximal if proximal >= GROWN_PROXIMAL else FLAT_INTERCEPT
            eager = idle == 0
            asked = tolerance / gap if gap > 0.0 else 0.0
            trial = newton_point(
                smooth, point, pattern, proximal * diagonal, held, eager=eager, asked=asked
            )
        steps += 1
        if trial is None:
            proximal = max(100.0 * proximal, GROWN_PROXIMAL)
            continue
        trial_w, trial_b = trial
        trial_w = np.where(penalty.positive, np.maximum(trial_w, 0.0), trial_w)
        new, new_slopes = smooth.at(trial_w, trial_b), penalty.slopes(trial_w)
        new_value, length = new.value + new_slopes.value, 1.0
        # Near the end the value stands still in floating point while the dual value still rises.
        if new_value <= value + noise:
            proximal = max(proximal / 10.0, LEAST_PROXIMAL)
            if smooth.fades(new):
                new = _extended(smooth, penalty, point, new, new_value)
                new_slopes = penalty.slopes(new.w)
                new_value = new.value + new_slopes.value
        else:
            length = _line_search(smooth, penalty, point, new)
            if length < 0.5:
                proximal = max(100.0 * proximal, GROWN_PROXIMAL)
            if 0.0 < length < 1.0:
                trial_w = _between(point.w, new.w, length)
                new = smooth.at(trial_w, point.b + length * (new.b - point.b))
                new_slopes = penalty.slopes(trial_w)
                new_value = new.value + new_slopes.value
        if new_value <= value + noise:
            point, slopes, value = new, new_slopes, new_value
    return NewtonResult(point, slopes, gap, best_dual, best, steps, cut)


def _extended(
    smooth: Smooth, penalty: Penalty, point: SmoothPoint, new: SmoothPoint, value: float
) -> SmoothPoint:
    """The Newton point, or the last of those 2, 4, 8, ... times as far while f + h falls.

    Far down an exponential each of Newton's steps goes by 1 only.
    """
    step, rise, length = new.w - point.w, new.b - point.b, 1.0
    while True:
        length *= 2.0
        w = point.w + length * step
        if np.any(w * new.w < 0.0):
            return new
        further = smooth.at(w, point.b + length * rise)
        reached = further.value + penalty.slopes(w).value
        if not reached < value:
            return new
        new, value = further, reached


def newton_point(
    smooth: Smooth,
    point: SmoothPoint,
    pattern: Pattern,
    proximal: Vector,
    held: float = FLAT_INTERCEPT,
    *,
    eager: bool = False,
    asked: float = 0.0,
) -> tuple[Vector, float] | None:
    """The minimiser of the quadratic model on a piece of h; None where it is not definite.

    Coordinates whose solution contradicts the sign of their piece are set to zero and the rest
    is solved again: an exchange of many at once, where one at a time would need many steps. So are
    groups that turn around on their cone; those that are 0 already only where it is `eager`.
    `asked` is the share of the gap that may be left: an iterative solution goes no further.
    """
    active, count = pattern.active, len(pattern.active)
    now = np.ones(count) if eager else point.w[active]
    # Groups have blocks of curvature, which conjugate gradients do not know.
    if pattern.blocks:
        few = smooth.few_rows(point, active) if pattern.curved else None
        found = None if few is None else few.minimum(point, pattern, proximal, held, now)
    else:
        found, products = None, smooth.products(point, active)
        if products is not None:
            found = products.minimum(point, pattern, proximal, held, asked)
    if found is not None:
        return found
    matrix, right = smooth.system(point, active)
    matrix = matrix.T  # symmetric, and now in the order of LAPACK
    diagonal = np.einsum("ii->i", matrix)
    diagonal[:count] += pattern.ridge + proximal[active]
    right[:count] += proximal[active] * point.w[active] - pattern.linear
    if smooth.has_intercept:
        # A loss may have no curvature here at all (Huber, hinge): keep b near where it is.
        small = held * max(float(diagonal[-1]), 1e-300) + 1e-12
        diagonal[-1] += small
        right[-1] += small * point.b
    if pattern.direction is not None:
        direction = np.zeros(len(right))
        direction[:count] = pattern.direction
        matrix = blas.dsyr(1.0 / pattern.share, direction, lower=1, a=matrix, overwrite_a=1)
    for places, block in pattern.blocks:
        matrix[places[:, :, None], places[:, None, :]] += block
    diagonal = np.einsum("ii->i", matrix)
    # Unit diagonal: columns of any scale are alike to the factorisation.
    scale = 1.0 / np.sqrt(np.maximum(np.abs(diagonal), 1e-300))
    matrix *= scale
    matrix *= scale[:, None]
    right *= scale
    solution = _with_signs(matrix, right, pattern, scale, now) if len(right) else np.zeros(0)
    if solution is None:
        return None
    solution *= scale
    w = np.zeros(len(point.w))
    w[active] = solution[:count]
    return w, float(solution[-1]) if smooth.has_intercept else point.b


def _with_signs(
    matrix: Vector, right: Vector, pattern: Pattern, scale: Vector, now: Vector
) -> Vector | None:
    """The solution without what contradicts its sign, or the direction of its cone, in a few
    exchanges."""
    solution, asked = np.zeros(len(right)), np.zeros(len(right))
    asked[: len(pattern.sign)] = pattern.sign
    kept, out = np.arange(len(right)), np.zeros(len(right), dtype=np.bool_)
    factor, whole, failed = positive_solved(matrix, right)
    inner = whole
    for _ in range(EXCHANGES):
        wrong = inner * asked[kept] < 0.0
        if pattern.blocks:
            every = np.zeros(len(right))
            every[kept] = inner * scale[kept]
            wrong |= pattern.turned(every, now)[kept]
        if failed or not wrong.any():
            break
        out |= wrong
        if len(kept) >= LARGE and FEW * np.count_nonzero(out) <= len(kept):
            inner = _without(factor, whole, out)
            continue
        kept = kept[~out]
        if len(kept) == 0:
            return solution
        factor, whole, failed = positive_solved(matrix[np.ix_(kept, kept)], right[kept])
        inner, out = whole, np.zeros(len(kept), dtype=np.bool_)
    if failed or not np.all(np.isfinite(inner)):
        return None
    solution[kept] = inner
    return solution


def _without(factor: Vector, solution: Vector, out: Mask) -> Vector:
    """The solution with some coordinates held at 0, from that of the whole system; NaN: none.

    With Z the columns of the inverse at these coordinates: solution - Z (Z_out)^-1 solution_out.
    """
    places = np.flatnonzero(out)
    units = np.zeros((len(solution), len(places)), order="F")
    units[places, np.arange(len(places))] = 1.0
    Z, _ = lapack.dpotrs(factor, units, lower=1, overwrite_b=1)
    _, share, failed = lapack.dposv(Z[places], solution[places], lower=1)
    if failed:
        return np.full(len(solution), np.nan)
    moved: Vector = solution - Z @ share
    moved[places] = 0.0
    return moved


def _line_search(smooth: Smooth, penalty: Penalty, point: SmoothPoint, end: SmoothPoint) -> float:
    """The length in [0, 1] that minimises f + h on the segment, kinks of h at zeros included."""
    step, along = end.w - point.w, smooth.along(point, end)
    size = penalty.lengths(step)
    # Zeros of the moving coordinates, where h has a kink; others are smooth to first order.
    moving = (point.w != 0.0) & (np.sign(end.w) == -np.sign(point.w))
    kinks = np.sort(point.w[moving] / -step[moving])

    def derivative(t: float, w: Vector, side: float) -> float:
        """One-sided derivative (side -1 or +1) of f + h at the point w of parameter t."""
        at = penalty.slopes(w)
        leaving = (at.kink > 0.0) & (size > 0.0)
        kink = float(at.kink[leaving] @ size[leaving]) * side
        return along(t) + float(at.gradient @ step) + kink

    if derivative(0.0, point.w, 1.0) >= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    # Bisection over the kinks: low is always downhill to its right.
    first, last = 0, len(kinks)
    while first < last:
        middle = (first + last) // 2
        t = float(kinks[middle])
        w = _between(point.w, end.w, t)
        if derivative(t, w, 1.0) < 0.0:
            low, first = t, middle + 1
        elif derivative(t, w, -1.0) <= 0.0:
            return t
        else:
            high, last = t, middle
    slope_low = derivative(low, _between(point.w, end.w, low), 1.0)
    for _ in range(HALVINGS):
        slope_high = derivative(high, _between(point.w, end.w, high), -1.0)
        if slope_high <= 0.0:
            break
        if slope_high <= STEEP * abs(slope_low):
            t = low - slope_low * (high - low) / (slope_high - slope_low)
        else:
            # Far up an exponential, or beyond its overflow, a secant says nothing.
            t = 0.5 * (low + high)
        slope = derivative(t, _between(point.w, end.w, t), 1.0)
        if abs(slope) <= 0.1 * min(abs(slope_low), slope_high) or slope <= 0.0:
            return t
        high = t
    return high


def _between(start: Vector, end: Vector, t: float) -> Vector:
    """start + t (end - start), exactly 0 where the two ends differ in sign and t is the zero."""
    w: Vector = start + t * (end - start)
    crossing = np.abs(w) <= 1e-13 * np.maximum(np.abs(start), np.abs(end))
    w[crossing] = 0.0
    return w
