"""One relaxation: ours, timed, and a peer's loosest setting that is accurate enough, timed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.common import rows
from benchmarks.common.peers.base import RelaxationPeer
from benchmarks.common.problems import Problem
from benchmarks.common.timing import best_of, product_seconds, seconds_of, timed
from benchmarks.relaxation.referee import relative_gap, relaxed_value
from sparsebounds import Program
from sparsebounds.relaxation import Relaxation, RelaxationWarning, relax

OUR_TOLERANCE, THEIR_GAP = 1e-8, 1e-6
PATIENCE = 150.0
"""Seconds after which a peer's tolerance is not tightened further."""


@dataclass
class Cell(rows.Cell):
    """A peer's relaxation."""

    gap: float = math.nan
    """By our formulas, against the best dual value known."""

    tolerance: float = math.nan
    """The setting of its own that was enough."""

    inside: float = math.nan
    """Seconds in the solver alone, where a modelling layer was timed too."""

    reached: bool = False


@dataclass
class Row(rows.Row):
    """Our relaxation, and the peers'."""

    seconds: float
    """relax alone."""

    setup: float
    """Program(...): validation and column norms."""

    passes: float
    newton_steps: int
    rounds: int
    working_set: int
    gap: float
    status: str
    product: float
    """Seconds of one X^T a."""

    value: float
    dual_value: float
    """The best one known: what gaps are taken against."""

    cells: dict[str, Cell] = field(default_factory=dict)

    @property
    def products(self) -> float:
        """Our time in units of one X^T a."""
        return self.seconds / self.product


def ours(name: str, problem: Problem) -> tuple[Row, Program]:
    """relax and Program, timed apart; every run of relax has a Program of its own."""
    problem = problem.stored("F")
    setups: list[float] = []
    last: list[tuple[Program, Relaxation]] = []

    def once() -> float:
        setup, program = timed(problem.program)
        seconds, found = timed(lambda: relax(program, OUR_TOLERANCE))
        setups.append(setup)
        last[:] = [(program, found)]
        return seconds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelaxationWarning)
        relax(problem.tiny().program(), OUR_TOLERANCE)  # first imports
        seconds = best_of(once)
        sharp = relax(last[0][0], 1e-11)
    program, found = last[0]
    row = Row(
        problem=name,
        shape=problem.shape,
        seconds=seconds,
        setup=min(setups),
        passes=found.stats.full_passes,
        newton_steps=found.stats.newton_steps,
        rounds=found.stats.rounds,
        working_set=found.stats.working_set,
        gap=relative_gap(found.value, found.dual_value, program.null),
        status=found.status,
        product=product_seconds(problem),
        value=found.value,
        dual_value=max(found.dual_value, sharp.dual_value),
    )
    return row, program


def theirs(peer: RelaxationPeer, problem: Problem, program: Program, row: Row) -> Cell:
    """One peer: the fastest of its variants, or why there is none."""
    reason = peer.reason_to_skip(problem)
    if reason is not None:
        return Cell(peer.name, reason=reason)
    ready = problem.ready(peer.order)
    referee = partial(relaxed_value, problem, program)
    cells = [
        one_variant(
            variant, ready, lambda w: relative_gap(referee(w), row.dual_value, program.null)
        )
        for variant in peer.variants()
        if variant.reason_to_skip(problem) is None
    ]
    return min(cells, key=lambda cell: cell.seconds if cell.reached else math.inf)


def one_variant(peer: RelaxationPeer, ready: Problem, gap_of: Callable[[Any], float]) -> Cell:
    """Its loosest tolerance that reaches the gap, timed."""
    cell = Cell(peer.name, variant=peer.variant)
    try:
        peer.solve(ready.tiny(), peer.tolerances[0])  # compiles what compiles
    except Exception as error:
        cell.reason = f"failed on a corner of the problem: {type(error).__name__}: {error}"
        return cell
    total = 0.0
    for tolerance in peer.tolerances:
        attempt = partial(peer.solve, ready, tolerance)
        try:
            seconds, answer = timed(attempt)
        except Exception as error:
            cell.reason = f"failed at tolerance {tolerance:g}: {type(error).__name__}: {error}"
            return cell
        total += seconds
        gap = gap_of(answer.w)
        cell.seconds, cell.tolerance, cell.gap, cell.inside = seconds, tolerance, gap, answer.inside
        cell.reached = bool(gap <= THEIR_GAP)
        if cell.reached:
            cell.seconds = best_of(partial(seconds_of, attempt), seconds)
            return cell
        if total > PATIENCE:
            break
    cell.reason = f"reached only a gap of {cell.gap:.1e} ({total:.0f} s in all)"
    cell.seconds = math.nan
    return cell
