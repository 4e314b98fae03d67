"""dual_points: relaxations that prove more together, because cardinality is an integer."""

from __future__ import annotations

import math

import numpy as np

from sparsebounds.bounds.lower import one_price
from sparsebounds.program import Program
from sparsebounds.relaxation.bidual import relax
from sparsebounds.relaxation.result import Relaxation


def dual_points(program: Program, relaxed: Relaxation, tol: float = 1e-8) -> list[Relaxation]:
    """The relaxation, and what its bound can be bettered with because cardinality is an integer.

    With one price l0: the k forms at the two integers around sum u, each best for a range of
    cardinalities. Otherwise the relaxation alone.
    """
    if one_price(program) is None:
        return [relaxed]
    total = float(np.sum(relaxed.u[program.free]))
    sizes = sorted({math.floor(total), math.ceil(total)})
    # Without features the best start is none: the null model.
    return [relaxed] + [
        relax(program.with_budget(size), tol, start=relaxed if size else None) for size in sizes
    ]
