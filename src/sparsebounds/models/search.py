"""From supports to the best model found: refit, then add, drop and swap until none helps.

Candidates are tried on a pool of features (the relaxation's support and the best scores), whose
columns are read once. Around a model the loss is a quadratic on the pool (`exchange`); moves are
made in it, and a refit decides whether they helped. For the squared loss with a ridge the
quadratic is the loss, wherever it is taken: it is formed once, and one refit ends a descent.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import NEVER, Deadline, TimeUp
from sparsebounds.fitting import Model, refit
from sparsebounds.models.beam import beam
from sparsebounds.models.exchange import Quadratic, after, around, descend, moves
from sparsebounds.penalties import level_set
from sparsebounds.primalization import primalized_supports
from sparsebounds.program import Program
from sparsebounds.relaxation import FLAT, Relaxation

TRIES = 8
"""Moves refitted before a support is called locally optimal, where the quadratic is a model."""

POOL = 150
"""Features beyond the relaxation's support that the search may bring in."""

WIDEST = 500
"""Features of the relaxation's support that it may: those of the largest weights, and more where
the models are large."""

WIDTH = 10
"""Supports kept at every size of the beam search."""

GROWN = 3
"""Supports of the beam search that are improved."""

RESTARTS = 20
"""Perturbed supports from which the search starts again."""

LARGE = 50
"""Supports beyond this size are not grown by the beam, and have a quarter of the restarts; with
twice as many undecided features, primalization costs more than it finds."""


