"""Band: the certified interval of the best possible objective along k or l0.

Where a solution stands on the grid, its own bounds count too. In k they reach further: a model
with fewer features is feasible for a larger k, and a lower bound at a larger k is one at a smaller,

    lower(k') >= lower(k)  for k' <= k,      upper(k') <= upper(k)  for k' >= k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.errors import InputError
from sparsebounds.paths import Path, places
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
    return Band(
        path.kind,
        places(path),
        path.lower,
        path.upper,
        path.rel_gap,
        path.sizes,
        optimal,
        path.null,
    )


def solution_band(program: Program, solution: Solution, path: Path) -> Band:
    """The band of a path of the same problem, with a solution's own bounds in it."""
    problem, other = solution.certificate.problem, path[0].certificate
    same = (
        other.fingerprint == program.fingerprint
        and (problem.loss, problem.fit_intercept)
        == (other.problem.loss, other.problem.fit_intercept)
        and problem.ball == other.problem.ball
        and np.array_equal(_or_nan(problem.ridge), _or_nan(other.problem.ridge), equal_nan=True)
    )
    if not same:
        raise InputError(
            "path is of another problem than the solution; make it with the same data, loss, "
            "ridge or ball, or leave it out."
        )
    base = path_band(path)
    mine = program.k if path.kind == "k" else program.l0
    at = np.flatnonzero(base.places == mine) if isinstance(mine, (int, float)) else np.array([])
    if len(at) == 0:
        return base
    i = int(at[0])
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


def _or_nan(value: float | Vector | None) -> float | Vector:
    return math.nan if value is None else value
