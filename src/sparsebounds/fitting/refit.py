"""The best model on a support: min F + ridge, or over the ball, with w zero elsewhere.

The relaxation's own Newton method with every feature inside the support (u = 1): smooth but for
the signs, to machine precision. The value returned is the objective rounded up, which the model
attains; the ball is obeyed exactly. For a non-convex loss it is the best of several local optima
(`fitting.local`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparsebounds._support.array import Index, Vector, nonzeros
from sparsebounds._support.rounding import in_ball
from sparsebounds.bounds import objective_up
from sparsebounds.fitting.local import default_starts, descent
from sparsebounds.penalties import KRidge
from sparsebounds.program import Program
from sparsebounds.relaxation import (
    compressed,
    intercept_at,
    newton,
    smooth_part,
    solve_ball,
    working_part,
)

ACCURACY = 1e-14
"""Gap of a refit, relative to the size of the objective's terms."""


ROUGH, SLOW = 1e-7, 0.02
"""The same for an envelope, and the least share of the gap that a step must close there. Newton's
last steps gain little where the envelope is linear."""


@dataclass(frozen=True)
class Model:
    """A sparse model on the program's own columns that obeys its constraints."""

    value: float
    """Its objective, rounded up."""

    w: Vector
    b: float
    eta: float
    """The multiplier of the ball at this model; NaN in the ridge forms."""

    @cached_property
    def support(self) -> Index:
        """Where w is not zero."""
        return nonzeros(self.w)


# Overflow far from the solution is an infinite value, not news for the user.
@np.errstate(all="ignore")
def refit(
    program: Program,
    support: Index,
    columns: Vector | None = None,
    near: Model | None = None,
) -> Model:
    """The best model on a support (always-in features, and the rest of its groups, are added).

    `columns` are program.matrix.columns(support) where they are at hand; `near` is a model to
    start from (ridge forms).
    """
    small = None if columns is not None else compressed(program)
    if small is not None:
        return on_all_rows(program, refit(small, support, near=near))
    every = np.concatenate((support, program.problem.always)).astype(np.int64)
    whole = program.groups.whole(np.unique(every))
    tall = columns is None and program.matrix.tall and program.loss.convex
    if not tall and (columns is None or len(whole) > len(support)):
        columns = program.matrix.columns(whole)
    support = whole
    if columns is None:
        # They are not copied.
        smooth = working_part(program)
        smooth.read(program.matrix, support)
    elif program.loss.convex:
        smooth = smooth_part(program)
        smooth.add(columns)
    else:
        return local_refit(program, support, columns)
    size = len(support)

    own = 1.0 if program.ball is not None else program.ridges[support]
    penalty = KRidge(0, own, inside=np.True_, positive=program.positive[support])
    eta = float("nan")
    null = smooth.at(np.zeros(size), program.null_intercept)
    scale = max(smooth.magnitude(null), 1e-300)
    accuracy, inner, worth = ACCURACY * scale, 0.0, 0.0
    if program.box is not None:
        accuracy, inner, worth = ROUGH * scale, ROUGH, SLOW
    if program.ball is None or size == 0:
        start = null if near is None else smooth.at(near.w[support], near.b)
        # One step at least: a coefficient is 0 where its column is of no use, not where it is of
        # little use for the objective.
        point = newton(smooth, penalty, start, accuracy, scale, least_steps=1, worth=worth).point
    else:
        eta = penalty.multiplier(-null.gradient, program.ball)
        found = solve_ball(
            smooth,
            penalty,
            null,
            eta,
            program.ball,
            accuracy,
            scale,
            inner=inner,
            patience=2,
            worth=worth,
        )
        point, eta = found.primal.point, found.eta
    return _model(program, support, columns, point.w, point.b, eta)


def on_all_rows(program: Program, model: Model) -> Model:
    """A model of the small program in the place of a tall one, as a model of that."""
    w, b = model.w, intercept_at(program, model.w)
    if program.ball is None:
        w, b = _in_units(program, w, b)
    return replace(model, w=w, b=b, value=objective_up(program, w, b))


def _in_units(program: Program, w: Vector, b: float) -> tuple[Vector, float]:
    """To the user's units and back: then `as_returned` has nothing to change."""
    return program.to_program(*program.to_user(w, b))


def local_refit(
    program: Program, support: Index, columns: Vector, starts: Sequence[Vector] = ()
) -> Model:
    """A local optimum on a support, the best from these predictions; for non-convex losses."""
    return best(
        _model(program, support, columns, *descent(program, support, columns, z))
        for z in starts or default_starts(program, columns)
    )


def _model(
    program: Program,
    support: Index,
    columns: Vector | None,
    nonzeros: Vector,
    b: float,
    eta: float,
) -> Model:
    w = np.zeros(program.m)
    w[support] = nonzeros
    w = inside_ball(program, w)
    if columns is not None:
        columns = columns[:, w[support] != 0.0]
    elif program.ball is None:
        w, b = _in_units(program, w, b)
    value = objective_up(program, w, b, columns)
    return Model(value, w, b, eta)


def evaluated(program: Program, w: Vector, b: float) -> Model:
    """The point (w, b), put inside the ball, as a model: whatever the number of its nonzeros."""
    w = inside_ball(program, w)
    return Model(objective_up(without_budget(program, w), w, b), w, b, math.nan)


def without_budget(program: Program, w: Vector) -> Program:
    """The program that allows a model of this many nonzeros: k raised to their number."""
    if program.k is None:
        return program
    return program.with_budget(max(program.k, len(program.counted(nonzeros(w)))))


def best(models: Iterable[Model]) -> Model:
    """The model of the least objective; of several, the first."""
    return min(models, key=lambda model: model.value)


def as_returned(program: Program, model: Model) -> tuple[Model, Vector, float]:
    """(model, coef, intercept): the coefficients in the user's units, and the model they are.

    Changing units rounds; the value, and the ball, are those of what the user gets.
    """
    coef, intercept = program.to_user(model.w, model.b)
    w, b = program.to_program(coef, intercept)
    if np.array_equal(w, model.w) and b == model.b:
        return model, coef, intercept
    margin = 2.0**-52
    while program.ball is not None and not in_ball(w, program.ball):
        coef, margin = coef * (1.0 - margin), 2.0 * margin
        w, b = program.to_program(coef, intercept)
    return Model(objective_up(program, w, b), w, b, model.eta), coef, intercept


def inside_ball(program: Program, w: Vector) -> Vector:
    """w, less the few units in the last place by which rounding has put it outside the ball.

    More where the ball is so small that squares underflow.
    """
    margin = 2.0**-52
    while program.ball is not None and not in_ball(w, program.ball):
        w, margin = w * (1.0 - margin), 2.0 * margin
    return w
