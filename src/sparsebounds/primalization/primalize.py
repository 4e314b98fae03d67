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

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds._support.threads import one_thread
from sparsebounds.arguments import spoken
from sparsebounds.fitting import Model, best, evaluated, local_refit, refit, without_budget
from sparsebounds.primalization.pair import check_pair
from sparsebounds.primalization.paper import paper_points
from sparsebounds.primalization.result import Argument, Primalization
from sparsebounds.primalization.ties import TiedPoint, relaxed_cost, tied_point
from sparsebounds.primalization.vertex import basis, snapped, vertex
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation


@one_thread()
@np.errstate(over="ignore", invalid="ignore")
@spoken
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
        The sparse program.
    relaxed : Relaxation
        What `relax` returned for it; it need not be solved to high accuracy.
    draws : int, default 20
        Random objectives of the paper's linear program, for `values`; 0 to leave it out. It is not
        solved where the answer is known to be unique.
    random_state : int, Generator or None, default 0
        Seeds the objectives.

    Returns
    -------
    Primalization
        The point, its objective, and by which argument it is a vertex.

    See Also
    --------
    gap_bounds : What is promised, before and after the fact.

    Notes
    -----
    For a relaxed point of value t and tied columns of rank r, the k forms give an objective of at
    most t with k + r - 1 nonzeros (k where nothing is tied), the l0 forms one of at most t + l0 r.

    Examples
    --------
    >>> data = sb.datasets.make_low_rank(60, 20, rank=3)
    >>> program = sb.Program(data.X, data.y, k=4, ball=20.0)
    >>> relaxed = sb.relax(program)
    >>> primal = sb.primalize(program, relaxed)
    >>> primal.value <= relaxed.value * (1 + 1e-9), primal.n_nonzero
    (True, 5)
    """
    convex = check_pair(program, relaxed)
    draws = check.whole_number("draws", draws)
    check.check_random_state(random_state)
    primal = primalized(tied_point(convex, relaxed.w, relaxed.b), draws, random_state)
    return primal if convex is program else with_lack(program, primal)


def primalized(
    point: TiedPoint, draws: int = 0, random_state: int | np.random.Generator | None = 0
) -> Primalization:
    """`primalize` from a relaxed point with its cheapest weights."""
    program = point.program
    u, rank, argument = vertex_of(point)
    own = evaluated(program, *point.moved(u))
    w, b, support = own.w, own.b, own.support
    values = np.full(draws, own.value)
    if argument == "vertex":
        rng = np.random.default_rng(random_state)
        for i, model in enumerate(paper_models(point, draws, rng)):
            values[i] = np.nan if model is None else model.value
    coef, intercept = program.to_user(w, b)
    weights = point.weighted(u)[1]
    z = program.matrix.columns(support) @ w[support] + b
    return Primalization(
        coef=coef,
        intercept=intercept,
        w=w,
        b=b,
        u=weights,
        value=own.value,
        relaxed_value=program.F.value(z) + relaxed_cost(program, w, weights),
        excess=point.excess(u),
        # Newton's method may stop a few digits short of the point it could have started from.
        model=best((refit(without_budget(program, w), support), own)),
        n_nonzero=len(program.counted(support)),
        n_fractional=int(np.count_nonzero((u > 0.0) & (u < 1.0))),
        rank_tied=rank,
        tied=point.tied,
        argument=argument,
        values=values,
    )


def with_lack(program: Program, primal: Primalization) -> Primalization:
    """The point with its true objective beside OPT, and refitted, for a non-convex loss."""
    own, support = evaluated(program, primal.w, primal.b), np.flatnonzero(primal.w)
    columns = program.matrix.columns(support)
    start = columns @ primal.w[support] + primal.b
    refitted = local_refit(without_budget(program, primal.w), support, columns, [start])
    return replace(primal, model=best((refitted, own)), lack=max(own.value - primal.value, 0.0))


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


def paper_models(point: TiedPoint, draws: int, rng: np.random.Generator) -> Iterator[Model | None]:
    """What the paper's linear program leads to, one per random objective; None without a vertex."""
    for found in paper_points(point, draws, rng):
        yield None if found is None else evaluated(point.program, *found)
