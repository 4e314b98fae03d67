"""Better supports: descents, neighbours and a beam in the quadratic around a model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import Deadline
from sparsebounds.fitting import Model, draftable
from sparsebounds.models.beam import beam
from sparsebounds.models.exchange import after, descend, moves, without_least
from sparsebounds.models.expansion import Expansion
from sparsebounds.models.fits import Fits
from sparsebounds.models.pool import Pool
from sparsebounds.program import Program

TRIES = 4
"""Moves tried before a support is called locally optimal, where the quadratic is a model."""

WIDTH = 10
"""Supports kept at every size of the beam search."""

LARGE = 50
"""Supports beyond this size are not grown by the beam, and have a quarter of the restarts; with
twice as many undecided features, primalization costs more than it finds."""

FADED = 1e-6
"""A loss below this part of that without features is next to nothing: classes are separable."""


class Improvement(Fits):
    """Ways from a support to better ones of the same pool."""

    def __init__(self, program: Program, pool: Index, deadline: Deadline, columns: Pool) -> None:
        super().__init__(program, pool, deadline, columns)
        self._local: set[tuple[int, ...]] = set()
        self._visited: set[bytes] = set()
        self.optima = 0
        """Local optima found: descents that did not join an earlier one."""

        self.grown: list[Index] = []
        """The beam's supports, best first: `known` for a neighbour."""

    def improve(self, support: Index, stop: Callable[[], bool] = lambda: False) -> bool:
        """Go from a support to a local optimum, or to where an earlier descent came by.

        Whether it came to such a place.
        """
        if self.exact:
            end = self._descend(self._around(self.incumbent), support, stop)
            if end is None:
                return True
            self.model(end)
            self.optima += 1
            return False
        model: Model | None = self.model(support)
        while model is not None and not stop():
            key = tuple(self.support(model).tolist())
            if key in self._local:
                return True
            self._local.add(key)
            model = self._step(model, stop)
        self.optima += 1
        return False

    def leads_back(self, support: Index, stop: Callable[[], bool]) -> bool:
        """Whether a descent in the incumbent's quadratic ends at a local optimum known already.

        The quadratic of the squared loss is the same for all: `improve` notices there itself. Among
        groups a descent is no shorter way, and where the loss has faded the quadratic says nothing.
        """
        if self.exact or not self._local or not self.program.groups.single:
            return False
        paid = float(np.sum(self.program.prices[self.support(self.incumbent)]))
        if self.incumbent.value - paid <= FADED * abs(self.program.null):
            return False
        end = self._descend(self._around(self.incumbent), support, stop)
        return end is not None and self._key(end) in self._local

    def shrunk(self, model: Model, count: int) -> Index:
        """The support with `count` free features less: those of least loss dropped, then swaps."""
        quadratic = self._around(model).quadratic
        inside = np.searchsorted(self.pool, self.support(model))
        for _ in range(count):
            inside = without_least(quadratic, inside, self.fixed)
        end = descend(quadratic, inside, self.fixed, room=0)
        return self.pool[inside if end is None else end]

    def beams(
        self, expansion: Expansion, known: Sequence[Index], stop: Callable[[], bool]
    ) -> list[Index]:
        """Supports that a beam search leads to from the largest known ones, best first."""
        program = self.program
        supports = [self._with_always(one) for one in known] or [self._always]
        sizes = [int(np.count_nonzero(program.free[one])) for one in supports]
        starts = [
            np.searchsorted(self.pool, one)
            for one, size in zip(supports, sizes, strict=True)
            if size == max(sizes)
        ]
        most = LARGE if program.k is None else program.k
        room = min(int(np.count_nonzero(~self.fixed)), most) - max(sizes)
        found = beam(expansion.quadratic, starts, self.fixed, room=room, width=WIDTH, stop=stop)
        self.grown = [self.pool[inside] for inside in found]
        return self.grown

    def restart(self, count: int, seed: int, stop: Callable[[], bool]) -> None:
        """Improve perturbed supports, where a descent from them leads below the incumbent."""
        for support in self._perturbed(count, seed, stop):
            if stop():
                return
            limit = self.incumbent.value
            found = self.models([support], limit)[0]
            if found is not None and found.value < limit:
                self.improve(support, stop)

    def _perturbed(self, count: int, seed: int, stop: Callable[[], bool]) -> Iterator[Index]:
        """Where descents end that start from half of the incumbent of the moment, in its quadratic.

        The other half of its features, at random, is exchanged for others of the pool: descents
        that start nearer mostly lead back.
        """
        rng, last = np.random.default_rng(seed), None
        for _ in range(count):
            if self.incumbent is not last:
                last, support = self.incumbent, self.support(self.incumbent)
                chosen = support[self.program.free[support]]
                others = np.setdiff1d(self.pool[~self.fixed], chosen)
                changed = min(max(1, len(chosen) // 2), len(others))
            if len(chosen) == 0 or changed == 0:
                return
            kept = rng.permutation(chosen)[: len(chosen) - changed]
            start = np.concatenate((kept, rng.choice(others, changed, replace=False)))
            start = self._with_always(self.program.groups.whole(np.sort(start)))
            end = self._descend(self._around(self.incumbent), start, stop)
            if end is not None:
                yield end

    def _room(self, support: Index) -> int:
        """How many features may be added to a support."""
        program = self.program
        counted = int(np.count_nonzero(program.free[support]))
        return len(self.pool) if program.k is None else program.k - counted

    def _descend(
        self, expansion: Expansion, support: Index, stop: Callable[[], bool]
    ) -> Index | None:
        """Where a descent ends; None where it joins an earlier one in the same quadratic."""
        quadratic = expansion.quadratic
        inside, room = np.searchsorted(self.pool, support), self._room(support)
        visited = self._visited if self.exact else None
        end = descend(quadratic, inside, self.fixed, room=room, stop=stop, visited=visited)
        return None if end is None else self.pool[end]

    def _step(self, model: Model, stop: Callable[[], bool]) -> Model | None:
        """A better model: the end of a descent in the quadratic, else a neighbour; or None."""
        expansion, support = self._around(model), self.support(model)
        threshold = model.value - 1e-13 * abs(model.value)
        end = self._descend(expansion, support, stop)
        tried: list[list[Index]] = [] if end is None else [[end]]
        for some in itertools.chain(tried, self._neighbours(expansion, support)):
            if stop():
                return None
            for other in self.models(some, threshold):
                if other is not None and other.value < threshold:
                    return other
        return None

    def _neighbours(self, expansion: Expansion, support: Index) -> Iterator[list[Index]]:
        """The most promising supports one move away: together where drafts are made."""
        inside = np.searchsorted(self.pool, support)
        room = self._room(support)
        found = moves(expansion.quadratic, inside, self.fixed, room=room, most=TRIES)
        groups = expansion.quadratic.groups
        supports = [self.pool[after(inside, move, groups)] for move in found]
        many = TRIES if draftable(self.program) else 1
        for i in range(0, len(supports), many):
            yield supports[i : i + many]
