"""A tall squared loss as a small one: one row more than there are features.

With Q = V diag(l) V^T and c as in `bounds.moments`, the rows R = diag(l)^(1/2) V^T and the response
s = diag(l)^(-1/2) V^T c give |R w - s|^2/2 = w.Q w/2 - c.w + |s|^2/2. One more row of zeros, with
what is left of F(0) as its response, makes the value that of F, up to rounding. Whatever is sought
and not proved is sought there. Proofs go back to the data: a dual vector is that of all rows, at
the coefficients found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsebounds._support.array import HOST, Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds._support.derived import derived
from sparsebounds.bounds import Moments, bound_at, dual_point_at, posed_on, repair, scored
from sparsebounds.program import Program
from sparsebounds.relaxation.gram_part import GramPart
from sparsebounds.relaxation.progress import Callback, Progress
from sparsebounds.relaxation.result import Relaxation
from sparsebounds.relaxation.smooth import WorkingPart
from sparsebounds.relaxation.sparse_part import working_part
from sparsebounds.relaxation.working_set import WorkingSet

MOST = 500
"""Features at most: the work takes the cube of their number."""

SINGULAR = 1e-15
"""Eigenvalues below this share of the largest are rounding."""


def compressible(program: Program, deadline: Deadline = NEVER) -> bool:
    """Whether a program has a small one in its place, and there is time for it."""
    if program.m > min(MOST, program.n - 2) or not Moments.known(program):
        return False
    return not deadline.late(scan=3, product=0.5 * float(program.n) * program.m**2)


@derived
@np.errstate(all="ignore")
def compressed(program: Program) -> Program | None:
    """The small program; None where there is none, or it is not finite."""
    if not compressible(program):
        return None
    moments, rows = Moments.of(program), program.m + 1
    if not (np.all(np.isfinite(moments.gram)) and np.all(np.isfinite(moments.linear))):
        return None
    # In units in which every column has length 1.
    unit = np.sqrt(np.diagonal(moments.gram))
    unit = np.where(unit > 0.0, unit, 1.0)
    values, vectors = np.linalg.eigh(moments.gram / unit / unit[:, None])
    values = np.where(values > SINGULAR * rows * values[-1], values, 0.0)
    root, pull = np.sqrt(values), vectors.T @ (moments.linear / unit)
    factor, target = np.zeros((rows, program.m)), np.zeros(rows)
    factor[:-1] = root[:, None] * vectors.T * unit
    target[:-1] = np.where(root > 0.0, pull / np.where(root > 0.0, root, 1.0), 0.0)
    target[-1] = np.sqrt(max(2.0 * moments.constant - float(target @ target), 0.0))
    # A mean over the rows, as every loss is.
    more = np.sqrt(float(rows))
    size = {"ridge": program.ridge} if program.ball is None else {"ball": program.ball}
    return posed_on(program, factor * more, target * more, **size)


def tall_part(program: Program) -> WorkingPart:
    """The smooth part of a program with a tall matrix, on all features; none are copied."""
    every, small = np.arange(program.m), compressed(program)
    if small is None:
        part = working_part(program)
        part.read(program.matrix, every)
        return part
    gram = GramPart(small, HOST)
    gram.read(small.matrix, every)
    moments = Moments.of(program)
    return gram.moved(moments.mean, moments.means)


def intercept_at(program: Program, w: Vector) -> float:
    """The best intercept for coefficients of a program that has moments."""
    moments = Moments.of(program)
    return moments.mean - float(moments.means @ w) if program.fit_intercept else 0.0


def carried(
    program: Program,
    small: Program,
    tol: float,
    start: Relaxation | None,
    deadline: Deadline,
    callback: Callback | None,
) -> Relaxation:
    """The relaxation of a program by way of its small one."""
    first, earlier = program.matrix.passes, deadline.seconds
    inner = None if start is None else replace(start, b=0.0)
    run = WorkingSet(small, 0.5 * tol, inner, deadline, None)
    interrupted = False
    try:
        run.loop()
    except KeyboardInterrupt:
        interrupted = True
    found = run.result("", interrupted)
    b = intercept_at(program, found.w)
    z = program.matrix.product(found.w)
    z += b
    if program.offset is not None:
        z += program.offset
    t = repair(program, program.loss.gradient(program.y, z))
    del z
    point = dual_point_at(program, t, scored(program, t))
    dual = bound_at(program, point, lagrangian=True)
    scale = max(abs(found.value), abs(program.null), program.rounding / tol)
    gap = (found.value - dual) / scale
    coef, intercept = program.to_user(found.w, b)
    message = f"The relative gap is {gap:.1e}" + (f", above tol={tol:g}" if gap > tol else "")
    seconds, passes = deadline.seconds - earlier, program.matrix.passes - first
    stats = replace(found.stats, full_passes=passes, seconds=seconds)
    if callback is not None:
        callback(Progress(stats.rounds, found.value, dual, stats.working_set, stats.seconds))
    return replace(
        found,
        dual_value=dual,
        lower=bound_at(program, point),
        status="optimal" if gap <= tol else "bounded",
        message="Interrupted: " * interrupted + message,
        coef=coef,
        intercept=intercept,
        b=b,
        dual=program.F.p * point.t,
        point=point,
        stats=stats,
    )
