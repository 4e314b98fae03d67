"""Folds of a small dense table, all ridges and sizes of them in step (`models.Lockstep`).

A fold is the table with shares of its rows: 0 for those left out. Columns are in units of all rows,
so that a ridge on columns standardized in the fold is that ridge times their variance there.

With several jobs all go up here until it is known that the rest takes long enough, and there are
other processes for it (`Workers`). Each of them, and this one, then goes on with some of the folds
and ridges. What they find does not depend on when that happens, but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds.estimators._workers import Workers, clock
from sparsebounds.models import Alike, State, climbed, in_step, tell
from sparsebounds.program import Program

CALLS = 5
"""The step to a size takes a time in proportion to that size plus this number, about."""

LARGEST = 1 << 22
"""Numbers of a table that are not too many to be copied, and of the arrays made of it."""


def steps_with(program: Program, X: Any, options: dict[str, Any]) -> bool:
    """Whether the folds of a table can be gone through in step."""
    dense = type(X) is np.ndarray and X.size <= LARGEST
    plain = program.ball is None and program.groups.single and not program.signed
    told = isinstance(options["standardize"], bool) and options["l0s"] is None
    return dense and plain and told and bool(np.isfinite(program.loss.smoothness))


def parts_of(alike: Alike, workers: int) -> list[Index]:
    """The problems, in parts where memory asks for it: then as many as all workers can share."""
    count, (m, n) = len(alike.p), alike.columns.shape
    size = max(n, m**2) if alike.by_gram else m + 100 * n
    parts = -(-count * size // LARGEST)
    parts += -parts % workers * (parts > 1)
    return np.array_split(np.arange(count), min(parts, count))


def step_models(
    program: Program,
    X: Vector,
    weights: Vector,
    trains: Sequence[Index],
    coded: Sequence[Vector],
    ridges: Sequence[float],
    options: dict[str, Any],
    workers: Workers,
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
    done = climbs(alike, most, options, workers)
    found: list[list[list[Any]]] = [[[] for _ in ridges] for _ in trains]
    for k in grid:
        coef, shift = np.zeros((len(fold), len(spread))), np.zeros(len(fold))
        for some, states in done:
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


class Way:
    """How far some of the problems have come, and whether others go on with them.

    Behind them so many parts of their size wait.
    """

    def __init__(
        self, count: int, behind: int, most: int, options: dict[str, Any], workers: Workers
    ) -> None:
        self.count, self.behind, self.most, self.workers = count, behind, most, workers
        self.grid, self.watch = options["ks"], options["watch"]
        limit = options["time_limit"]
        self.deadline = Deadline.of(None if limit is None else limit * count)
        self.times = [clock()]
        self.handed = False

    def told(self, size: int) -> None:
        """A size is done."""
        self.times.append(clock())
        if (watch := self.watch) is not None:
            tell(lambda done, total: watch(done, total, self.count), self.grid, self.most, size)

    def over(self) -> bool:
        """Whether the time is up, or the rest is for others: a size takes as long as it is large.

        What was done before the first size they do again.
        """
        began, start, *later = self.times
        if later and not self.deadline.late():
            now, size = later[-1], len(later)
            rest = sum(range(size + 1, self.most + 1)) + CALLS * (self.most - size)
            left = (now - self.times[-2]) * rest / (size + CALLS)
            again = self.behind * (now - began + left) - (start - began)
            self.handed = self.workers.take(left + again)
        return self.handed or self.deadline.late()

    def shared(
        self, alike: Alike, parts: Sequence[Index], begun: list[State]
    ) -> list[tuple[Index, list[State]]]:
        """The rest: of the first part from the sizes that are done, of the others from none."""
        own = self.deadline.end - clock() if self.deadline.limited else None
        limit = None if own is None else self.deadline.end - self.deadline.started
        each = -(-self.workers.count // len(parts))
        pieces, work = [], []
        with self.workers.lent(alike.columns) as columns:
            lent = replace(alike, columns=columns)
            for i, part in enumerate(parts):
                for at in np.array_split(np.arange(len(part)), min(each, len(part))):
                    states = [replace(state.at(at), which=np.arange(len(at))) for state in begun]
                    whole = limit if i else own
                    share = None if whole is None else whole * len(at) / len(part)
                    pieces.append(part[at])
                    given = lent.at(part[at]), self.most, None if i else states, share
                    work.append(partial(climbed, *given))
            return list(zip(pieces, self.workers.run(work), strict=True))


def climbs(
    alike: Alike, most: int, options: dict[str, Any], workers: Workers
) -> list[tuple[Index, list[State]]]:
    """Models of all sizes, for some of the problems each; the time limit is one per problem."""
    done: list[tuple[Index, list[State]]] = []
    parts = parts_of(alike, workers.count)
    for i, some in enumerate(parts):
        way = Way(len(some), len(parts) - i - 1, most, options, workers)
        states = in_step(alike.at(some)).climb(most, way.told, way.over)
        if way.handed:
            return done + way.shared(alike, parts[i:], states)
        done.append((some, states))
    return done
