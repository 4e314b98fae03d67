"""Branch and bound on a program: from its relaxation and a model to the best model, and a proof."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import NEVER, Deadline, TimeUp
from sparsebounds._support.validate import Exact
from sparsebounds.certificates import Tree, based, nodes_bound, removal_bound, tree_bound
from sparsebounds.exact.checkpoint import Checkpoint, SearchState
from sparsebounds.exact.difficulty import Outlook
from sparsebounds.exact.engine import MARGIN, cutoff_below
from sparsebounds.exact.minimization import Minimization, SearchProgress
from sparsebounds.exact.reduction import (
    LARGE,
    Reduction,
    bounder_of,
    features_left,
    few,
    outward,
    require_time,
)
from sparsebounds.exact.ridge import ROOM
from sparsebounds.models import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation

EFFORT = 2e9
"""Operations that exact="auto" spends on a search, about. They are counted and not timed, so that
answers do not depend on the machine."""

BEGIN = 1e9
"""Products that exact="auto" may take to begin a search."""

TRYING = 5e9
"""Those for one that ends at once, as all supports are tried: for most tables half a second."""

LONG = 2000
"""Nodes after which a search is a long one."""

STEADY = 0.2
"""The part of the gap that a search must close in its first quarter, to go on."""

GROUPED, AHEAD = 0.5, 0.05
"""With groups: the part of EFFORT that a search may take, of which it has earned as large a share
as it has closed of the root's gap, and this much more to begin with."""

SAMPLE = 256
"""Nodes that are enough to tell how long it takes to prove one."""


class TooLarge(TimeUp):
    """A search that "auto" does not begin, for want of budget."""

    def __init__(self, count: int) -> None:
        self.count = count
        """The features that are left to it."""


@dataclass(frozen=True)
class Proof:
    """The best model found by the search, its tree, and the bound that it may claim."""

    model: Model
    tree: Tree
    lower: float
    nodes: int
    open: int
    """Nodes left; 0 where the search is done."""

    newton_steps: int
    outlook: Outlook


def proof_of(
    program: Program, state: SearchState, other: Model | None, lower: float | None = None
) -> Proof:
    """What a search proves as it stands, and its best model, or `other` if that is better.

    `lower` is the bound that its tree may claim; it is evaluated where it is not at hand.
    """
    if lower is None:
        with np.errstate(all="ignore"):
            lower = tree_bound(program, state.tree, claim=True)
    model = outward(program, state.tree, state.model)
    return Proof(
        model=model if other is None or model.value <= other.value else other,
        tree=state.tree,
        lower=lower,
        nodes=state.nodes,
        open=len(state.places),
        newton_steps=state.memory[0],
        outlook=state.outlook,
    )


