"""From supports to the best model found: refit, then add, drop and swap until none helps.

Candidates are tried on a pool of features (the relaxation's support and the best scores), whose
columns are read once. The table of `exchange` orders the moves; a refit decides. For the squared
loss with a ridge the table is exact, so the first move that does not help ends the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sparsebounds._array import Index, Vector
from sparsebounds.models.exchange import Quadratic, moves
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation
from sparsebounds.relaxation.refit import Model, refit

TRIES = 8
"""Moves refitted before a support is called locally optimal, where the table is a model."""

POOL = 150
"""Features beyond the relaxation's support that the search may bring in."""


class Search:
    """Local search over supports within a pool; every support is refitted once."""

    def __init__(self, program: Program, pool: Index) -> None:
        self.program = program
        self.pool = np.unique(np.concatenate((pool, np.flatnonzero(program.always))))
        self._columns = program.matrix.columns(self.pool)
        self._seen: dict[tuple[int, ...], Model] = {}

    @property
    def refitted(self) -> int:
        """Supports refitted so far."""
        return len(self._seen)

    def improve(self, support: Index, stop: Callable[[], bool] = lambda: False) -> Model:
        """The local optimum reached from a support."""
        model = self.model(support)
        while not stop():
            better = self._step(model, stop)
            if better is None:
                return model
            model = better
        return model

    def best(self, supports: Iterable[Index], stop: Callable[[], bool] = lambda: False) -> Model:
        """The best local optimum over several supports."""
        found = self.model(np.flatnonzero(self.program.always))
        for support in supports:
            if stop():
                break
            found = min(found, self.improve(support, stop), key=lambda model: model.value)
        return found

    def model(self, support: Index) -> Model:
        """The refit of a support of pool features."""
        key = tuple(np.union1d(support, np.flatnonzero(self.program.always)).tolist())
        if key not in self._seen:
            chosen = np.array(key, dtype=np.int64)
            places = np.searchsorted(self.pool, chosen)
            self._seen[key] = refit(self.program, chosen, self._columns[:, places])
        return self._seen[key]

    def _step(self, model: Model, stop: Callable[[], bool]) -> Model | None:
        """A better neighbour, or None."""
        program = self.program
        inside = np.searchsorted(self.pool, model.support)
        counted = int(np.count_nonzero(program.free[model.support]))
        room = 1 if program.k is None else program.k - counted
        fixed = ~program.free[self.pool]
        tries = 1 if program.loss.name == "squared" and program.ball is None else TRIES
        for move in moves(self._quadratic(model), inside, fixed, room=room, most=tries):
            if stop():
                return None
            keep = inside[inside != move.leave] if move.leave is not None else inside
            keep = keep if move.enter is None else np.append(keep, move.enter)
            other = self.model(np.sort(self.pool[keep]))
            if other.value < model.value - 1e-13 * abs(model.value):
                return other
        return None

    def _quadratic(self, model: Model) -> Quadratic:
        """The loss around a model, on the pool, with the intercept eliminated."""
        program, A = self.program, self._columns
        z = A @ model.w[self.pool] + model.b
        bend = program.F.curvature(z)
        a = program.F.gradient(z)
        weighted = A * bend[:, None]
        hessian: Vector = A.T @ weighted
        linear = weighted.T @ (z - model.b) - A.T @ a
        if program.fit_intercept and bend.sum() > 0:
            mean, mass = weighted.sum(axis=0), float(bend.sum())
            level = float(bend @ (z - model.b) - a.sum()) / mass
            hessian = hessian - np.outer(mean, mean) / mass
            linear = linear - mean * level
        ridge = np.full(len(self.pool), model.eta)
        if program.ball is None:
            ridge = program.ridges[self.pool]
        # A flat loss (hinge, Huber) or an idle ball leaves nothing to divide by.
        largest = float(np.max(np.diagonal(hessian), initial=1e-288))
        ridge = np.fmax(ridge, 1e-12 * largest)
        return Quadratic(
            hessian, linear, ridge, program.prices[self.pool], program.positive[self.pool]
        )


def pool_of(program: Program, relaxed: Relaxation) -> Index:
    """The relaxation's support and the free features with the best scores."""
    support = np.flatnonzero(relaxed.w)
    score = np.where(program.free, relaxed.point.reach, 0.0)
    if program.ball is None:
        score = score / np.sqrt(program.ridges)
    best = np.argsort(-score, kind="stable")[: POOL + 2 * (program.k or 0)]
    return np.union1d(support, best[score[best] > 0]).astype(np.int64)


def candidate_supports(program: Program, relaxed: Relaxation) -> list[Index]:
    """Supports the relaxation suggests: its largest u, its largest |w|, and neighbours in size."""
    free = np.flatnonzero(program.free & (relaxed.w != 0))
    by_weight = free[np.lexsort((free, -np.abs(relaxed.w[free]), -relaxed.u[free]))]
    by_size = free[np.lexsort((free, -np.abs(relaxed.w[free])))]
    if program.k is not None:
        sizes = [min(program.k, len(free))]
    else:
        total = float(relaxed.u[free].sum())
        likely = int(np.count_nonzero(relaxed.u[free] > 0.5))
        sizes = sorted({likely, int(total), int(np.ceil(total)), 0} & set(range(len(free) + 1)))
    return [np.sort(order[:size]) for size in sizes for order in (by_weight, by_size)]
