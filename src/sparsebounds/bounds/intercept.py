"""A certified bound of |b| over all models at least as good as the null model.

Let `level` >= the null model's objective and F >= floor. A model with objective at most
`level` has p_i (loss_i - inf loss_i) <= level - floor in every row i, so its prediction in
that row lies in a sublevel interval of the loss; and |x_i.w| <= (sum_j |x_j|^2 / r_j)^(1/2)
(sum_j r_j w_j^2)^(1/2), with sum_j r_j w_j^2 <= 2 (level - floor), or r = 1 and |w|^2 <= ball.
One row bounds b from each side; the best one is taken.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.rounding import largest_of, norm_up, up
from sparsebounds.bounds.upper import row_parts
from sparsebounds.program import Program


def intercept_bound(program: Program, level: float, conjugate_at_zero: float) -> float:
    """B with |b| <= B for every model of objective at most `level`; inf where none is found."""
    excess = up(level + conjugate_at_zero)
    if program.ball is None:
        size = up(math.sqrt(up(2.0 * excess)))
        swing = up(norm_up(program.matrix.norms / np.sqrt(program.ridges)) * size)
    else:
        swing = up(norm_up(program.matrix.norms) * up(math.sqrt(program.ball)))
    y, offset, low, high, least = program.y, program.offset, -math.inf, math.inf, math.inf
    for rows in row_parts(program):
        with np.errstate(over="ignore", divide="ignore"):
            share = up(up(excess / program.F.p[rows]) * (1.0 + 1e-12))
        lo, hi = program.loss.sublevel(y[rows], share)
        if offset is not None:
            lo, hi = lo - offset[rows], hi - offset[rows]
        low, high = max(low, float(np.max(lo))), min(high, float(np.min(hi)))
        least = min(least, float(np.min(share)))
    side = max(abs(low), abs(high))
    # Twice the bound, and 1e-12 of everything that entered it, cover all rounding above.
    entered = largest_of(y) + (0.0 if offset is None else largest_of(offset)) + least + 1.0
    bound = 2.0 * (side + swing) + 1e-12 * float(entered)
    return bound if math.isfinite(bound) else math.inf
