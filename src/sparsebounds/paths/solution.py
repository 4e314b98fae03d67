"""A point of a path as a solution: the same model, bounds and certificate, with a relaxation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparsebounds._support.deadline import Deadline, Limit
from sparsebounds.bounds import screen_at
from sparsebounds.paths.result import PathPoint
from sparsebounds.program import Program
from sparsebounds.relaxation import relaxation_of
from sparsebounds.solving import Solution, SolutionStats


def solution_at(
    X: Any, y: Any, point: PathPoint, tol: float, time_limit: Limit = None, **problem: Any
) -> Solution:
    """The solution that a point of the path of this problem is."""
    size = {"k": point.k} if point.k is not None else {"l0": point.l0}
    program = Program(X, y, **size, **problem)
    deadline, first_pass = Deadline.of(time_limit), program.matrix.passes
    with np.errstate(all="ignore"):
        relaxed = relaxation_of(program, min(1e-6, 0.01 * tol), time_limit=deadline)
        screened = screen_at(program, relaxed.point, point.upper)
    inside = np.union1d(screened.fixed_in, point.fixed_in)
    stats = SolutionStats(
        full_passes=program.matrix.passes - first_pass,
        newton_steps=relaxed.stats.newton_steps,
        models=1,
        nodes=point.nodes,
        seconds=point.seconds + deadline.seconds,
    )
    screened = replace(screened, fixed_in=inside)
    parts = point.certificate, point.coef, point.intercept, screened, relaxed, stats, tol
    return Solution.of(program, *parts)
