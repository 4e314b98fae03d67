"""Bounds: pure functions of a program and dual vectors, valid in floating point."""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.threads import one_thread
from sparsebounds.bounds.bidual import bidual_value, dual_value
from sparsebounds.bounds.cardinality import (
    Cover,
    best_cover,
    budget_curve,
    cardinality_curve,
    fewest_ranges,
)
from sparsebounds.bounds.choices import TooMany as TooMany
from sparsebounds.bounds.curvature import Curvature as Curvature
from sparsebounds.bounds.dual import (
    WIDER,
    DualPoint,
    dual_point,
    dual_point_at,
    dual_points_at,
    floor,
    scored,
    widened,
)
from sparsebounds.bounds.dual import conjugate_up as conjugate_up
from sparsebounds.bounds.enclosure import Outer as Outer
from sparsebounds.bounds.enclosure import enclosed, tighter_box
from sparsebounds.bounds.enclosure import outer_range as outer_range
from sparsebounds.bounds.exhaustive import Exhaustion as Exhaustion
from sparsebounds.bounds.exhaustive import Tried as Tried
from sparsebounds.bounds.exhaustive import can_be_tried as can_be_tried
from sparsebounds.bounds.exhaustive import effort as effort
from sparsebounds.bounds.forcing import forced_bounds as forced_bounds
from sparsebounds.bounds.forcing import forced_claims as forced_claims
from sparsebounds.bounds.gram import KEPT as KEPT
from sparsebounds.bounds.gram import GramBounds as GramBounds
from sparsebounds.bounds.gram import full_shift as full_shift
from sparsebounds.bounds.lower import bound_at, claim_at
from sparsebounds.bounds.lower import one_price as one_price
from sparsebounds.bounds.lower import prefix_gains_up as prefix_gains_up
from sparsebounds.bounds.lower import squares_up as squares_up
from sparsebounds.bounds.many import NodeBounds as NodeBounds
from sparsebounds.bounds.many import States as States
from sparsebounds.bounds.many import node_bounds as node_bounds
from sparsebounds.bounds.many import together as together
from sparsebounds.bounds.minorant import Minorant as Minorant
from sparsebounds.bounds.minorant import own_ridges as own_ridges
from sparsebounds.bounds.minorant import posed_on as posed_on
from sparsebounds.bounds.moments import Moments as Moments
from sparsebounds.bounds.node import ROOT, Node
from sparsebounds.bounds.region import Region as Region
from sparsebounds.bounds.region import leverages as leverages
from sparsebounds.bounds.region import secants as secants
from sparsebounds.bounds.repair import repair
from sparsebounds.bounds.row_kinds import scale_of as scale_of
from sparsebounds.bounds.row_lending import Lending as Lending
from sparsebounds.bounds.row_loss import Lent as Lent
from sparsebounds.bounds.row_loss import RowLoss as RowLoss
from sparsebounds.bounds.row_loss import Spans as Spans
from sparsebounds.bounds.row_loss import Switches as Switches
from sparsebounds.bounds.row_ramp import RampRowLoss as RampRowLoss
from sparsebounds.bounds.row_smooth import SmoothRowLoss as SmoothRowLoss
from sparsebounds.bounds.row_spans import Round as Round
from sparsebounds.bounds.row_spans import narrowed as narrowed
from sparsebounds.bounds.row_spans import proved_ends as proved_ends
from sparsebounds.bounds.row_spans import with_rounds as with_rounds
from sparsebounds.bounds.rows import INSIDE as INSIDE
from sparsebounds.bounds.rows import RowBounds as RowBounds
from sparsebounds.bounds.screening import Screening, screen, screen_at
from sparsebounds.bounds.shapley_folkman import INTEGER as INTEGER
from sparsebounds.bounds.shapley_folkman import largest_sum as largest_sum
from sparsebounds.bounds.shapley_folkman import refined_excess as refined_excess
from sparsebounds.bounds.shapley_folkman import refined_nonzeros as refined_nonzeros
from sparsebounds.bounds.shapley_folkman import rounding_rate as rounding_rate
from sparsebounds.bounds.shapley_folkman import stated_excess as stated_excess
from sparsebounds.bounds.shapley_folkman import stated_nonzeros as stated_nonzeros
from sparsebounds.bounds.upper import claimed_objective as claimed_objective
from sparsebounds.bounds.upper import null_up, objective_up
from sparsebounds.bounds.upper import predicted as predicted
from sparsebounds.program import Program


@one_thread()
def lower_bound(program: Program, a: Vector) -> float:
    """The proved lower bound on the optimum at any dual vector a, in floating point.

    Parameters
    ----------
    program : Program
        The sparse program. A non-convex loss is replaced by its envelope on a certified box.
    a : array
        One number per row. It is repaired into the domain of F* here, so it need not be feasible,
        let alone optimal: F'(z) at any prediction z is a good choice. Several vectors (one per row
        of a matrix) prove the better bound that cardinality is an integer.

    Returns
    -------
    float
        No model that obeys the constraints has a smaller objective.

    See Also
    --------
    relax : Finds the best a.
    screen : What else a proves.

    Notes
    -----
    With q_j = (x_j.a)^2 / (2 ridge_j) it is -F*(a) - (the sum of the k largest q_j), or with prices
    -F*(a) - sum_j max(0, q_j - l0_j).

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> a = sb.relax(program).dual
    >>> print(f"{sb.lower_bound(program, a):.4f} {sb.lower_bound(program, 0.9 * a):.4f}")
    1.9583 1.9388
    """
    vectors = np.atleast_2d(np.asarray(a))
    convex = enclosed(program)
    return best_cover(convex, [dual_point(convex, vector) for vector in vectors]).lower


__all__ = [
    "ROOT",
    "WIDER",
    "Cover",
    "DualPoint",
    "Node",
    "Screening",
    "best_cover",
    "bidual_value",
    "bound_at",
    "budget_curve",
    "cardinality_curve",
    "claim_at",
    "dual_point",
    "dual_point_at",
    "dual_points_at",
    "dual_value",
    "enclosed",
    "fewest_ranges",
    "floor",
    "lower_bound",
    "null_up",
    "objective_up",
    "repair",
    "scored",
    "screen",
    "screen_at",
    "tighter_box",
    "widened",
]
