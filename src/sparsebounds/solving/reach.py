"""How far a proof about features reaches: whether it holds at a tenth of the ridge.

A feature that is in every best model of one problem need not be in those of another. Less shrinking
is the change that most people would make next, and one more relaxation answers it. It is asked
where X is small and something was proved, and says no more than it knows.
"""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import Deadline, Limit
from sparsebounds._support.decimals import readable
from sparsebounds.program import Program
from sparsebounds.solving.solution import Solution
from sparsebounds.solving.solve import solve_program

SMALL = 2e6
"""Entries of X up to which another problem is solved."""

LESS = 0.1
"""The part of the ridge that is tried."""

NAMED = 3
"""Features that are named, at most."""


def reach_sentence(program: Program, solution: Solution, time_limit: Limit = None) -> str:
    """What becomes of the features proved to be in every best model; empty where none is."""
    inside, deadline = solution.fixed_in, Deadline.of(time_limit)
    free = inside[program.free[inside]]
    cheap = program.matrix.entries <= SMALL and program.loss.convex and not deadline.late()
    if not len(free) or program.ridge is None or not cheap:
        return ""
    other = solve_program(
        program.with_ridge(LESS * program.ridge), exact=False, time_limit=deadline
    )
    if other.stats.interrupted:
        return ""
    ridge = program.ridge
    where = f" ({readable(LESS * ridge, 3)})" if isinstance(ridge, float) else ""
    first = f"At a tenth of the ridge{where}"
    lost = np.setdiff1d(free, program.groups.whole(other.support))
    if len(lost):
        never = np.isin(lost, other.fixed_out).all()
        return f"{first} {_named(program, lost)} not in {'any' if never else 'the'} best model" + (
            "." if never else " found."
        )
    if np.isin(free, other.fixed_in).all():
        return f"{first} {_named(program, free)} in every best model too."
    return f"{first} {_named(program, free)} in the best model found, which is no proof."


def _named(program: Program, features: Index) -> str:
    """Features by name, or groups where they are in groups, and the verb."""
    units = program.problem.groups_of(features, program.feature_names)
    names = [repr(one) if isinstance(one, str) else f"feature {one}" for one in units[:NAMED]]
    names += [f"{len(units) - NAMED} more"] * (len(units) > NAMED)
    said = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{said} {'is' if len(units) == 1 else 'are'}"
