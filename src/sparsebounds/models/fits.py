"""Supports of a pool of features, each fitted once.

A draft says what a support is worth: the best coefficients on it, from where the last quadratic has
them, many supports in one call. For the squared loss with a ridge the quadratic is the objective
itself, and the drafts are its minima. `finished` refits a draft to all digits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds.fitting import Draft, Model, Wanted, draftable, refit
from sparsebounds.models.expansion import Expansion
from sparsebounds.models.pool import Pool, columns_of
from sparsebounds.program import Program

PERFECT = 1e-5
"""Where less than this share of the objective is left, the quadratic has lost its digits."""


class Fits:
    """Models of supports of a pool, the best of them, and the quadratic around any of them."""

    def __init__(self, program: Program, pool: Index, deadline: Deadline, columns: Pool) -> None:
        self.program, self.deadline, self._read = program, deadline, columns
        self._always = np.flatnonzero(program.always)
        self._work_on(np.union1d(pool, self._always).astype(np.int64))
        self._seen: dict[tuple[int, ...], Model] = {}
        self._hopeless: dict[tuple[int, ...], float] = {}
        """Supports that were given up, and the limit that they do not reach."""

        self.near: Model = Draft(program.null, np.zeros(program.m), program.null_intercept, np.nan)
        """Where steps start from before there is a quadratic."""

        known = draftable(program) and not len(self._always)
        self.incumbent = self._keep(self._always, self.near if known else self._refit(self._always))

    def _work_on(self, pool: Index) -> None:
        """Search among these features."""
        pool = self.program.groups.whole(pool)
        self.pool, self.fixed = pool, ~self.program.free[pool]
        self._columns = columns_of(self.program, pool, self._read, exact=self.exact)
        self._last: tuple[Model | None, Expansion] | None = None

    @property
    def refitted(self) -> int:
        """Supports fitted so far."""
        return len(self._seen) + len(self._hopeless)

    @property
    def exact(self) -> bool:
        """Whether the quadratic is the objective itself, wherever it is taken."""
        program = self.program
        squared = program.loss.name == "squared" and program.ball is None
        return squared and not program.positive.any()

    def model(self, support: Index) -> Model:
        """The best model of a support of pool features."""
        found = self.models([support])[0]
        assert found is not None
        return found

    def models(self, supports: Sequence[Index], limit: float = np.inf) -> list[Model | None]:
        """The best models of supports; None for those that are clearly above the limit."""
        keys = [self._key(support) for support in supports]
        fresh = [
            np.array(key, dtype=np.int64)
            for key in dict.fromkeys(keys)
            if key not in self._seen and self._hopeless.get(key, -np.inf) < limit
        ]
        for support, found in zip(fresh, self._fitted(fresh, limit), strict=True):
            if found is None:
                self._hopeless[self._key(support)] = limit
            else:
                self._keep(support, found)
        return [self._seen.get(key) for key in keys]

    def support(self, model: Model) -> Index:
        """The features of a model, and the rest of their groups."""
        return self.program.groups.whole(model.support)

    def _with_always(self, support: Index) -> Index:
        """A support, in order, and the features that are always in."""
        return np.union1d(support, self._always) if len(self._always) else support

    def _key(self, support: Index) -> tuple[int, ...]:
        return tuple(self._with_always(support).tolist())

    def _keep(self, support: Index, found: Model) -> Model:
        """A model that is compared with the incumbent."""
        key = self._key(support)
        self._hopeless.pop(key, None)
        self._seen[key] = found
        if len(self._seen) == 1 or found.value < self.incumbent.value:
            self.incumbent = found
        return found

    def _fitted(self, supports: Sequence[Index], limit: float) -> list[Model | None]:
        """Drafts of supports, from the last quadratic; refits where drafts do not settle."""
        program = self.program
        if not draftable(program) or not supports:
            return [self._refit(support) for support in supports]
        inside = [np.searchsorted(self.pool, support) for support in supports]
        prices = np.array([float(np.sum(program.prices[support])) for support in supports])
        if self.exact:
            expansion = self._around(self.incumbent)
            w, b, least = expansion.least(inside)
            value = expansion.constant + least
            value[~(value > PERFECT * expansion.constant)] = np.nan
        else:
            if self._last is None:
                w = np.zeros((len(inside), max(1, *map(len, inside), 1)))
                for row, support in zip(w, supports, strict=True):
                    row[: len(support)] = self.near.w[support]
                b = np.full(len(inside), self.near.b)
            else:
                w, b, _ = self._last[1].least(inside)
            last = self._last if program.matrix.tall else None
            near = None if last is None else last[1].bends
            wanted = Wanted(program.ridges[self.pool], inside, w, b, limit - prices)
            found = self._columns.drafted(wanted, near)
            w, b, value = found.w, found.b, found.value
        return [
            self._draft(*row) for row in zip(supports, inside, w, b, value + prices, strict=True)
        ]

    def _draft(
        self, support: Index, inside: Index, w: Vector, b: float, value: float
    ) -> Model | None:
        """One of them as a model; None where its value is infinite."""
        if value == np.inf:
            return None
        w = w[: len(inside)]
        if np.isnan(value) or np.any(w[self.program.positive[support]] < 0.0):
            return self._refit(support)
        whole = np.zeros(self.program.m)
        whole[support] = w
        shift = float(self._columns.means[inside] @ w)
        return Draft(float(value), whole, float(b) - shift, np.nan)

    def _refit(self, support: Index, near: Model | None = None) -> Model:
        """The best model of a support to all digits, from a model near it where there is one."""
        support = self._with_always(support)
        kept = self.program.matrix.tall and self.program.loss.convex
        columns = None if kept else self._columns.raw(np.searchsorted(self.pool, support))
        return refit(self.program, support, columns, near)

    def finished(self, model: Model) -> Model:
        """A draft refitted to all digits, its objective rounded up."""
        return self._refit(self.support(model), model) if isinstance(model, Draft) else model

    def _around(self, model: Model) -> Expansion:
        """The quadratic around a model; the last one is kept."""
        if self.exact:
            if self._last is None:
                self._last = None, self._whole()
        elif self._last is None or self._last[0] is not model:
            self._last = model, self._expanded(self.image(model.w, model.b), model.eta)
        return self._last[1]

    def image(self, w: Vector, b: float) -> Vector:
        """Predictions (without the offset) of coefficients on the pool."""
        return self._columns.image(w[self.pool]) + b

    def _whole(self) -> Expansion:
        """The squared loss itself."""
        with self._timed():
            return Expansion.squared(self.program, self.pool, self._columns)

    @np.errstate(all="ignore")
    def _expanded(self, z: Vector, eta: float) -> Expansion:
        """The loss around predictions z, on the pool."""
        with self._timed():
            return Expansion.at(self.program, self.pool, self._columns, z, eta)

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        """Products of all pairs of columns: TimeUp where there is no time for them."""
        size = self._columns.price
        self.deadline.require(product=size)
        with self.deadline.timed("product", size):
            yield
