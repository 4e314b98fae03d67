"""Models for non-convex losses: local optima from many starts.

A start is a vector of predictions. Around it the loss is a quadratic that majorizes it, reweighted
least squares on the pool; the beam search chooses supports in that, a local refit decides, and its
predictions are the next start, while that helps. Starts are the relaxation, sparse models of convex
surrogates (Huber's loss, with a small delta nearly least absolute deviations; the logistic loss),
predictions of the same with random rows left out, and at random. The best ends are then improved by
exchanges, each refitted from the predictions of the best model so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.fitting import Model, local_refit
from sparsebounds.fitting import best as least
from sparsebounds.losses import NonConvexLoss
from sparsebounds.models.beam import beam
from sparsebounds.models.improvement import WIDTH
from sparsebounds.models.search import Search, pool_of
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, relaxation_of

REWEIGHTINGS = 8
"""Rounds of beam search and refit from one start."""

RANDOM = 4
"""Random starts."""

GROWN = 2
"""Supports of each beam search that are refitted."""


class LocalSearch(Search):
    """Search over supports and starts, for a program with a non-convex loss."""

    def __init__(self, program: Program, relaxed: Relaxation, deadline: Deadline = NEVER) -> None:
        loss = program.loss
        assert isinstance(loss, NonConvexLoss)
        self._surrogates, last = [], relaxed
        for convex in loss.surrogates():
            if last.interrupted or deadline.late(scan=2):
                break
            posed = program.with_loss(convex)
            last = relaxation_of(posed, 1e-4, time_limit=deadline)
            self._surrogates.append((posed, last))
        self._near: list[Vector] = []
        super().__init__(program, relaxed, deadline=deadline)
        self.interrupted = last.interrupted
        pools = [pool_of(posed, found) for posed, found in self._surrogates]
        if not pools and not deadline.late(scan=4):
            pools.append(self._strongest())
        self._widen(np.concatenate([self.pool, *pools]))

    def run(self, goal: float = -np.inf) -> Model:
        """As that of `Search`; from the relaxation alone where Ctrl-C has ended that."""
        with self._until(goal) as enough:
            ends: list[Model] = []
            for z in self._predictions(enough):
                if enough() or (ends and self.interrupted):
                    break
                ends.append(self.reweighted(z, enough))
            ends.sort(key=lambda model: model.value)
            for model in [] if self.interrupted else ends[:2]:
                self._near = [self.image(model.w, model.b)]
                self.improve(self.support(model), enough)
        return self.incumbent

    def refined(self, w: Vector, b: float) -> Model:
        """The best model once another point was a start as well."""
        with self._until(-np.inf) as enough:
            if not enough():
                self._widen(np.flatnonzero(w))
                self.reweighted(self.image(w, b), enough)
        return self.incumbent

    def reweighted(self, z: Vector, stop: Callable[[], bool]) -> Model:
        """Beam search in the quadratic at z, refits from z, and again from the best of them."""
        program, best = self.program, None
        start = np.searchsorted(self.pool, np.flatnonzero(program.always))
        room = int(np.count_nonzero(~self.fixed))
        if program.k is not None:
            room = min(room, program.k)
        eta = float("nan")
        for _ in range(REWEIGHTINGS):
            quadratic = self._expanded(z, eta).quadratic
            grown = beam(quadratic, [start], self.fixed, room=min(room, 50), width=WIDTH, stop=stop)
            self._near = [z]
            found = least(self._fresh(self.pool[inside]) for inside in grown[:GROWN])
            if best is not None and not found.value < best.value - 1e-9 * abs(best.value):
                break
            best, z, eta = found, self.image(found.w, found.b), found.eta
            if stop():
                break
        assert best is not None
        return best

    def _fresh(self, support: Index) -> Model:
        """A refit from the present start, whatever was found on this support before."""
        found, known = self._refit(support), self._seen.get(self._key(support))
        worse = known is not None and known.value <= found.value
        return found if worse else self._keep(support, found)

    def _refit(self, support: Index, near: Model | None = None) -> Model:
        support = np.union1d(support, self._always).astype(np.int64)
        columns = self._columns.raw(np.searchsorted(self.pool, support))
        return local_refit(self.program, support, columns, self._near)

    def _predictions(self, stop: Callable[[], bool]) -> Iterator[Vector]:
        """Where to start from."""
        program, rng = self.program, np.random.default_rng(0)
        loss = program.loss
        assert isinstance(loss, NonConvexLoss)
        yield self.image(self.relaxed.w, self.relaxed.b)
        fits: list[tuple[Vector, float]] = [(r.w, r.b) for _, r in self._surrogates]
        for posed, found in self._surrogates:
            if stop():
                return
            model = Search(posed, found, deadline=self.deadline).run()
            fits.append((model.w, model.b))
        for w, b in fits:
            yield self.image(w, b)
        perfect = loss.perfect(program.y)
        if program.offset is not None:
            perfect = perfect - program.offset
        yield perfect
        if not loss.intercept:
            yield from self._spectral(perfect, rng)
            return
        for _ in range(RANDOM):
            # A perfect fit to half of the rows and the null model elsewhere.
            half = rng.random(program.n) < 0.5
            yield np.where(half, perfect, program.null_intercept)

    def _spectral(self, perfect: Vector, rng: np.random.Generator) -> Iterator[Vector]:
        """For even losses: leading directions of X^T diag(y) X on the pool, and random ones."""
        A, p = self._columns.raw(np.arange(len(self.pool))), self.program.F.p
        weight = p * np.minimum(perfect**2, 9.0 * float(p @ perfect**2))
        size = float(np.sqrt(np.sum(perfect**2)))
        strength = np.einsum("ij,ij,i->j", A, A, weight) / (p @ A**2 + 1e-300)
        few = np.argsort(-strength)[: max(2 * (self.program.k or 10), 10)]
        vectors = np.linalg.eigh(A[:, few].T @ (A[:, few] * weight[:, None]))[1]
        directions = [A[:, few] @ vectors[:, -i] for i in range(1, min(3, len(few)) + 1)]
        directions += [A[:, few] @ rng.normal(size=len(few)) for _ in range(3 * RANDOM)]
        for z in directions:
            yield z * (size / max(float(np.sqrt(z @ z)), 1e-300))

    def _strongest(self) -> Index:
        """Columns whose squares go with the response's: for losses that have no surrogate."""
        program = self.program
        size = program.F.p * np.abs(program.y)
        size = size / max(float(np.sum(size)), 1e-300)
        weighted, plain = (
            mean**2 + spread for mean, spread in map(program.matrix.moments, (size, program.F.p))
        )
        score = np.where(program.free, weighted / (plain + 1e-300), 0.0)
        return np.sort(np.argsort(-score, kind="stable")[:150])

    def _widen(self, pool: Index) -> None:
        """Go on with a larger pool; only what is new in it is read."""
        self._work_on(np.union1d(pool, self.pool))
