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
    if other.relaxation.interrupted:
        return ""
    ridge = program.ridge
    where = f" ({readable(LESS * ridge, 3)})" if isinstance(ridge, float) else ""
    first = f"At a tenth of the ridge{where}"
    lost = np.setdiff1d(free, program.groups.whole(other.support))
    if len(lost):
        never = " in any best model" if np.isin(lost, other.fixed_out).all() else ""
        found = never or " in the best model found"
        return f"{first} {_named(program, lost)} {'is' if len(lost) == 1 else 'are'} not{found}."
    if np.isin(free, other.fixed_in).all():
        return f"{first} the same is proved of {'it' if len(free) == 1 else 'them'}."
    one = len(free) == 1
    return f"{first} {'it is' if one else 'they are'} in the best model found, which is no proof."


def _named(program: Program, features: Index) -> str:
    """Features by name; groups, where they are in groups."""
    units = [
        repr(one) if isinstance(one, str) else f"feature {one}" for one in _units(program, features)
    ]
    more = len(units) - NAMED
    return ", ".join(units[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _units(program: Program, features: Index) -> tuple[str | int, ...]:
    return program.problem.groups_of(features, program.feature_names)
