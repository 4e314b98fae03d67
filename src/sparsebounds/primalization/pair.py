"""check_pair: that a relaxation is one of this program.

What is proved from a relaxed point (w, u, b) is proved of the program it obeys. So the point must
obey the constraints, and its stored value be this program's relaxed objective there, up to the
rounding of the predictions, which is large where columns have large means.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds.penalties import perspective
from sparsebounds.primalization.ties import relaxed_cost
from sparsebounds.program import Program, check_program
from sparsebounds.relaxation import Relaxation

SAME = 1e-6
"""Relative to max(|value|, |null|): two values this near are the same."""

SLACK = 1.0 + 1e-9
"""Relative room in the budget and the ball."""

REMEDY = "pass what relax returned for this program."


def check_pair(program: Program, relaxed: Relaxation) -> Program:
    """The convex program that was relaxed: this one, or its envelope on the relaxation's box.

    Raises, in a sentence, where these two are not a program and a relaxation of it.
    """
    check_program(program)
    if not isinstance(relaxed, Relaxation):
        raise InputTypeError(f"relaxed is a {type(relaxed).__name__}; pass what relax returned.")
    for held, wanted, what in (
        (len(relaxed.w), program.m, "coefficients"),
        (len(relaxed.dual), program.n, "rows"),
    ):
        if held != wanted:
            raise InputError(f"relaxed has {held} {what}, but the program {wanted}; {REMEDY}")
    if not program.loss.convex:
        if relaxed.box is None:
            raise InputError(
                f"relaxed has no box for the {program.loss.name} loss of the program; {REMEDY}"
            )
        program = program.with_box(relaxed.box)
    broken = _broken(program, relaxed.w, relaxed.u, relaxed.b)
    if broken:
        raise InputError(f"relaxed breaks a constraint of the program: {broken}; {REMEDY}")
    support = np.flatnonzero(relaxed.w)
    columns = program.matrix.columns(support)
    w = relaxed.w[support]
    z = columns @ w + relaxed.b
    value = program.F.value(z) + relaxed_cost(program, relaxed.w, relaxed.u)
    blur = program.n * np.finfo(np.float64).eps * (np.abs(columns) @ np.abs(w) + abs(relaxed.b))
    rounding = sum(
        float(np.abs(program.F.gradient(z + side * blur)) @ blur) for side in (-1.0, 1.0)
    )
    allowed = SAME * max(abs(value), abs(program.null)) + program.rounding + rounding
    if abs(relaxed.value - value) > allowed:
        raise InputError(
            f"relaxed has the value {relaxed.value:.6g}, but its point has {value:.6g} in the "
            f"program; {REMEDY}"
        )
    return program


def _broken(program: Program, w: Vector, u: Vector, b: float) -> str:
    """The constraint that a relaxed point breaks, in words; empty where it obeys them all."""
    if b != 0.0 and not program.fit_intercept:
        return "it has an intercept"
    for mask, what in (
        (program.never & (w != 0.0), "is never in"),
        (program.positive & (w < 0.0), "has to be positive"),
    ):
        if np.any(mask):
            return f"{program.label(int(np.argmax(mask)))} {what}"
    with np.errstate(over="ignore"):
        size = float(np.sum(perspective(w, u)))
    if not np.isfinite(size) or np.any((u < 0.0) | (u > SLACK)) or np.any(u[program.always] != 1.0):
        return "its weights u are not those of w"
    total = float(np.sum(u[program.free]))
    if program.k is not None and total > SLACK * program.k:
        return f"its weights sum to {total:.6g}, above k={program.k}"
    if program.ball is not None and size > SLACK * program.ball:
        return f"its size is {size:.6g}, above ball={program.ball:g}"
    return ""
