"""Branch and bound on a program: from its relaxation and a model to the best model, and a proof."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebounds._array import Index, Vector
from sparsebounds.bounds.forcing import forced_bounds
from sparsebounds.certificates.tree import Tree, tree_bound
from sparsebounds.exact.ball import BallBounder
from sparsebounds.exact.bounder import Bounder
from sparsebounds.exact.checkpoint import Checkpoint, SearchState
from sparsebounds.exact.dial import Outlook
from sparsebounds.exact.ridge import RidgeBounder
from sparsebounds.exact.search import BranchAndBound, SearchProgress
from sparsebounds.exact.shift import Shifter
from sparsebounds.models import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation
from sparsebounds.relaxation.smooth import GramPart

LONG = 2000
"""Nodes after which a search is a long one."""

MARGIN = 0.99
"""Part of the tolerance that the search uses: the rest is for rounding."""


@dataclass(frozen=True)
class Proof:
    """The best model found by the search, its tree, and the bound that the tree proves."""

    model: Model
    tree: Tree
    lower: float
    nodes: int
    open: int
    """Nodes left; 0 where the search is done."""

    newton_steps: int
    outlook: Outlook


class ExactSearch:
    """The search on the features that the relaxation leaves in doubt, or one taken up again."""

    def __init__(
        self,
        program: Program,
        relaxed: Relaxation,
        model: Model,
        tol: float,
        saved: SearchState | None = None,
    ) -> None:
        self.program = program
        self.removal = relaxed.point.t if saved is None else saved.tree.removal
        self.kept = self._in_doubt(relaxed, model) if saved is None else saved.tree.kept
        self.reduced = program.restricted(self.kept)
        price = self._price(relaxed, model) if saved is None else saved.price
        bounder: Bounder
        self._shifter: Shifter | None = None
        if program.ball is None:
            bounder = RidgeBounder(self.reduced, price)
            self._shifter = bounder.shifter
        else:
            bounder = BallBounder(self.reduced, price)

        def slack(upper: float) -> float:
            return MARGIN * tol * max(abs(upper), abs(program.null), program.rounding)

        best = Model(model.value, model.w[self.kept], model.b, model.eta)
        best = best if saved is None else saved.model
        self.search = BranchAndBound(self.reduced, bounder, best, slack)
        if saved is not None:
            self.search.resume(saved)
            self._offer(model)
            if self._shifter is not None:
                self._shifter.failures = saved.failures
            return
        state = np.zeros((1, self.reduced.m), dtype=np.int8)
        state[:, self.reduced.always] = 1
        start, b = relaxed.w[self.kept][None], np.array([relaxed.b])
        self.search.start(bounder.bound(state, start, b, self.search.cutoff, model.value))

    def run(
        self,
        stop: Callable[[], bool],
        node_limit: float = np.inf,
        report: Callable[[SearchProgress], None] | None = None,
        checkpoint: Checkpoint | None = None,
        better: Callable[[], Model] | None = None,
    ) -> Proof:
        """Search until done or stopped; Ctrl-C stops it. The proof holds wherever it stops.

        `better` is asked for a model, once, when the search turns out to be a long one.
        """

        def batch_done(now: SearchProgress) -> None:
            if checkpoint is not None and checkpoint.due():
                checkpoint.save(self.state())
            if report is not None:
                report(now)

        with contextlib.suppress(KeyboardInterrupt):
            self.search.run(stop, min(node_limit, LONG), batch_done)
            if better is not None and len(self.search.places) and not stop():
                self._offer(better())
            self.search.run(stop, node_limit, batch_done)
        if checkpoint is not None:
            checkpoint.save(self.state())
        return self.proof()

    def _offer(self, model: Model) -> None:
        """Take a model over if it is better and has no feature that is proved out."""
        if model.value < self.search.incumbent.value and np.isin(model.support, self.kept).all():
            self.search.incumbent = Model(model.value, model.w[self.kept], model.b, model.eta)

    def state(self) -> SearchState:
        """What another search can go on from."""
        search = self.search
        assert search.open is not None
        return SearchState(
            tree=search.record.tree(self.kept, self.removal),
            model=search.incumbent,
            open=search.open,
            places=search.places,
            closed=search.closed,
            nodes=search.nodes,
            steps=search.bounder.steps,
            failures=0 if self._shifter is None else self._shifter.failures,
            seconds=search.seconds,
            price=search.bounder.price,
            outlook=search.outlook,
        )

    def proof(self) -> Proof:
        """What the tree proves as it stands."""
        found = self.search.incumbent
        model = Model(found.value, self._whole(found.w), found.b, found.eta)
        tree = self.search.record.tree(self.kept, self.removal)
        smooth = self.search.bounder.smooth
        gram = smooth.gram if isinstance(smooth, GramPart) else None
        lower = tree_bound(self.program, tree, gram)
        return Proof(
            model=model,
            tree=tree,
            lower=lower,
            nodes=self.search.nodes,
            open=len(self.search.places),
            newton_steps=self.search.bounder.steps,
            outlook=self.search.outlook,
        )

    def _in_doubt(self, relaxed: Relaxation, model: Model) -> Index:
        """The features whose removal the relaxation does not prove."""
        program = self.program
        forced = forced_bounds(program, relaxed.point)
        out = np.zeros(program.m, dtype=np.bool_)
        out[forced.features[forced.inside > model.value]] = True
        if out[~program.never].all():
            # A tree of no feature at all would have no matrix: one stays.
            out[np.flatnonzero(program.free)[:1]] = False
        return np.flatnonzero(~(out | program.never))

    def _whole(self, w: Vector) -> Vector:
        whole = np.zeros(self.program.m)
        whole[self.kept] = w
        return whole

    def _price(self, relaxed: Relaxation, model: Model) -> float:
        """About what one more feature costs: l0, or the multiplier of k."""
        free = self.program.prices[self.program.free]
        price = float(np.median(free)) if self.program.l0 is not None and len(free) else np.nan
        price = relaxed.l0_multiplier if np.isnan(price) else price
        gap = max(model.value - relaxed.lower, 0.0)
        return price if price > 0.0 and np.isfinite(price) else max(gap, 1e-300)
