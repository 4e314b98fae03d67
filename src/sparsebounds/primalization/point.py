"""primalize: from a relaxed point to one with binary weights and the same predictions.

Give w its cheapest weights (`ties`), move them to a vertex (`vertex`), round the fractional ones up
with v_i to u_i v_i, so that w and z stay. For any relaxed point of value t, optimal or not, with
r_T the rank of its tied columns:

    k forms     at most k nonzeros if none is fractional, else at most k + r_T - 1, and OPT <= t
    l0 forms    OPT <= t + the sum of r_T of the prices l0_i

In the k forms the vertex has c.u = sum u <= k, so that a fractional entry leaves room for at most
k - 1 ones beside the at most r_T fractional ones.
"""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np

from sparsebounds._array import Vector
from sparsebounds._errors import InputError, InputTypeError
from sparsebounds.bounds import objective_up
from sparsebounds.primalization.paper import paper_points
from sparsebounds.primalization.result import Argument, Primalization
from sparsebounds.primalization.ties import TiedPoint, relaxed_cost, tied_point
from sparsebounds.primalization.vertex import basis, snapped, vertex
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation
from sparsebounds.relaxation.refit import Model, inside_ball, refit


@np.errstate(over="ignore", invalid="ignore")
def primalize(
    program: Program,
    relaxed: Relaxation,
    draws: int = 20,
    random_state: int | np.random.Generator | None = 0,
) -> Primalization:
    """A point with binary weights from a relaxed one, no worse than Shapley and Folkman promise.

    Parameters
    ----------
    program : Program
    relaxed : Relaxation
        What `relax` returned for it; it need not be solved to high accuracy.
    draws : int
        Random objectives of the paper's linear program, for `values`; 0 to leave it out. It is not
        solved where the answer is known to be unique.
    random_state : int, Generator or None
        Seeds the objectives.
    """
    check_pair(program, relaxed)
    if not isinstance(draws, Integral) or draws < 0:
        raise InputError(f"draws={draws!r} must be a whole number, 0 or more.")
    point = tied_point(program, relaxed.w, relaxed.b)
    u, rank, argument = vertex_of(point)
    w, b = point.moved(u)
    w = inside_ball(program, w)
    roomy = without_budget(program, w)
    value = objective_up(roomy, w, b)
    values = np.full(int(draws), value)
    if argument == "vertex":
        rng = np.random.default_rng(random_state)
        for i, found in enumerate(paper_points(point, int(draws), rng)):
            values[i] = np.nan if found is None else _value(program, *found)
    coef, intercept = program.to_user(w, b)
    weights = point.u.copy()
    weights[point.tied] = u
    support = np.flatnonzero(w)
    z = program.matrix.columns(support) @ w[support] + b
    return Primalization(
        coef=coef,
        intercept=intercept,
        w=w,
        b=b,
        u=weights,
        value=value,
        relaxed_value=program.F.value(z) + relaxed_cost(program, w, weights),
        excess=point.excess(u),
        # Newton's method may stop a few digits short of the point it could have started from.
        model=min(
            refit(roomy, support), Model(value, w, b, math.nan), key=lambda model: model.value
        ),
        n_nonzero=int(np.count_nonzero(program.free[support])),
        n_fractional=int(np.count_nonzero((u > 0.0) & (u < 1.0))),
        rank_tied=rank,
        tied=point.tied,
        argument=argument,
        values=values,
    )


def vertex_of(point: TiedPoint) -> tuple[Vector, int, Argument]:
    """Weights of the tied features at a vertex, the rank of their columns, and the argument."""
    start = point.u[point.tied]
    if len(start) == 0:
        return start, 0, "sparse"
    found = basis(point.columns, point.lengths)
    argument: Argument = "unique" if found.rank == len(start) else "vertex"
    if argument == "vertex":
        start = vertex(found, point.lengths, start, point.cost)
    return snapped(start, point.lengths, point.largest), found.rank, argument


def without_budget(program: Program, w: Vector) -> Program:
    """The program that allows a model of this many nonzeros: k raised to their number."""
    if program.k is None:
        return program
    return program.with_budget(max(program.k, int(np.count_nonzero(w[program.free]))))


def check_pair(program: Program, relaxed: Relaxation) -> None:
    """Raise, in a sentence, where these two are not a program and a relaxation of its size."""
    if not isinstance(program, Program):
        raise InputTypeError(f"program is a {type(program).__name__}; pass a sparsebounds.Program.")
    if not isinstance(relaxed, Relaxation):
        raise InputTypeError(f"relaxed is a {type(relaxed).__name__}; pass what relax returned.")
    if len(relaxed.w) != program.m:
        raise InputError(
            f"relaxed has {len(relaxed.w)} coefficients, but the program {program.m}; "
            "pass what relax returned for this program."
        )


def _value(program: Program, w: Vector, b: float) -> float:
    w = inside_ball(program, w)
    return objective_up(without_budget(program, w), w, b)
