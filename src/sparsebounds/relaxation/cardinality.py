"""dual_points: relaxations that prove more together, because cardinality is an integer."""

from __future__ import annotations

import math

import numpy as np

from sparsebounds.bounds.lower import one_price
from sparsebounds.program import Program
from sparsebounds.relaxation.result import Relaxation
from sparsebounds.relaxation.working_set import relax


def dual_points(program: Program, relaxed: Relaxation) -> list[Relaxation]:
    """The relaxation, and what its bound can be bettered with because cardinality is an integer.

    With one price l0: the k forms at the two integers around sum u, each best for a range of
    cardinalities. Otherwise the relaxation alone.
    """
    if one_price(program) is None:
        return [relaxed]
    total = float(np.sum(relaxed.u[program.free]))
    sizes = sorted({math.floor(total), math.ceil(total)})
    return [relaxed] + [relax(program.with_budget(size), start=relaxed) for size in sizes]
