"""A solution as a point of the path that it lies on."""

from __future__ import annotations

from dataclasses import replace

from sparsebounds.paths.result import Path, PathPoint
from sparsebounds.program import Program
from sparsebounds.solving import Solution

SHARED = (
    *("support", "intercept", "upper", "lower", "rel_gap", "null_gap", "status", "fixed_in"),
    *("certificate", "outliers", "feature_names", "classes"),
)
"""What both are asked for by the same name."""


def through(found: Path, program: Program, solution: Solution) -> Path:
    """A path with the solution of one of its programs in the place of that program's point."""
    here = PathPoint(
        k=program.k,
        l0=program.l0 if isinstance(program.l0, float) else None,
        values=solution.coef[solution.support],
        nodes=solution.stats.nodes,
        seconds=solution.stats.seconds,
        **{name: getattr(solution, name) for name in SHARED},
    )
    points = (here if point.place == here.place else point for point in found)
    return replace(found, points=tuple(points))
