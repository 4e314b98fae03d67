"""One problem: our model, timed, and what a peer's models are worth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common import rows
from benchmarks.common.peers.base import REPEATS, ModelPeer
from benchmarks.common.problems import Problem
from benchmarks.common.timing import best_run
from benchmarks.common.worker import WorkerError
from sparsebounds import certify, relax
from sparsebounds.models import refit


@dataclass
class Attempt(rows.Cell):
    """A peer's model, found one way."""

    returned: float = math.nan
    """Our objective at its own coefficients; NaN where it does not know our objective."""

    value: float = math.nan
    """Our objective after our refit on its support (the better of both)."""

    nonzeros: int = 0
    rel_gap: float = math.nan
    """The certified relative gap of the refitted model, by `certify`."""


@dataclass
class ModelRow(rows.Row):
    """Our model, and the peers'."""

    loss: str
    k: int
    ridge: float
    seconds: float
    """All of `solve`: validation, relaxation, search and certificate."""

    value: float
    """Our model's objective."""

    lower: float
    relaxed: float
    """The relaxation's value."""

    rel_gap: float
    refitted: int
    """Models that the search refitted."""

    cells: dict[str, list[Attempt]] = field(default_factory=dict)
    """Every way each peer was run."""

    def cell(self, tool: str) -> Attempt:
        """The peer's best model; among equals the fastest way to it."""
        ran = [attempt for attempt in self.cells[tool] if not math.isnan(attempt.value)]
        if not ran:
            return self.cells[tool][0]
        least = min(attempt.value for attempt in ran)
        equal = [attempt for attempt in ran if attempt.value <= least + 1e-9 * abs(least)]
        return min(equal, key=lambda attempt: attempt.seconds)

    @property
    def best(self) -> Attempt | None:
        """The best model of all peers."""
        ran = [self.cell(tool) for tool in self.cells]
        ran = [attempt for attempt in ran if not math.isnan(attempt.value)]
        return min(ran, key=lambda attempt: attempt.value) if ran else None

    @property
    def excess(self) -> float:
        """How much worse ours is than the best of the others, relative to it; below 0: better."""
        best = self.best
        return math.nan if best is None else self.excess_over(best)

    def excess_over(self, attempt: Attempt) -> float:
        """The same against one of them."""
        return (self.value - attempt.value) / abs(attempt.value)


def ours(name: str, problem: Problem, repeats: int = REPEATS, **options: Any) -> ModelRow:
    """`solve`, timed in full; without a search unless `options` ask for one."""
    seconds, found = best_run(partial(problem.solve, **options), repeats)
    return ModelRow(
        problem=name,
        shape=problem.shape,
        loss=problem.loss,
        k=problem.k,
        ridge=problem.ridge,
        seconds=seconds,
        value=found.upper,
        lower=found.lower,
        relaxed=found.relaxation.value,
        rel_gap=found.rel_gap,
        refitted=found.stats.models,
    )


class Referee:
    """Our objective, our refit and our certificate for anybody's model of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.program = problem.program()
        self.relaxation = relax(self.program)

    def judge(self, attempt: Attempt, coefs: Sequence[Any], fitted: bool) -> None:
        """Fills in what the best of these models is worth."""
        program = self.program
        supports = {tuple(program.groups.whole(np.flatnonzero(coef))) for coef in coefs}
        models = [refit(program, np.array(support, dtype=np.int64)) for support in supports]
        best = min(models, key=lambda model: model.value)
        attempt.value, attempt.nonzeros = best.value, len(best.support)
        if fitted:
            attempt.returned = min(program.objective(coef) for coef in coefs)
            attempt.value = min(attempt.value, attempt.returned)
        proof = certify(program, program.to_user(best.w, best.b)[0], relaxation=self.relaxation)
        attempt.rel_gap = program.relative(proof.gap, proof.upper)


def theirs(peer: ModelPeer, problem: Problem, referee: Referee) -> list[Attempt]:
    """Every way to run one peer, or why there is none."""
    reason = peer.reason_to_skip(problem)
    if reason is not None:
        return [Attempt(peer.name, reason=reason)]
    attempts = []
    for variant in peer.variants:
        attempt = Attempt(peer.name, variant)
        attempts.append(attempt)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, found = peer.measure(problem, variant)
        except WorkerError as error:
            attempt.reason = str(error)
            continue
        except Exception as error:
            attempt.reason = f"failed: {type(error).__name__}: {error}"
            continue
        feasible = [coef for coef in found.coefs if 0 < problem.counted(coef) <= problem.k]
        if feasible:
            attempt.seconds = seconds
            referee.judge(attempt, feasible, found.fitted)
        else:
            attempt.reason = "named no model with 1 to k features or groups"
    return attempts
