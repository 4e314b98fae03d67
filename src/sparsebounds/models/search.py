"""From supports to the best model found: refit, then add, drop and swap until none helps.

Candidates are tried on a pool of features (the relaxation's support and the best scores), whose
columns are read once. Around a model the loss is a quadratic on the pool (`expansion`, `exchange`);
moves are made in it, and drafts (`fits`) decide whether they helped. For the squared loss with a
ridge the quadratic is the loss, wherever it is taken: it is formed once. The model that is returned
is refitted, and its objective rounded up.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from sparsebounds._support.array import Index, nonzeros
from sparsebounds._support.deadline import NEVER, Deadline, TimeUp
from sparsebounds.fitting import Model, on_all_rows
from sparsebounds.models.improvement import LARGE, TRIES, Improvement
from sparsebounds.models.pool import Pool, strongest
from sparsebounds.primalization import primalized_supports
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, compressed, sampled

Stop: TypeAlias = Callable[[], bool]
"""Whether to end the work."""

POOL = 150
"""Features beyond the relaxation's support that the search may bring in."""

WIDEST = 500
"""Features of the relaxation's support that it may: those of the largest weights, and more where
the models are large."""

GROWN = 3
"""Supports of the beam search that are improved."""

RESTARTS, SMALL, FOLLOWED = 4, 5, 8
"""Perturbed supports from which the search starts again, for each local optimum that it found; a
quarter of them where models of a given size have so few features that the half of them leads back
nearly always; and times as many where descents in the quadratic are all that starts there."""


