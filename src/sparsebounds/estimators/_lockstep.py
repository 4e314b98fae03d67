"""Folds of a small dense table, all ridges and sizes of them in step (`models.Lockstep`).

A fold is the table with shares of its rows: 0 for those left out. Columns are in units of all rows,
so that a ridge on columns standardized in the fold is that ridge times their variance there. With
several jobs, each thread goes up with some of the folds and ridges; the columns are one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds.models import Alike, State, in_step, tell
from sparsebounds.program import Program

LARGEST = 1 << 22
"""Numbers of a table that are not too many to be copied, and of the arrays made of it."""

WORTH = 10_000
"""Numbers that an operation has per thread: with fewer, threads wait for one another."""


def steps_with(program: Program, X: Any, options: dict[str, Any]) -> bool:
    """Whether the folds of a table can be gone through in step."""
    dense = type(X) is np.ndarray and X.size <= LARGEST
    plain = program.ball is None and program.groups.single and not program.signed
    told = isinstance(options["standardize"], bool) and options["l0s"] is None
    return dense and plain and told and bool(np.isfinite(program.loss.smoothness))


def parts_of(alike: Alike, n_jobs: int | None) -> tuple[int, list[Index]]:
    """(threads, problems): as many parts as there are threads, or memory asks for."""
    count, (m, n) = len(alike.p), alike.columns.shape
    long, size = (m, max(n, m**2)) if alike.by_gram else (n, m + 100 * n)
    threads = max(1, min(effective_n_jobs(n_jobs), count * long // WORTH))
    parts = max(threads, -(-count * size // LARGEST))
    return threads, np.array_split(np.arange(count), min(parts, count))


def step_models(
    program: Program,
    X: Vector,
    weights: Vector,
    trains: Sequence[Index],
    coded: Sequence[Vector],
    ridges: Sequence[float],
    options: dict[str, Any],
    n_jobs: int | None = None,
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
    mass = masses.sum(axis=1)
    shares: Vector = masses / mass[:, None]
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
        mass[fold],
        np.array(ridges)[ridge, None] * own[fold],
        fold * len(coded) + problem,
        intercept,
        np.flatnonzero(program.always),
        program.free,
    )
    grid = options["ks"]
    most = min(grid[-1], int(np.count_nonzero(program.free)))
    threads, parts = parts_of(alike, n_jobs)
    work = (delayed(climbed)(alike.at(some), grid, most, options) for some in parts)
    done = Parallel(n_jobs=threads, prefer="threads")(work)
    found: list[list[list[Any]]] = [[[] for _ in ridges] for _ in trains]
    for k in grid:
        coef, shift = np.zeros((len(fold), len(spread))), np.zeros(len(fold))
        for some, states in zip(parts, done, strict=True):
            if min(k, most) >= len(states):
                return found
            state = states[min(k, most)]
            coef[some[:, None], state.inside], shift[some] = state.w, state.b
        coef /= spread
        shift += level - coef @ center
        for f, r in np.ndindex(shape[:2]):
            mine = slice(first := (f * len(ridges) + r) * len(coded), first + len(coded))
            found[f][r].append(list(zip(coef[mine], shift[mine], strict=True)))
    return found


def climbed(alike: Alike, grid: list[int], most: int, options: dict[str, Any]) -> list[State]:
    """Models of all sizes; the time limit is that of each problem."""
    limit, watch, count = options["time_limit"], options["watch"], len(alike.p)
    late = Deadline.of(None if limit is None else limit * count).late

    def told(size: int) -> None:
        if watch is not None:
            tell(lambda done, total: watch(done, total, count), grid, most, size)

    return in_step(alike).climb(most, told, late)
