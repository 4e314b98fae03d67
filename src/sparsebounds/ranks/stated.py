"""The paper's numbers at rank r, and a sharper zeta, for X = X_r + dX and |w|^2 <= ball.

a_r is the dual vector of the relaxation on X_r, a that of the relaxation on X.

    zeta_r = sqrt(ball) |dX^T a_r|,    zeta = sqrt(ball) |dX^T a|

    p**(X_r) - zeta_r <= p(X)          holds: weak duality at a_r and the triangle inequality
    p(X) <= OPT + zeta                 l0 + ball, as printed; does not hold
    p(X) <= p**(X_r) + zeta            k + ball, as printed; does not hold

A support of j features sees only j entries of dX^T a_r. So zeta_r may be replaced by zeta_r^(j) =
sqrt(ball S_j), S_j the sum of the j largest squares, for each cardinality j on its own:

    p(X) >= -F*(a_r) - max_j [ R_j + zeta_r^(j) - l0 j ],    R_j = sqrt(ball S_j) of X_r^T a_r,

with j = k alone in the k form. The bound with X itself at a_r is better still, since X^T a_r =
X_r^T a_r + dX^T a_r and sqrt(S_j) is a norm.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import down, norm_up, sum_up, up
from sparsebounds.bounds import DualPoint, one_price, prefix_gains_up, squares_up
from sparsebounds.program import Program


def difference_up(program: Program, full: DualPoint, low: DualPoint) -> Vector:
    """Floats at least |dX^T a|: from the scores of one vector on X and on X_r."""
    apart = up(up(np.abs(full.scores - low.scores)) + up(full.radius + low.radius))
    return np.where(program.never, 0.0, apart)


def zeta_up(program: Program, apart: Vector) -> float:
    """A float at least sqrt(ball) |dX^T a|; NaN in the ridge forms, where the paper has none."""
    if program.ball is None:
        return math.nan
    return float(up(up(math.sqrt(program.ball)) * norm_up(apart)))


def sharpened(program: Program, full: DualPoint, low: DualPoint) -> float:
    """The bound with zeta_r^(j) for zeta_r; NaN in the ridge forms and with several prices."""
    price = one_price(program)
    if program.ball is None or (program.l0 is not None and price is None):
        return math.nan
    gains = np.zeros(1)
    for reach in (low.reach, difference_up(program, full, low)):
        squares = squares_up(reach, program.groups)
        base = sum_up(squares[program.always])
        gains = up(gains + prefix_gains_up(program, base, squares[program.free]))
    if program.k is not None:
        bounds = down(-full.conjugate - gains[min(program.k, len(gains) - 1)])
    else:
        bounds = down(down(-full.conjugate - gains) + down((price or 0.0) * np.arange(len(gains))))
    return min(float(np.min(bounds)), full.ceiling)