class Search:
    """Local search over supports within a pool; every support is refitted once.

    `known` are good supports of a neighbouring problem (another k or l0) on the same data, best
    first. The beam then goes on from them, and there are fewer restarts: they were made there.
    """

    def __init__(
        self,
        program: Program,
        relaxed: Relaxation,
        known: Sequence[Index] = (),
        deadline: Deadline = NEVER,
    ) -> None:
        self.program, self.relaxed, self.known = program, relaxed, list(known)
        self.deadline = deadline
        pool = np.union1d(pool_of(program, relaxed), np.flatnonzero(program.always))
        self.pool = np.unique(np.concatenate((pool, *self.known))).astype(np.int64)
        self.fixed = ~program.free[self.pool]
        self._columns = program.matrix.gathered(self.pool)
        self._seen: dict[tuple[int, ...], Model] = {}
        self._local: set[tuple[int, ...]] = set()
        self._visited: set[bytes] = set()
        self._last: tuple[Model, Quadratic] | None = None
        self.grown: list[Index] = []
        """The beam's supports, best first: `known` for a neighbour."""

        self.interrupted = False
        """Whether Ctrl-C has ended a part of it."""

        self.incumbent = self.model(np.flatnonzero(program.always))

    @property
    def refitted(self) -> int:
        """Supports refitted so far."""
        return len(self._seen)

    @property
    def exact(self) -> bool:
        """Whether the quadratic is the objective itself, wherever it is taken."""
        program = self.program
        squared = program.loss.name == "squared" and program.ball is None
        return squared and not program.positive.any()

    def run(self, goal: float = -np.inf) -> Model:
        """The best local optimum from the relaxation, the beam and perturbations of the best.

        Ends early at a value of at most `goal`. Ctrl-C returns the best so far.
        """
        with self._until(goal) as enough:
            for start in self._starts(enough):
                if enough():
                    break
                self.improve(start, enough)
            for support in self._perturbed(enough):
                if enough():
                    break
                before = self.incumbent.value
                if self.model(support).value < before:
                    self.improve(support, enough)
        return self.incumbent

    def quick(self, goal: float = -np.inf) -> Model:
        """The best local optimum from the relaxation's largest features; ends as `run` does.

        In the k forms from the beam too: with a size to keep, descents are stuck more often.
        """
        with self._until(goal) as enough:
            starts: Iterator[Index] = iter(candidate_supports(self.program, self.relaxed))
            if self.program.k is not None:
                starts = itertools.chain(starts, self._grown(enough))
            for start in starts:
                if enough():
                    break
                self.improve(start, enough)
        return self.incumbent

    @contextlib.contextmanager
    def _until(self, goal: float) -> Iterator[Callable[[], bool]]:
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
                self.model(start)

    def improve(self, support: Index, stop: Callable[[], bool] = lambda: False) -> None:
        """Go from a support to a local optimum, or to where an earlier descent came by."""
        if self.exact:
            end = self._descend(self._around(self.incumbent), support, stop)
            if end is not None:
                self.model(end)
            return
        model: Model | None = self.model(support)
        while model is not None and not stop():
            key = tuple(model.support.tolist())
            if key in self._local:
                return
            self._local.add(key)
            model = self._step(model, stop)

    def shrunk(self, model: Model, count: int) -> Index:
        """The support with `count` free features less: those of least loss dropped, then swaps."""
        quadratic, inside = self._around(model), np.searchsorted(self.pool, model.support)
        for _ in range(count):
            here = around(quadratic, inside, self.fixed)
            loss = np.where(self.fixed[inside], np.inf, here.x**2 / here.spread)
            inside = np.delete(inside, np.argmin(loss))
        end = descend(quadratic, inside, self.fixed, room=0)
        return self.pool[inside if end is None else end]

    def model(self, support: Index, near: Model | None = None) -> Model:
        """The refit of a support of pool features, from a model near it where there is one."""
        key = tuple(np.union1d(support, np.flatnonzero(self.program.always)).tolist())
        if key not in self._seen:
            chosen = np.array(key, dtype=np.int64)
            places = np.searchsorted(self.pool, chosen)
            found = self._refit(chosen, self._columns.columns(places), near)
            self._seen[key] = found
            if len(self._seen) == 1 or found.value < self.incumbent.value:
                self.incumbent = found
        return self._seen[key]

    def _refit(self, support: Index, columns: Vector, near: Model | None = None) -> Model:
        return refit(self.program, support, columns, near)

    def _starts(self, stop: Callable[[], bool]) -> Iterator[Index]:
        """What is known and what the relaxation suggests; then the best of a beam search."""
        program, relaxed = self.program, self.relaxed
        yield from self.known[:1]
        yield from candidate_supports(program, relaxed)
        if np.count_nonzero((relaxed.u > 0.0) & (relaxed.u < 1.0)) <= 2 * LARGE:
            yield from primalized_supports(program, relaxed)
        yield from self._grown(stop)

    def _grown(self, stop: Callable[[], bool]) -> Iterator[Index]:
        """The best of a beam search in the relaxation's quadratic."""
        program, relaxed = self.program, self.relaxed
        likely = float(np.sum(relaxed.u[program.free])) if program.k is None else program.k
        if likely > LARGE:
            return
        always = np.flatnonzero(program.always)
        supports = [np.union1d(support, always) for support in self.known] or [always]
        size = max(map(len, supports))
        starts = [np.searchsorted(self.pool, one) for one in supports if len(one) == size]
        room = min(int(np.count_nonzero(~self.fixed)), program.k or LARGE) - size + len(always)
        quadratic = (
            self._around(self.incumbent)
            if self.exact
            else self._quadratic(relaxed.w, relaxed.b, relaxed.eta)
        )
        beams = beam(quadratic, starts, self.fixed, room=room, width=WIDTH, stop=stop)
        self.grown = [self.pool[inside] for inside in beams]
        yield from self.grown[:GROWN]

    def _perturbed(self, stop: Callable[[], bool]) -> Iterator[Index]:
        """Where descents end that start near the incumbent of the moment, in its quadratic.

        Some of its features, at random (seeded), are exchanged for others of the pool. Neighbours
        on a path draw differently, as they hand on what they find.
        """
        program = self.program
        rng = np.random.default_rng(len(self.known[0]) if self.known else 0)
        large = np.count_nonzero(self.incumbent.w) > LARGE
        for _ in range(RESTARTS // 4 if large or self.known else RESTARTS):
            support = self.incumbent.support
            chosen = support[program.free[support]]
            others = np.setdiff1d(self.pool[~self.fixed], chosen)
            most = min(max(1, len(chosen) // 2), len(others))
            if len(chosen) == 0 or most == 0:
                return
            count = int(rng.integers(1, most + 1))
            kept = rng.permutation(chosen)[: len(chosen) - count]
            start = np.concatenate((kept, rng.choice(others, count, replace=False)))
            start = np.union1d(start, support[~program.free[support]])
            end = self._descend(self._around(self.incumbent), start, stop)
            if end is not None:
                yield end

    def _room(self, support: Index) -> int:
        """How many features may be added to a support."""
        program = self.program
        counted = int(np.count_nonzero(program.free[support]))
        return len(self.pool) if program.k is None else program.k - counted

    def _descend(
        self, quadratic: Quadratic, support: Index, stop: Callable[[], bool]
    ) -> Index | None:
        """Where a descent ends; None where it joins an earlier one in the same quadratic."""
        inside, room = np.searchsorted(self.pool, support), self._room(support)
        visited = self._visited if self.exact else None
        end = descend(quadratic, inside, self.fixed, room=room, stop=stop, visited=visited)
        return None if end is None else self.pool[end]

    def _step(self, model: Model, stop: Callable[[], bool]) -> Model | None:
        """A better model: the end of a descent in the quadratic, else a neighbour; or None."""
        quadratic, support = self._around(model), model.support
        threshold = model.value - 1e-13 * abs(model.value)
        end = self._descend(quadratic, support, stop)
        other = model if end is None else self.model(end, model)
        if other.value < threshold:
            return other
        inside = np.searchsorted(self.pool, support)
        room = self._room(support)
        for move in moves(quadratic, inside, self.fixed, room=room, most=TRIES):
            if stop():
                return None
            other = self.model(self.pool[after(inside, move)], model)
            if other.value < threshold:
                return other
        return None

    def _around(self, model: Model) -> Quadratic:
        """The quadratic around a model; the last one is kept."""
        if self._last is None or not (self.exact or self._last[0] is model):
            self._last = model, self._quadratic(model.w, model.b, model.eta)
        return self._last[1]

    def _quadratic(self, w: Vector, b: float, eta: float) -> Quadratic:
        """The loss around (w, b), on the pool, with the intercept eliminated."""
        return self._quadratic_at(self._columns.product(w[self.pool]) + b, b, eta)

    @np.errstate(all="ignore")
    def _quadratic_at(self, z: Vector, b: float, eta: float) -> Quadratic:
        """The same at predictions z, of which b is the intercept."""
        size = float(self._columns.entries) * self._columns.shape[1]
        self.deadline.require(product=size)
        with self.deadline.timed("product", size):
            return self._formed(z, b, eta)

    def _formed(self, z: Vector, b: float, eta: float) -> Quadratic:
        program, A = self.program, self._columns
        most = 1.0 if np.isnan(program.loss.smoothness) else program.loss.smoothness
        bend = np.maximum(program.F.curvature(z), FLAT * most * program.F.p)
        a = program.F.gradient(z)
        if program.fit_intercept:
            # Centred before they are multiplied: a mean of 1e8 would drown what matters.
            A = A.centred(bend / bend.sum())
        hessian = A.gram(bend)
        linear = A.scores(bend * (z - b) - a)
        ridge = program.ridges[self.pool] if program.ball is None else np.full(len(self.pool), eta)
        prices, positive = program.prices[self.pool], program.positive[self.pool]
        return Quadratic(hessian, linear, ridge, prices, positive).in_units()


def pool_of(program: Program, relaxed: Relaxation) -> Index:
    """The relaxation's support and the free features with the best scores."""
    support = np.flatnonzero(relaxed.w)
    likely = float(np.sum(relaxed.u)) if program.k is None else program.k
    most = WIDEST + 4 * int(likely)
    if len(support) > most:
        support = support[np.argsort(-relaxed.u[support], kind="stable")[:most]]
    score = np.where(program.free, relaxed.point.reach, 0.0)
    if program.ball is None:
        score = score / np.sqrt(program.ridges)
    count = POOL + 2 * (program.k or 0)
    strong = np.flatnonzero(level_set(score, count)[0])
    best = strong[np.argsort(-score[strong], kind="stable")[:count]]
    return np.union1d(support, best).astype(np.int64)


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
