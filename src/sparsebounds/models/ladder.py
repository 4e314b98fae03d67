"""Models along a grid of budgets or prices, without a relaxation or a proof: for folds.

Each point goes on from the last one. Around its model the loss is a quadratic; the end of a descent
in it and the best supports of a beam are drafted, and the best of them is improved to a local
optimum, once more from half of its features. In k every size up to the largest is visited, and at
the end the way leads down again: the next larger model without its least feature, and swaps. The
features in play are all of them, or those with the largest slopes at the last model. Supports that
are known from another ridge on the same rows stand in for beam and restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import NEVER, Deadline, TimeUp
from sparsebounds.fitting import Model, best
from sparsebounds.models.improvement import LARGE, Improvement
from sparsebounds.models.pool import Pool, strongest
from sparsebounds.program import Program
from sparsebounds.relaxation import compressed, intercept_at

FEW = 5
"""Features outside a model: where there are fewer, no perturbed support is tried."""

DRAFTED = 5
"""Supports of a beam that are fitted."""

POOL = 100
"""Features in play beside the model's own and twice the budget."""


def tell(told: Callable[[int, int], None], grid: Sequence[int], most: int, size: int) -> None:
    """Say (points done, points) if a point of the grid ends at this size, of at most `most`."""
    done = [k for k in grid if min(k, most) <= size]
    if done and min(done[-1], most) == size:
        told(len(done), len(grid))


class Ladder(Improvement):
    """One grid on one set of rows; `known` are good supports at its points, if there are any."""

    def __init__(
        self,
        program: Program,
        deadline: Deadline = NEVER,
        known: Mapping[float, Index] | None = None,
    ) -> None:
        self._known = known or {}
        self.supports: dict[float, Index] = {}
        """The best support found at each point visited: known, with another ridge."""

        self._given, small = program, compressed(program)
        program = program if small is None else small
        start = np.full(program.n, program.null_intercept)
        super().__init__(program, self._in_play(program, start), deadline, Pool(program))

    def climb(
        self, grid: Sequence[int] | Sequence[float], watch: Callable[[int, int], None] | None = None
    ) -> list[Model]:
        """Models at budgets, ascending, or at prices, descending; fewer where the time is up.

        `watch` is called with how many points of the grid are done, and how many there are.
        """
        told = watch or (lambda done, total: None)
        if isinstance(grid[0], float):
            found = self._by_price([float(price) for price in grid], told)
        else:
            found = self._by_size([int(k) for k in grid], told)
        if self._given.n == self.program.n:
            return found
        return [replace(model, b=intercept_at(self._given, model.w)) for model in found]

    def _by_size(self, grid: list[int], told: Callable[[int, int], None]) -> list[Model]:
        most = min(grid[-1], int(np.count_nonzero(self.program.free)))
        sizes = range(most + 1) if most <= LARGE else sorted({min(k, most) for k in grid})
        found: dict[int, Model] = {}
        for size in sizes:
            if found and self.deadline.late():
                break
            found[size] = self._found(self.program.with_budget(size), size)
            tell(told, grid, most, size)
        if not self.deadline.late():
            self._back(found)
        self.supports |= {size: self.support(model) for size, model in found.items()}
        return [found[min(k, most)] for k in grid if min(k, most) in found]

    def _by_price(self, grid: list[float], told: Callable[[int, int], None]) -> list[Model]:
        found: list[Model] = []
        for price in grid:
            if found and self.deadline.late():
                break
            found.append(self._found(self.program.with_price(price), price))
            self.supports[price] = self.support(found[-1])
            told(len(found), len(grid))
        return found

    def _pose(self, program: Program, known: Sequence[Index]) -> None:
        """Another point of the grid."""
        self.program = program
        self._local.clear()
        self._visited.clear()
        if len(self.pool) < program.m:
            model = self.incumbent
            some = [self.support(model), *known, *self.grown, self._always]
            pool = self._in_play(program, self.image(model.w, model.b))
            self._work_on(np.unique(np.concatenate((pool, *some))).astype(np.int64))
        if program.k is None:
            # The same supports cost something else now.
            self._seen.clear()
            self._hopeless.clear()
            self._last = None
            models = self.models([self._always, self.support(self.incumbent)])
            self.incumbent = best(filter(None, models))

    def _in_play(self, program: Program, z: Vector) -> Index:
        """The features that a point chooses among."""
        if program.m <= POOL + 2 * (program.k or 0):
            return np.arange(program.m)
        scores = np.abs(program.matrix.scores(program.F.gradient(z)))
        return strongest(program, scores, POOL)

    def _found(self, program: Program, point: float) -> Model:
        """The best model at this point."""
        stop, known = self.deadline.late, [self._known[point]] if point in self._known else []
        self._pose(program, known)
        try:
            here = self.incumbent
            expansion = self._around(here)
            end = self._descend(expansion, self.support(here), stop)
            supports = known if end is None else [end, *known]
            if not known and len(self.support(here)) <= LARGE:
                supports += self.beams(expansion, [self.support(here), *self.grown], stop)[:DRAFTED]
            found = self.models(supports, self.incumbent.value)
            if any(model is not None for model in found):
                self.improve(self.support(self.incumbent), stop)
            outside = int(np.count_nonzero(~self.fixed)) - len(self.support(self.incumbent))
            self.restart(int(not known and outside >= FEW), len(self.support(here)), stop)
        except TimeUp:
            pass
        return self.incumbent

    def _back(self, found: dict[int, Model]) -> None:
        """From larger models to smaller ones, which may beat what growing found."""
        sizes = sorted(found)
        for larger, size in zip(sizes[:0:-1], sizes[-2::-1], strict=True):
            model = found[larger]
            surplus = int(np.count_nonzero(self.program.free[self.support(model)])) - size
            if surplus <= 0 or self.deadline.late():
                continue
            if not np.all(np.isin(self.support(model), self.pool)):
                self._work_on(np.union1d(self.pool, self.support(model)))
            try:
                smaller = self.models([self.shrunk(model, surplus)], found[size].value)[0]
            except TimeUp:
                return
            if smaller is not None and smaller.value < found[size].value:
                found[size] = smaller
