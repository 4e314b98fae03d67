"""One problem: our model, timed, and what a peer's models are worth."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common.peers.base import REPEATS, ModelPeer
from benchmarks.common.problems import Problem
from benchmarks.common.timing import best_run
from benchmarks.common.worker import WorkerError
from benchmarks.models.rows import Attempt, ModelRow
from sparsebounds import certify, relax
from sparsebounds.models import refit


def ours(name: str, problem: Problem) -> ModelRow:
    """`solve`, timed in full."""
    seconds, found = best_run(problem.solve, REPEATS)
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
        supports = {tuple(np.flatnonzero(coef)) for coef in coefs}
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
        feasible = [coef for coef in found.coefs if 0 < np.count_nonzero(coef) <= problem.k]
        if feasible:
            attempt.seconds = seconds
            referee.judge(attempt, feasible, found.fitted)
        else:
            attempt.reason = "named no model with 1 to k features"
    return attempts
