"""A path of a non-convex loss: `solve` at each point, from the model of the last one.

Point by point the optimum falls, along budgets as along prices: a bound at one point holds at those
before it. So every point takes the best proof of itself and of the points after it, evaluated for
its own problem, and the best of the models that it may have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sparsebounds._support.deadline import Deadline
from sparsebounds.certificates import Certificate, TreeError
from sparsebounds.paths.course import Course
from sparsebounds.paths.rows import Row
from sparsebounds.program import Program
from sparsebounds.solving import Solution, check_search, solve_nonconvex


@dataclass(eq=False)
class NonConvexWalk(Course):
    """One path of a non-convex loss."""

    def __post_init__(self) -> None:
        if self.checkpoint is not None:
            self.program.require_convex("checkpoint")
        check_search(self.program, self.exact)
        super().__post_init__()
        self.end = -math.inf
        """A bound at the end of the grid."""

    def look_ahead(self) -> None:
        last = self.posed(self.grid[-1])
        self.end = self.solved(last, self.finish.part(1.0 / (1 + len(self.grid)))).lower

    def lower(self, program: Program) -> float:
        return self.end

    def solved(self, program: Program, until: Deadline) -> Solution:
        """The solution at a point, from the last row's model."""
        known = (self.rows[-1].w, self.rows[-1].certificate.intercept) if self.rows else None
        found = solve_nonconvex(
            program,
            self.tol,
            until,
            exact=self.exact,
            node_limit=self.most_nodes,
            callback=self.callback,
            known=known,
        )
        self.steps += found.stats.newton_steps
        self.interrupted |= found.stats.interrupted
        return found

    def step(self, value: float) -> None:
        program = self.posed(value)
        until = self.finish.part(1.0 / (len(self.grid) - len(self.rows)))
        found = self.solved(program, until)
        self.cut |= self.finish.late()
        row = Row(
            program,
            found.certificate,
            found.support,
            found.coef[found.support],
            found.intercept,
            found.upper - float(np.sum(program.prices[program.counted(found.support)])),
            dual=np.zeros(0),
            fixed_in=found.fixed_in,
            outliers=found.outliers,
            nodes=found.stats.nodes,
            seconds=found.stats.seconds,
        )
        self.rows.append(_with_model(row, self.rows[-1:]))
        self.report(self.rows[-1], value)

    def finished(self) -> list[Row]:
        rows = self.rows[:]
        if self.by_price:
            rows = [_with_model(row, rows) for row in rows]
        for i in range(len(rows) - 2, -1, -1):
            rows[i] = _with_proof(rows[i], rows[i + 1].certificate)
        return rows


def _with_model(row: Row, others: list[Row]) -> Row:
    """The row with another one's model, where that is better here.

    A bound rests on boxes that the model's value justifies.
    """
    better = row.or_better(others)
    if better is row:
        return row
    return replace(better, certificate=_evaluated(better, row.certificate))


def _with_proof(row: Row, later: Certificate) -> Row:
    """The row with the proof of the point after it, where that proves more here."""
    if later.lower <= row.certificate.lower:
        return row
    try:
        other = _evaluated(row, later)
    except TreeError:
        # Spans of rows that were proved there need not be proved here: intercepts range wider.
        return row
    return replace(row, certificate=max(row.certificate, other, key=lambda one: one.lower))


def _evaluated(row: Row, proof: Certificate) -> Certificate:
    """A row's model with a proof, at what that proves there."""
    model = row.w, row.certificate.intercept
    parts = proof.duals, proof.leaves, *model
    return Certificate.build(row.program, *parts, boxes=proof.boxes, rows=proof.rows)