class ExactSearch:
    """The search on the features that the relaxation leaves in doubt, or one taken up again."""

    def __init__(
        self,
        program: Program,
        relaxed: Relaxation,
        model: Model,
        tol: float,
        saved: SearchState | None = None,
        deadline: Deadline = NEVER,
        exact: Exact = True,
    ) -> None:
        """TimeUp where there is no time for a first node; TooLarge where "auto" begins none."""
        self.program, self.deadline = program, deadline
        self._tried = 0
        """Nodes whose proof has been timed."""

        if saved is None:
            if exact is not True and relaxed.status != "optimal":
                raise TimeUp
            if exact is not True and program.matrix.entries > LARGE:
                raise TooLarge(program.m)
            kept = features_left(program, relaxed.point, model.value)
            require_time(program, len(kept), deadline)
            if exact is not True and not self._small(kept):
                raise TooLarge(len(kept))
            fine = MARGIN * tol * program.size(model.value)
            self.reduction = Reduction.at(program, kept, relaxed.point.t, model, 0.1 * fine)
        else:
            require_time(program, len(saved.tree.kept), deadline)
            self.reduction = Reduction.of(program, saved.tree)
        reduced, base = self.reduction.program, self.reduction.base
        price = self._price(relaxed, model) if saved is None else saved.price
        bounder = bounder_of(reduced, price, deadline.before(scan=2))
        best = self.reduction.inward(model) if saved is None else saved.model
        self.search = Minimization(reduced, best, cutoff_below(program, tol, base), bounder)
        if exact is not True:
            bounder.allowed, bounder.space = self._node, ROOM
        if saved is not None:
            self.search.resume(saved)
            self._offer(model)
            return
        with np.errstate(all="ignore"):
            start = relaxed.w[self.reduction.kept]
            self.search.start(start, relaxed.b if reduced.fit_intercept else 0.0)

    def run(
        self,
        stop: Callable[[], bool] = lambda: False,
        node_limit: float = np.inf,
        report: Callable[[SearchProgress], None] | None = None,
        checkpoint: Checkpoint | None = None,
        better: Callable[[], Model] | None = None,
        half: Callable[[], bool] = lambda: False,
    ) -> Proof:
        """Search until done, stopped, or in time for the proof; Ctrl-C stops it.

        The proof holds wherever it stops.

        `better` is asked for a model once. After LONG nodes the search goes on from that model.
        When the search is `half` over or stopped before, the model only competes for the answer,
        so that the nodes do not depend on time.
        """

        def batch_done(now: SearchProgress) -> None:
            if checkpoint is not None and checkpoint.due():
                self._save(checkpoint)
            if report is not None:
                base = self.reduction.base
                report(replace(now, lower=now.lower + base, upper=now.upper + base))

        def late() -> bool:
            self._try_proof()
            self.search.bounder.deadline = self._in_time(checkpoint)
            return self.search.bounder.deadline.late() or stop()

        def full(limit: float) -> bool:
            return self.search.nodes >= limit

        other: Model | None = None
        with contextlib.suppress(KeyboardInterrupt), np.errstate(all="ignore"):
            self.search.run(lambda: late() or half() or full(min(node_limit, LONG)), batch_done)
            if better is not None and self.search.left and not late():
                other = better()
                if self.search.nodes >= LONG:
                    self._offer(other)
            self.search.run(lambda: late() or full(node_limit), batch_done)
        if checkpoint is not None:
            self._save(checkpoint)
        try:
            return self.proof(other)
        except KeyboardInterrupt:
            return proof_of(self.program, self.state(), other, -np.inf)

    def _small(self, kept: Index) -> bool:
        """Whether a search on these features is one that "auto" begins."""
        products = float(self.program.n) * len(kept) ** 2
        return products <= (TRYING if few(self.program, kept) else BEGIN)

    def spent(self, budget: float) -> bool:
        """Whether a budget is used up, or a quarter has closed less than STEADY of the root's gap.

        With groups: whether a larger share of it is used up than the search has earned. Supports
        that are tried count as the nodes that would have taken as long.
        """
        search, taken = self.search, float(self.search.nodes)
        if not search.program.groups.single:
            taken += search.bounder.trying / self._node
            return taken >= budget * min(AHEAD + search.outlook.closed, 1.0)
        stuck = search.gap > (1.0 - STEADY) * search.root_gap
        return taken >= budget or (taken >= 0.25 * budget and stuck)

    def budget(self, exact: Exact, effort: float = 1.0) -> float:
        """The nodes that a search of this kind may take: no limit, or about EFFORT operations.

        `effort` is the part of these that it may take.
        """
        if exact is True:
            return math.inf
        share = 1.0 if self.search.program.groups.single else GROUPED
        return max(1.0, share * effort * EFFORT // self._node)

    @property
    def _node(self) -> float:
        """Operations that a node takes, about."""
        program = self.search.program
        m, squared = float(program.m), program.loss.name == "squared"
        # Some steps of Newton's method, on a Gram matrix or on all rows.
        if not program.groups.single:
            return 1e6 + 20.0 * (m if squared else program.n) * m
        return 1e6 + (10.0 * m + (0.0 if squared else 20.0 * program.n)) * m

    def _offer(self, model: Model) -> None:
        """Take a model over if it is better and has no feature that is proved out."""
        better = model.value < self.search.incumbent.value + self.reduction.base
        if better and np.isin(model.support, self.reduction.kept).all():
            self.search.incumbent = self.reduction.inward(model)

    def state(self) -> SearchState:
        """What another search can go on from."""
        search = self.search
        assert search.open is not None
        return SearchState(
            tree=self._tree(),
            model=search.incumbent,
            open=search.open.nodes,
            places=search.open.places,
            closed=search.closed,
            nodes=search.nodes,
            memory=search.bounder.memory,
            seconds=search.seconds,
            price=search.bounder.price,
            outlook=search.outlook,
        )

    def proof(self, other: Model | None = None) -> Proof:
        """What the tree proves as it stands, and the best model, or `other` if that is better."""
        state = self.state()
        with np.errstate(all="ignore"):
            removal = removal_bound(self.program, state.tree, claim=True)
            lower = min(removal, based(self.reduction.base, self._nodes_bound(state.tree)))
        return proof_of(self.program, state, other, lower)

    def _tree(self, splits: int | None = None) -> Tree:
        tree = self.search.record.tree(self.reduction.kept, self.reduction.removal, splits)
        return replace(tree, minorant=self.reduction.minorant)

    def _nodes_bound(self, tree: Tree) -> float:
        search = self.search
        return nodes_bound(
            search.program, search.bounder.columns, tree, search.record.proved, claim=True
        )

    def _try_proof(self) -> None:
        """Prove the first nodes, now and then, to know how long it takes to prove them all."""
        nodes, record = self.search.nodes // 4, self.search.record
        if self.deadline.limited and self._tried < SAMPLE and nodes >= 4 * self._tried:
            tree = self._tree(record.whole(nodes // 2))
            self._tried = tree.size
            with self.deadline.timed("node", tree.size):
                self._nodes_bound(tree)

    def _in_time(self, checkpoint: Checkpoint | None) -> Deadline:
        """The deadline, less what it takes to save and to prove the tree."""
        nodes = self.search.nodes
        return self.deadline.before(scan=1, node=nodes, save=0 if checkpoint is None else nodes)

    def _save(self, checkpoint: Checkpoint) -> None:
        with self.deadline.timed("save", self.search.nodes):
            checkpoint.save(self.state())

    def _price(self, relaxed: Relaxation, model: Model) -> float:
        """About what one more feature costs: l0, or the multiplier of k."""
        free = self.program.prices[self.program.free]
        price = float(np.median(free)) if self.program.l0 is not None and len(free) else np.nan
        price = relaxed.l0_multiplier if np.isnan(price) else price
        gap = max(model.value - relaxed.lower, 0.0)
        return price if price > 0.0 and np.isfinite(price) else max(gap, 1e-300)
