"""The best multiple of a dual vector: c a with 0 <= c <= 1.

A vector found on X_r may be far too long for X: where dX^T a is large the bound at a is poor, even
below inf F, which a = 0 proves. The domain of F* is convex and holds 0, scores scale with a, and
the bound is concave in c, so the best c is found from the scores at hand; one more pass then scores
c a itself.
"""

from __future__ import annotations

from dataclasses import replace

from sparsebounds.bounds import DualPoint, bound_at, conjugate_up, dual_point_at, floor, repair
from sparsebounds.program import Program

ACCURACY = 1e-4
"""Of c: the bound is flat at its best, so half the digits are enough."""


def best_multiple(program: Program, point: DualPoint) -> DualPoint:
    """The dual point at the best multiple; `point` itself where none is better."""
    from scipy.optimize import minimize_scalar

    def loss(c: float) -> float:
        t = c * point.t
        shorter = replace(point, conjugate=conjugate_up(program, t), reach=c * point.reach)
        bound = bound_at(program, shorter)
        # Below the least loss the bound is flat: there the dual function says where it rises.
        return -(bound if bound > floor(program) else bound_at(program, shorter, lagrangian=True))

    found = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": ACCURACY})
    # The search stays inside the interval.
    best = min((0.0, float(found.x), 1.0), key=loss)
    return point if best == 1.0 else dual_point_at(program, repair(program, best * point.t))
