"""Boxes: where the predictions of every model worth considering lie, proved from the data.

A model is worth considering if its objective is at most `level`, which some model attains. At any
dual vector a of the convex program on the present box, with zeta = X^T a, r the ridge (or, for the
ball, a multiplier eta), c = -zeta/r and q = zeta^2/(2 r),

    level >= objective(w, b) >= D + sum_j r_j/2 (w_j - c_j)^2 over the support of w,

D the dual bound at a. So a support S of such a model, of at most `most` counted features, has

    |x_i.w - sum_S x_ij c_j| <= sqrt(2 (level - D)) (sum_S x_ij^2/r_j)^(1/2),

and each row's range follows from the largest `most` terms of both sums. At a = 0 this is the
textbook box: c = 0, D = inf F, |w|^2 <= 2 (level - inf F)/ridge, or the ball itself. A box from a
better a is smaller, its envelope is higher, and so is the next dual bound: rounds of tightening.

An intercept is bounded by counting: the excess e_i = loss_i - inf loss_i has mean at most
E = level - inf F, so the rows with e_i <= v have at least the share 1 - E/v of the weight, and b
lies in the intervals of that many rows. Losses that are constant far out need b no further than
where all rows are. Where nothing bounds b, larger ones are left out, at the price of a `ceiling`.

A box that leaves more room for rounding (`wider`) holds the box that any order of summation finds:
its level is the same, each step of it grows with the last box and with the reach of the scores. On
such a box a certificate's claim is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.derived import derived
from sparsebounds._support.rounding import U, down, sum_up, up
from sparsebounds._support.validate import LARGEST
from sparsebounds.bounds.dual import (
    WIDER,
    DualPoint,
    conjugate_up,
    dual_point_at,
    scored_together,
    widened,
)
from sparsebounds.bounds.forcing import forced_bounds
from sparsebounds.bounds.lower import (
    ball_eta,
    best_sum_up,
    eta_slip,
    ridge_gains,
    squares_up,
)
from sparsebounds.bounds.upper import null_up, weighted_mean_up
from sparsebounds.losses import Box, NonConvexLoss
from sparsebounds.matrices import RowTerms, WhitenedMatrix
from sparsebounds.program import Program

SHARES = (1.02, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""Thresholds v as multiples of E."""

FAR = 40.0
"""How far beyond every row an intercept may go that nothing bounds."""


def enclosed(
    program: Program,
    level: float | None = None,
    duals: Sequence[Vector] = (),
    wider: float = 1.0,
) -> Program:
    """The convex program of a non-convex one on its certified box; a convex one as it is.

    It takes a pass over X for each box, and one for the scores of all `duals`.

    Parameters
    ----------
    program : Program
        The sparse program.
    level : float, optional
        The objective of a model, rounded up (default: that of the model without features).
    duals : list of arrays, optional
        Dual vectors per sample that tighten the box, one after the other.
    wider : float, default 1
        Multiplies the room for rounding.

    Returns
    -------
    Program
        Its objective is nowhere above the program's own, at any model of objective `level` or less.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> program = sb.Program(X, [1.0, 0.0, 1.0, 9.0], k=1, ridge=0.5, loss="truncated")
    >>> convex = sb.bounds.enclosed(program)
    >>> convex.loss.convex, convex.objective([0.5, 0.0]) <= program.objective([0.5, 0.0])
    (True, True)
    """
    if program.loss.convex:
        return program
    level = null_up(program) if level is None else level
    convex = program.with_box(first_box(program, level, wider))
    if len(duals):
        # Scores depend on the dual vector alone, and not on the box.
        for t, *scores in zip(duals, *scored_together(program, np.stack(duals)), strict=True):
            point = dual_point_at(convex, t, *scores)
            convex = program.with_box(tighter_box(program, convex, point, level, wider))
    return convex


