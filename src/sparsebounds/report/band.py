"""Band: the certified interval of the best possible objective along k or l0.

Where a solution stands on the grid, its own bounds count too. In k they reach further: a model
with fewer features is feasible for a larger k, and a lower bound at a larger k is one at a smaller,

    lower(k') >= lower(k)  for k' <= k,      upper(k') <= upper(k)  for k' >= k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.errors import InputError
from sparsebounds.paths import Path, places
from sparsebounds.problem import Problem
from sparsebounds.program import Program
from sparsebounds.solving import Solution

MEANING = (
    "At each point the best possible objective is proved to lie in the band, between the bound and "
    "the model found there."
)


@dataclass(frozen=True)
class Band:
    """Both bounds at each place."""

    kind: Literal["k", "l0"]
    places: Vector
    lower: Vector
    upper: Vector
    rel_gap: Vector
    used: npt.NDArray[np.int64]
    optimal: Mask
    null: float
    chosen: int | None = None
    """Where a solution stands."""


def path_band(path: Path) -> Band:
    """The band of a path."""
    optimal = np.array([point.status == "optimal" for point in path])
    sides = path.lower, path.upper, path.rel_gap
    return Band(path.kind, places(path), *sides, path.sizes, optimal, path.null)


def solution_band(program: Program, solution: Solution, path: Path) -> Band:
    """The band of a path of the same problem, with a solution's own bounds in it."""
    mine, other = solution.certificate.problem, path[0].certificate
    if (program.fingerprint, _shared(mine)) != (other.fingerprint, _shared(other.problem)):
        raise InputError(
            "path is of another problem than the solution; make it with the same data, loss, "
            "ridge or ball, or leave it out."
        )
    base = path_band(path)
    place = program.k if path.kind == "k" else program.l0
    if not isinstance(place, (int, float)) or place not in base.places:
        return base
    i = base.places.tolist().index(place)
    lower, upper, used = base.lower.copy(), base.upper.copy(), base.used.copy()
    if solution.upper <= upper[i]:
        used[i] = len(solution.support)
    lower[i], upper[i] = max(lower[i], solution.lower), min(upper[i], solution.upper)
    if path.kind == "k":
        lower = np.maximum.accumulate(lower[::-1])[::-1]
        upper = np.minimum.accumulate(upper)
    gaps = np.array([program.relative(b - a, b) for a, b in zip(lower, upper, strict=True)])
    optimal = base.optimal.copy()
    optimal[i] |= solution.status == "optimal"
    return Band(path.kind, base.places, lower, upper, gaps, used, optimal, base.null, i)


def _shared(problem: Problem) -> tuple[Any, ...]:
    """What all points of a path have in common."""
    ridge: Any = np.asarray(problem.ridge).tolist()
    return problem.loss, problem.fit_intercept, problem.ball, ridge
