"""dual_points: relaxations that prove more together, because cardinality is an integer."""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.deadline import Deadline, Limit
from sparsebounds.bounds import one_price
from sparsebounds.program import Program
from sparsebounds.relaxation.relax import relaxation_of
from sparsebounds.relaxation.result import Relaxation


def dual_points(
    program: Program, relaxed: Relaxation, tol: float = 1e-8, time_limit: Limit = None
) -> list[Relaxation]:
    """The relaxation, and what its bound can be bettered with because cardinality is an integer.

    With one price l0: the k forms at the two integers around sum u, each best for a range of
    cardinalities. Otherwise, and where there is no time for it, the relaxation alone.
    """
    deadline = Deadline.of(time_limit)
    # Each begins with a pass over X, and a start has a product more.
    if one_price(program) is None or deadline.late(scan=4):
        return [relaxed]
    total = float(np.sum(relaxed.u[program.free]))
    sizes = sorted({math.floor(total), math.ceil(total)})
    # Without features the best start is none: the null model.
    return [relaxed] + [
        relaxation_of(
            program.with_budget(size),
            tol,
            start=relaxed if size else None,
            time_limit=deadline.before(scan=2) if size < sizes[-1] else deadline,
        )
        for size in sizes
    ]