def first_box(program: Program, level: float, wider: float = 1.0) -> Box:
    """The box at a = 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        conjugate = conjugate_up(program, np.zeros(program.n), wider)
        most = _most(program, level, -conjugate, -program.prices[program.free])
        budget = up(2.0 * max(up(level + conjugate), 0.0))
        if program.ball is not None:
            budget = program.ball
        # Columns that are mixed err by more than roundings of their entries, also here.
        mixed = isinstance(program.matrix, WhitenedMatrix)
        found = _terms_at_zero(program, most, wider if mixed else 1.0)
        rows = _rows(program, *found, budget, wider)
    return _finished(program, *rows, level, wider)


@derived
def _terms_at_zero(program: Program, most: int, wider: float) -> tuple[Vector, Vector]:
    """`_terms` at w = 0. Another level changes the budget, and with a price `most`; not these."""
    curvature = np.ones(program.m) if program.ball is not None else program.ridges
    none = np.zeros(program.m)
    return _terms(program, program.free, none, none, curvature, most, wider)


def tighter_box(
    program: Program, convex: Program, point: DualPoint, level: float, wider: float = 1.0
) -> Box:
    """The present box, cut by what a dual point of its convex program proves.

    Parameters
    ----------
    program : Program
        A program with a non-convex loss.
    convex : Program
        What `enclosed` made of it.
    point : DualPoint
        One of `convex`.
    level : float
        The objective of a model, rounded up.
    wider : float, default 1
        Multiplies the room for rounding.

    Returns
    -------
    Box
        For `Program.with_box`.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> program = sb.Program(X, [1.0, 0.0, 1.0, 9.0], k=1, ridge=0.5, loss="truncated")
    >>> convex, level = sb.bounds.enclosed(program), sb.bounds.null_up(program)
    >>> box = sb.bounds.tighter_box(program, convex, sb.relax(convex).point, level)
    >>> bool(np.all(box.high - box.low <= convex.box.high - convex.box.low))
    True
    """
    assert convex.box is not None
    with np.errstate(over="ignore", invalid="ignore"):
        curvature, fixed = _curvature(program, point)
        slip, most_value = 0.0, level
        if wider > 1.0:
            point = widened(convex, point)
            if program.ball is not None:
                # Every eta is valid; another one, from other last digits, is provided for.
                eta = float(curvature[0])
                slip = min(eta_slip(program, point, eta), 0.5)
                most_value = up(level + 4.0 * slip * eta * program.ball)
                curvature, fixed = curvature * (1.0 - slip), fixed * (1.0 + 2.0 * slip)
        gains = ridge_gains(program, point, curvature)
        always = sum_up(gains[program.always])
        base = down(down(-point.conjugate - always) - fixed)
        if not math.isfinite(base):
            return convex.box
        most = _most(program, level, base, gains[program.free])
        gone = np.zeros(program.m, dtype=np.bool_)
        if convex.box.ceiling >= level:
            # No model worth considering was left out: as in `screening`, at a higher value.
            forced = forced_bounds(convex, point)
            gone[forced.features[forced.inside > most_value]] = True
        open_ = program.free & ~gone
        bound = down(base - best_sum_up(gains[open_], 0, most))
        budget = up(2.0 * max(up(level - bound), 0.0))
        center = -point.scores / curvature
        center = np.where(program.positive, np.maximum(center, 0.0), center)
        error = up(point.radius / curvature) + (4.0 * U * wider + 4.0 * slip) * np.abs(center)
        found = _terms(program, open_, center, error, curvature, most, wider)
        low, high = _rows(program, *found, budget, wider)
        low, high = np.maximum(low, convex.box.low), np.minimum(high, convex.box.high)
        # Rounding may cross the ends of an interval that is a point.
        low, high = np.minimum(low, high), np.maximum(low, high)
    return _finished(program, low, high, level, wider, convex.box)


def _curvature(program: Program, point: DualPoint) -> tuple[Vector, float]:
    """r above, and what the ball adds: eta ball/2."""
    if program.ball is None:
        return program.ridges, 0.0
    squares = squares_up(point.reach, program.groups)
    eta = ball_eta(program, squares, program.always, program.free, program.k)
    return np.full(program.m, eta), up(0.5 * up(eta * program.ball))


def _most(program: Program, level: float, base: float, gains: Vector) -> int:
    """The most counted features of a model worth considering: base - (best j gains) <= level."""
    if program.k is not None:
        return min(program.k, len(gains))
    ordered = np.sort(gains)[::-1]
    slack = 4.0 * (len(gains) + 2.0) * U * float(np.sum(np.abs(gains)))
    possible = base - np.cumsum(ordered) - slack <= up(level)
    return int(np.max(np.flatnonzero(possible), initial=-1)) + 1


def _terms(
    program: Program,
    open_: Mask,
    center: Vector,
    error: Vector,
    curvature: Vector,
    most: int,
    wider: float,
) -> tuple[Vector, Vector]:
    """The sums of the largest terms in each row, and of the magnitudes always in: one pass.

    `open_` are groups, by their first columns, and `most` is how many of them there may be.
    """
    error = error + _grain(program, wider) * np.abs(center)
    few = most if most < np.count_nonzero(open_) else None
    if not program.groups.single and few is not None:
        # As many features as so many groups can have.
        few *= program.groups.largest
    open_ = program.groups.held(open_)
    terms = RowTerms(center, error, curvature, program.always, open_, few, wider)
    found = program.matrix.largest(terms)
    return found.sums, found.fixed[3]


def _grain(program: Program, wider: float) -> float:
    """Entries are rounded themselves, and every term a few times."""
    return wider * 2.0 * U * (program.matrix.entry_roundings + 8)


def _rows(
    program: Program, sums: Vector, always: Vector, budget: float, wider: float
) -> tuple[Vector, Vector]:
    """low_i <= x_i.w <= high_i over all supports, from the largest terms."""
    grain = _grain(program, wider)
    above, below, size = sums
    # A sum of at most m terms, in any order, errs by m roundings relative to their magnitudes.
    wide = 1.0 + wider * 4.0 * U * (program.m + 16.0) + 4.0 * grain
    swing = np.sqrt(size * wide) * (math.sqrt(budget) * wide) * wide
    # Of the signed sums over features always in, relative to their magnitudes.
    loose = (wide - 1.0) * (np.abs(above) + np.abs(below) + always) + 1e-290
    low, high = -(below + loose + swing), above + loose + swing
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _finished(
    program: Program,
    low: Vector,
    high: Vector,
    level: float,
    wider: float,
    before: Box | None = None,
) -> Box:
    """The box with its intercepts; where nothing finite is proved, a box that proves nothing."""
    loss = program.loss
    assert isinstance(loss, NonConvexLoss)
    least = down(-conjugate_up(program, np.zeros(program.n), wider))
    ceiling, range_b = level, (0.0, 0.0)
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        low, high = np.clip(low, -LARGEST, LARGEST), np.clip(high, -LARGEST, LARGEST)
        ceiling = least
    if before is not None:
        ceiling = min(ceiling, before.ceiling)
    if program.fit_intercept:
        range_b, tail = _intercepts(program, loss, low, high, level, least, wider)
        ceiling = min(ceiling, tail)
        if before is not None:
            start = max(range_b[0], before.intercept[0])
            range_b = (start, max(min(range_b[1], before.intercept[1]), start))
    return Box(low, high, range_b, float(ceiling))


def _intercepts(
    program: Program,
    loss: NonConvexLoss,
    low: Vector,
    high: Vector,
    level: float,
    least: float,
    wider: float,
) -> tuple[tuple[float, float], float]:
    """A range of b, and a lower bound of the objective of the models that it leaves out."""
    y, p = program.y, program.F.p
    offset = np.zeros(program.n) if program.offset is None else program.offset
    excess = max(up(level - least), 0.0)
    ends = [math.inf, math.inf]  # of -b and of b
    steps = [excess * share for share in SHARES]
    if math.isfinite(loss.height):
        steps += [loss.height - (loss.height - excess) * 0.5**j for j in range(1, 20)]
    for v in steps:
        need = (1.0 - excess / v) * (1.0 - 1e-9) - 1e-12 if v > 0.0 else 0.0
        if need <= 0.0:
            continue
        below, above = loss.sublevel(y, np.full(program.n, v))
        for i, reach in enumerate((high + offset - below, above - offset - low)):
            order = np.argsort(-reach, kind="stable")
            place = int(np.searchsorted(np.cumsum(p[order]), need))
            ends[i] = min(ends[i], float(reach[order[min(place, program.n - 1)]]))
    still_below, still_above = loss.saturation(y)
    ends[0] = min(ends[0], float(np.max(high + offset - still_below)))
    ends[1] = min(ends[1], float(np.max(still_above - offset - low)))
    tail = math.inf
    # 1e-12 is far more than rounding: a little more of it is enough for claims.
    loose = 1e-12 * (1.0 + (wider - 1.0) / 64.0)
    rounding = loose * float(np.max(np.abs(y) + np.abs(offset) + np.abs(low) + np.abs(high)))
    for i, side in ((0, -1), (1, 1)):
        if math.isfinite(ends[i]):
            ends[i] += rounding + loose * abs(ends[i])
            continue
        near = low if side > 0 else high
        ends[i] = FAR + float(np.max(-side * (offset + near))) + rounding
        far = loss.beyond(y, side * ends[i] + offset + near, side)
        tail = min(tail, -weighted_mean_up(program, -(np.asarray(far) * (1.0 - loose))))
    return (min(-ends[0], ends[1]), max(-ends[0], ends[1])), tail


Outer: TypeAlias = tuple[tuple[float, float], float]
"""A range of the intercept, and a lower bound on the models that it leaves out."""


def outer_range(
    program: Program, level: float, boxes: Sequence[Vector] = (), *, claim: bool = False
) -> Outer:
    """The intercepts of models whose objective is at most `level`, as dual vectors cut them."""
    if not program.fit_intercept:
        return (0.0, 0.0), math.inf
    box = enclosed(program, level, boxes, WIDER if claim else 1.0).box
    assert box is not None
    return box.intercept, box.ceiling