class Search(Improvement):
    """Local search over supports within a pool; every support is fitted once.

    `known` are good supports of a neighbouring problem (another k or l0) on the same data, best
    first. The beam then goes on from them, and there are fewer restarts: they were made there.
    `columns` are those that neighbours have read. A tall squared loss is searched on the small
    program in its place (`relaxation.compressed`).
    """

    def __init__(
        self,
        program: Program,
        relaxed: Relaxation,
        known: Sequence[Index] = (),
        deadline: Deadline = NEVER,
        columns: Pool | None = None,
    ) -> None:
        self._given, small = program, compressed(program)
        if small is not None:
            program, relaxed, columns = small, replace(relaxed, b=0.0), None
        self.relaxed, self.known = relaxed, list(known)
        few = sampled(program)
        self._sample = None if few is None else Search(few, relaxed, known, deadline)
        pool = np.unique(np.concatenate((pool_of(program, relaxed), *self.known)))
        super().__init__(program, pool, deadline, Pool(program) if columns is None else columns)
        self.interrupted = relaxed.interrupted
        """Whether Ctrl-C has ended a part of it, or the relaxation."""

    def finished(self, model: Model) -> Model:
        found = super().finished(model)
        small = self._given.n != self.program.n
        return on_all_rows(self._given, found) if small else found

    def run(self, goal: float = -np.inf) -> Model:
        """The best local optimum from the relaxation, the beam and perturbations of the best.

        Ends early at a value of at most `goal`. Ctrl-C returns the best so far.
        """
        return self._searched(Search._explore, goal)

    def _searched(self, way: Callable[[Search, Stop], None], goal: float) -> Model:
        with self._until(goal) as enough:
            if self._sample is None:
                way(self, enough)
            else:
                self._follow(self._sample, way, enough)
        return self.finished(self.incumbent)

    def _explore(self, stop: Stop) -> None:
        """From all starts, and from perturbations of the best model."""
        for start in self._starts(stop):
            if stop():
                break
            joined = self.leads_back(start, stop) or self.improve(start, stop)
            if joined and self._last_word(start):
                return
        # Where all starts lead to one model, perturbations of it lead back.
        if self.optima > 1:
            self.restart(*self._restarts(self.optima), stop)

    def _restarts(self, optima: int) -> tuple[int, int]:
        """How many perturbed supports there are, and the seed that they are drawn with."""
        least = 0 if self.program.k is None else SMALL
        usual = least < np.count_nonzero(self.incumbent.w) <= LARGE
        # Groups are fewer than features: the beam goes through most of what is worth a try.
        fewer = not usual or self.known or not self.program.groups.single
        count = RESTARTS // 4 if fewer else RESTARTS
        # Neighbours on a path draw differently, as they hand on what they find.
        return count * optima, len(self.known[0]) if self.known else 0

    def _last_word(self, start: Index) -> bool:
        """Whether other starts are not worth it once this one led where an earlier one had led.

        So it is with groups and the best support of the beam: two ways to one model are enough.
        """
        alone = not self.known and not self.program.groups.single
        return alone and bool(self.grown) and start is self.grown[0]

    def quick(self, goal: float = -np.inf) -> Model:
        """The best local optimum from the relaxation's largest features; ends as `run` does.

        In the k forms from the beam too: with a size to keep, descents are stuck more often.
        """
        return self._searched(Search._descents, goal)

    def _descents(self, stop: Stop) -> None:
        """From the relaxation's largest features, and from the beam's."""
        starts: Iterator[Index] = iter(candidate_supports(self.program, self.relaxed))
        if self.program.k is not None:
            starts = itertools.chain(starts, self._grown(stop))
        for start in starts:
            if stop():
                break
            if not self.leads_back(start, stop):
                self.improve(start, stop)

    def _follow(self, sample: Search, way: Callable[[Search, Stop], None], stop: Stop) -> None:
        """From where a search on a sample of the rows ends, by what the quadratic suggests here.

        On all rows a support is dear, and in their quadratic around the best model it costs next to
        nothing. So descents there start from whatever there is, and of their ends, and of what is
        a move away from the best, the most promising ones are tried, in one call.
        """
        with sample._until(-np.inf):
            way(sample, self.deadline.late)
        self.near, last = sample.incumbent, None
        self.model(self.support(sample.incumbent))
        if sample.interrupted:
            raise KeyboardInterrupt
        while self.incumbent is not last and not stop():
            last = self.incumbent
            self.models(self._promising(sample, stop), last.value)

    def _promising(self, sample: Search, stop: Stop) -> list[Index]:
        """Supports of the least values in the quadratic around the best model, all of them new."""
        here = self.support(self.incumbent)
        expansion = self._around(self.incumbent)
        some = [here, *self.known, *candidate_supports(self.program, self.relaxed)]
        some += [self.support(model) for model in sample.best(GROWN)]
        if len(here) <= LARGE:
            some += self.beams(expansion, self.known, stop)
        ends = [self._descend(expansion, start, stop) for start in some]
        count, seed = self._restarts(1)
        ends += self._perturbed(FOLLOWED * count, seed, stop)
        for neighbours in self._neighbours(expansion, here):
            ends += neighbours
        new = {self._key(end): end for end in ends if end is not None}
        supports = [end for key, end in new.items() if key not in self._seen]
        value = expansion.quadratic.values([np.searchsorted(self.pool, one) for one in supports])
        return [supports[i] for i in np.argsort(value, kind="stable")[: 2 * TRIES]]

    def best(self, count: int) -> list[Model]:
        """Models of the least objectives."""
        return sorted(self._seen.values(), key=lambda model: model.value)[:count]

    @contextlib.contextmanager
    def _until(self, goal: float) -> Iterator[Stop]:
        """Whether the work is to end; Ctrl-C ends it too, and so does a quadratic too many."""
        try:
            yield lambda: self.deadline.late() or self.incumbent.value <= goal
        except KeyboardInterrupt:
            self.interrupted = True
        except TimeUp:
            # There is time for the models that the relaxation suggests, if not to improve them.
            for start in candidate_supports(self.program, self.relaxed):
                if len(start) > LARGE or self.deadline.late():
                    break
                self._keep(start, self._refit(start))

    def _starts(self, stop: Stop) -> Iterator[Index]:
        """What is known and what the relaxation suggests; then the best of a beam search."""
        program, relaxed = self.program, self.relaxed
        yield from self.known[:1]
        yield from candidate_supports(program, relaxed)
        fractional = np.count_nonzero((relaxed.u > 0.0) & (relaxed.u < 1.0))
        # It copies the tied columns several times.
        if fractional <= 2 * LARGE and not program.matrix.tall:
            yield from primalized_supports(program, relaxed)
        yield from self._grown(stop)

    def _grown(self, stop: Stop) -> Iterator[Index]:
        """The best of a beam search in the relaxation's quadratic."""
        program, relaxed = self.program, self.relaxed
        likely = float(np.sum(relaxed.u[program.free])) if program.k is None else program.k
        if likely > LARGE:
            return
        if self.exact:
            expansion = self._around(self.incumbent)
        else:
            expansion = self._expanded(self.image(relaxed.w, relaxed.b), relaxed.eta)
        yield from self.beams(expansion, self.known, stop)[:GROWN]


def pool_of(program: Program, relaxed: Relaxation) -> Index:
    """The relaxation's support and the free features with the best scores."""
    support = nonzeros(relaxed.w)
    likely = float(np.sum(relaxed.u[program.free])) if program.k is None else program.k
    most = WIDEST + 4 * int(likely)
    if len(support) > most:
        support = support[np.argsort(-relaxed.u[support], kind="stable")[:most]]
    best = strongest(program, relaxed.point.reach, POOL)
    return np.union1d(support, best).astype(np.int64)


def candidate_supports(program: Program, relaxed: Relaxation) -> list[Index]:
    """Supports the relaxation suggests: its largest u, its largest |w|, and neighbours in size."""
    groups = program.groups
    some = groups.whole(nonzeros(relaxed.w))
    size = groups.part(some).lengths(np.abs(relaxed.w[some]))
    chosen = program.free[some] & (size > 0.0)
    free, size = some[chosen], size[chosen]
    by_weight = free[np.lexsort((free, -size, -relaxed.u[free]))]
    by_size = free[np.lexsort((free, -size))]
    if program.k is not None:
        sizes = [min(program.k, len(free))]
    else:
        total = float(relaxed.u[free].sum())
        likely = int(np.count_nonzero(relaxed.u[free] > 0.5))
        sizes = sorted({likely, int(total), int(np.ceil(total)), 0} & set(range(len(free) + 1)))
    return [
        groups.whole(np.sort(order[:count])) for count in sizes for order in (by_weight, by_size)
    ]
