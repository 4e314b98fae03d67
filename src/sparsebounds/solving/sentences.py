"""What two bounds prove, in plain words; every number is rounded to the safe side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.decimals import percent_up, rounded_down, rounded_up
from sparsebounds.problem import Problem
from sparsebounds.program import Program


def status_words(status: str, relative: float) -> str:
    """A status as it is shown: a gap is something proved, not something that failed."""
    if status == "optimal":
        return "proved optimal"
    return f"proved within {percent_up(relative)}" if math.isfinite(relative) else "no bound yet"


def bounds_sentence(program: Program, lower: float, upper: float) -> str:
    """What two bounds prove, in a sentence."""
    if not math.isfinite(lower):
        return f"This model has an objective of {rounded_up(upper)}; no lower bound was proved."
    return (
        f"No {_rivals(program)} can have an objective below {rounded_down(lower)}; this one has "
        f"{rounded_up(upper)}: at most {rounded_up(upper - lower, 2)} from the best possible, "
        f"{program.shares(upper - lower, upper)}."
    )


def features_sentence(program: Program, fixed_in: Index, fixed_out: Index) -> str:
    """How many features, or groups, are proved in or out, and for which problem; or nothing."""
    inside, outside = (len(program.problem.leaders_of(some)) for some in (fixed_in, fixed_out))
    clauses = [f"{inside} {'is' if inside == 1 else 'are'} in every best model"] if inside else []
    clauses += [f"{outside} {'is' if outside == 1 else 'are'} in no best model"] if outside else []
    if not clauses:
        return ""
    what = f"Proved: of the {program.units} {_unit(program)}s, {' and '.join(clauses)}."
    return f"{what} That holds for {depends(program.problem, program.m)}, and may not for others."


def depends(problem: Problem, m: int) -> str:
    """What a proof about features depends on."""
    size, weight = problem.terms
    return f"{size}, {weight} and {f'these {m} columns' if m != 1 else 'this column'}"


def classes_sentence(first: Any, second: Any) -> str:
    """Which of two classes is the positive one, and what that means."""
    return (
        f"The positive class is {second!r}: positive coefficients speak for it, negative ones for "
        f"{first!r}, and the model predicts {second!r} where its weighted sum is above 0."
    )


def _unit(program: Program) -> str:
    """What k counts."""
    return "feature" if program.groups.single else "group"


def _rivals(program: Program) -> str:
    """All the models that a lower bound speaks of."""
    unit = _unit(program)
    if program.k is None:
        words = f"model, whatever its number of {unit}s,"
    else:
        always = int(np.count_nonzero(program.always & program.groups.lead))
        extra = f" besides the {always} always in" if always else ""
        words = f"model with at most {program.k} {unit}{'s' * (program.k != 1)}{extra}"
    held = program.ball is not None or bool(program.positive.any() or program.never.any())
    return f"{words} that obeys the constraints" if held else words
