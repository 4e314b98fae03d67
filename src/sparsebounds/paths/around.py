"""A few points around a model: what a report shows beside a solution."""

from __future__ import annotations

import math

import numpy as np

from sparsebounds.paths.call import path_of
from sparsebounds.paths.result import Path
from sparsebounds.program import Program

SIZES, PRICES, DECADE = 10, 9, 10.0
"""How many points there are, and how far the prices go from the chosen one."""

LEAST_SECONDS = 1.0
"""The path may take as long as the solution took, or this."""


def path_around(program: Program, seconds: float) -> Path | None:
    """A short path around the program's own k or l0; None with a price for each feature.

    `seconds` are those that its solution took.
    """
    limit = max(LEAST_SECONDS, seconds)
    if program.k is not None:
        most = min(int(np.count_nonzero(program.free)), program.k + max(2, program.k // 3))
        near = range(max(program.k - 1, 0), program.k + 2)
        spread = np.linspace(min(1, most), most, SIZES).round().astype(int).tolist()
        grid = sorted({program.k, *spread, *(k for k in near if 0 < k <= most)})
        return path_of(program, ks=grid, time_limit=limit)
    if isinstance(program.l0, float) and 0.0 < program.l0 < math.inf:
        around = program.l0 * np.geomspace(DECADE, 1.0 / DECADE, PRICES)
        around[PRICES // 2] = program.l0
        return path_of(program, l0s=around.tolist(), time_limit=limit)
    return None
