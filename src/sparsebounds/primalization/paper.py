"""The paper's linear program: a vertex of the weights that keep z and the value, one per random c.

    minimize c.u over u in [0, 1]^m,   c ~ N(0, I),   with   sum_i u_i l_i v_i = z   and

    k + ridge     sum_i u_i ridge_i/2 v_i^2 = t - F(z),   sum u <= k
    l0 + ridge    sum_i u_i (ridge_i/2 v_i^2 + l0_i) = t - F(z)
    k + ball      sum u <= k,                             sum_i u_i v_i^2 <= ball
    l0 + ball     sum_i l0_i u_i = t - F(z),              sum_i u_i v_i^2 <= ball

(Theorem 2.1 and Corollaries 3.1, 4.1 and 4.2; the value of the last is printed without its sum.)
l_i is x_i in the coordinates of X's range, centred where there is an intercept. Features with u_i =
0 have v_i = 0 and are left out; those always in stay. The dual simplex method returns a vertex.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.primalization.centred import centred
from sparsebounds.primalization.ties import TiedPoint, images_of
from sparsebounds.primalization.vertex import basis

FEASIBLE = 1e-9
"""The solver's tolerance, on rows scaled to length 1."""

NEAR = 1e-7
"""What it returns this near to a bound is there."""


def paper_points(
    point: TiedPoint, draws: int, rng: np.random.Generator
) -> Iterator[tuple[Vector, float] | None]:
    """For each random objective the primalized (w, b); None where the solver found no vertex."""
    from scipy.optimize import linprog

    program = point.program
    chosen = np.flatnonzero((point.w != 0.0) & program.groups.held(program.free))
    v = point.w[chosen] / point.u[chosen]
    support, images = images_of(program, chosen, program.matrix.columns(chosen), v)
    squares = np.zeros(program.m)
    squares[chosen] = np.square(v) * (1.0 if program.ball is not None else program.ridges[chosen])
    u, size = point.u[support], program.groups.gather(squares)[support]
    largest = float(np.max(u))
    part = centred(program, images)
    found = basis(part.columns, part.lengths)
    same = np.empty((found.rank, len(support)))
    same[:, found.order] = found.rows * part.lengths[found.order]
    limits, most = np.zeros((0, len(support))), np.zeros(0)
    if program.k is not None:
        limits, most = np.ones((1, len(support))), np.array([float(program.k)])
    if program.ball is None or program.l0 is not None:
        ridge = 0.0 if program.ball is not None else 0.5 * size
        same = np.vstack((same, program.prices[support] + ridge))
    if program.ball is not None:
        room = program.ball - float(np.sum(point.w[program.always] ** 2))
        limits, most = np.vstack((limits, size)), np.append(most, room)
    same, right = _unit(same, same @ u)
    # The point itself is feasible, up to its rounding.
    limits, most = _unit(limits, np.maximum(most, limits @ u))
    # In units of the largest weight: an idle ball leaves all of them tiny.
    for _ in range(draws):
        solved = linprog(
            rng.normal(size=len(support)),
            A_ub=limits,
            b_ub=most / largest,
            A_eq=same,
            b_eq=right / largest,
            bounds=(0.0, 1.0 / largest),
            method="highs-ds",
            options={"primal_feasibility_tolerance": FEASIBLE},
        )
        if solved.status != 0 or solved.x is None:
            yield None
            continue
        found_u = _cleaned(solved.x, same, right / largest, 1.0 / largest) * largest
        ratio = np.ones(program.m)
        ratio[support] = found_u / u
        w = point.w * program.groups.spread(ratio)
        yield w, point.b - float(part.means @ (found_u - u))


def _unit(rows: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Rows of length 1, with their right sides."""
    norms = np.linalg.norm(rows, axis=1)
    scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
    return rows * scale[:, None], right * scale


def _cleaned(u: Vector, same: Vector, right: Vector, top: float) -> Vector:
    """u with what is near 0 or `top` put there, and the rest corrected to obey its equations."""
    u = np.where(u < NEAR, 0.0, np.where(u > (1.0 - NEAR) * top, top, u))
    between = (u > 0.0) & (u < top)
    change = np.linalg.lstsq(same[:, between], right - same @ u, rcond=None)[0]
    u[between] = np.clip(u[between] + change, 0.0, top)
    return u
