"""Folds of a small dense table, all ridges and sizes of them in step (`models.Lockstep`).

A fold is the table with shares of its rows: 0 for those left out. Columns are in units of all rows,
so that a ridge on columns standardized in the fold is that ridge times their variance there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds.models import Alike, in_step, tell
from sparsebounds.program import Program

WIDEST, LARGEST = 500, 1 << 22
"""Features and numbers of a table that are not too many to be copied and multiplied whole."""

Split = tuple[Index, Index]


def steps_with(program: Program, X: Any, options: dict[str, Any]) -> bool:
    """Whether the folds of a table can be gone through in step."""
    dense = type(X) is np.ndarray and X.size <= LARGEST and X.shape[1] <= WIDEST
    plain = program.ball is None and program.groups.single and not program.signed
    told = isinstance(options["standardize"], bool) and options["l0s"] is None
    return dense and plain and told and bool(np.isfinite(program.loss.smoothness))


def parts_of(splits: Sequence[Split], size: int, n_jobs: int | None) -> list[list[Split]]:
    """The folds in as many parts as there are processes, or memory asks for.

    `size` is how many numbers a fold takes.
    """
    count = max(effective_n_jobs(n_jobs), -(-len(splits) * size // LARGEST))
    cuts = np.linspace(0, len(splits), min(count, len(splits)) + 1).astype(int)
    return [list(splits[i:j]) for i, j in pairwise(cuts)]


def step_models(
    program: Program,
    X: Vector,
    coded: Sequence[Vector],
    weights: Vector,
    trains: Sequence[Index],
    ridges: Sequence[float],
    options: dict[str, Any],
) -> list[list[list[Any]]]:
    """(coef, intercept) of each problem, by folds, ridges and along the grid; in the user's units.

    A time limit may leave points out; Unsettled where plain steps do not do. The program is one on
    all rows.
    """
    n, intercept = len(weights), program.fit_intercept
    center = X.mean(axis=0) if intercept else np.zeros(X.shape[1])
    columns = np.ascontiguousarray((X - center).T, dtype=np.float64)
    spread = np.sqrt(np.mean(columns**2, axis=1))
    spread[spread <= 1e-13 * np.abs(center)] = 1.0
    columns /= spread[:, None]
    masses = np.stack([np.bincount(train, weights[train], n) for train in trains])
    shares: Vector = masses / masses.sum(axis=1)[:, None]
    own = spread**-2.0 * np.ones((len(shares), 1))
    if options["standardize"]:
        squares = shares @ (columns**2).T - (shares @ columns.T) ** 2 * intercept
        # A column that is constant in a fold is left unscaled there.
        own = np.where(squares > 1e-12, squares, own)
    level = float(weights @ coded[0] / weights.sum()) if program.movable else 0.0
    shape = len(trains), len(ridges), len(coded)
    fold, ridge, problem = (one.ravel() for one in np.indices(shape))
    responses = np.stack(coded) - level
    alike = Alike(
        columns,
        program.loss,
        responses[problem],
        shares[fold],
        np.array(ridges)[ridge, None] * own[fold],
        intercept,
        np.flatnonzero(program.always),
        program.free,
    )
    grid, watch = options["ks"], options["watch"]
    most = min(grid[-1], int(np.count_nonzero(program.free)))
    limit = options["time_limit"]
    late = Deadline.of(None if limit is None else limit * len(fold)).late

    def told(size: int) -> None:
        if watch is not None:
            tell(lambda done, total: watch(done, total, len(fold)), grid, most, size)

    states = in_step(alike).climb(most, told, late)
    found: list[list[list[Any]]] = [[[] for _ in ridges] for _ in trains]
    for state in (states[min(k, most)] for k in grid if min(k, most) < len(states)):
        coef = np.zeros((len(fold), len(spread)))
        coef[np.arange(len(fold))[:, None], state.inside] = state.w
        coef /= spread
        shift = state.b + level - coef @ center
        for f, r in np.ndindex(shape[:2]):
            mine = slice(first := (f * len(ridges) + r) * len(coded), first + len(coded))
            found[f][r].append(list(zip(coef[mine], shift[mine], strict=True)))
    return found
