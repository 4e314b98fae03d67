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

from sparsebounds._support.rounding import norm_up, up
from sparsebounds.program import Program


def intercept_bound(program: Program, level: float, conjugate_at_zero: float) -> float:
    """B with |b| <= B for every model of objective at most `level`; inf where none is found."""
    excess = up(level + conjugate_at_zero)
    if program.ball is None:
        size = up(math.sqrt(up(2.0 * excess)))
        swing = up(norm_up(program.matrix.norms / np.sqrt(program.ridges)) * size)
    else:
        swing = up(norm_up(program.matrix.norms) * up(math.sqrt(program.ball)))
    with np.errstate(over="ignore", divide="ignore"):
        share = up(up(excess / program.F.p) * (1.0 + 1e-12))
    lo, hi = program.loss.sublevel(program.y, share)
    offset = np.zeros(program.n) if program.offset is None else program.offset
    side = max(abs(float(np.max(lo - offset))), abs(float(np.min(hi - offset))))
    # Twice the bound, and 1e-12 of everything that entered it, cover all rounding above.
    entered = np.max(np.abs(program.y)) + np.max(np.abs(offset)) + np.min(share) + 1.0
    bound = 2.0 * (side + swing) + 1e-12 * float(entered)
    return bound if math.isfinite(bound) else math.inf
