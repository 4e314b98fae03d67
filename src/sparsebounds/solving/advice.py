"""Advice where the gap is wide: what a search would take, what an easier problem would prove, and
which columns the bound cannot tell apart.

Every number is computed on the same data, by solving again with a part of the nodes that the
solution's own search had: a few times at most, and not at all where X is large.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import numpy as np

from sparsebounds._support.deadline import Deadline, Limit
from sparsebounds._support.decimals import percent_up
from sparsebounds._support.validate import Exact
from sparsebounds.program import Program
from sparsebounds.solving.solution import Solution
from sparsebounds.solving.solve import solve_program

WIDE = 0.05
"""A relative gap up to this needs no advice."""

MEDIUM, LARGE = 2e6, 2e7
"""Entries of X beyond which no other k is tried, which takes as long as the first (a larger ridge
takes less), and beyond which nothing is solved again and no columns are compared."""

SHARE = 0.15
"""The part of a solution's nodes that each further search may take."""

RIDGES = (3.0, 10.0)
"""Ridges that are tried, as multiples of the program's own."""

OPTIMAL = 1e-4
"""A relative gap up to this is none, as in `solve`."""

HELPS, TOLD = 0.5, 0.8
"""Easier problems are tried until one leaves this part of the gap; the best is told if it leaves at
most the second."""

ALIKE = 0.99
"""The correlation from which two columns are named, whatever its sign."""

ROUNDING = 1e-14
"""A variance next to the mean square that is nothing but rounding."""

COMPARED = 300
"""Columns that are compared with one another, at most."""

PAIRS = 2
"""Pairs of columns that are named, at most."""


def advice(program: Program, solution: Solution, time_limit: Limit = None) -> tuple[str, ...]:
    """At most three sentences on a solution of the program; none where its gap is not wide.

    Ctrl-C ends it with the sentences so far.
    """
    said: list[str] = []
    if solution.rel_gap > WIDE:
        with contextlib.suppress(KeyboardInterrupt):
            for sentence in _sentences(program, solution, Deadline.of(time_limit)):
                said.append(sentence)
    return tuple(said)


def _sentences(program: Program, solution: Solution, deadline: Deadline) -> Iterator[str]:
    if solution.outlook is not None:
        yield solution.outlook.words
    if program.matrix.entries > LARGE:
        return
    goal, nodes = HELPS * solution.rel_gap, int(SHARE * solution.stats.nodes)
    tried = []
    for words, easier in _easier(program):
        tried.append((_gap(easier, nodes, deadline), words))
        if tried[-1][0] <= goal:
            break
    gap, words = min(tried, default=(math.inf, ""))
    if gap <= TOLD * solution.rel_gap:
        yield f"With {words} {_proved(gap)}."
    pairs = _alike(program, solution)
    if pairs:
        twins = [
            f"{program.label(i)} from {program.label(j)} (correlation {r:.3f})" for i, j, r in pairs
        ]
        spare = sorted({j for _, j, _ in pairs})
        gap = _gap(program.restricted(np.delete(np.arange(program.m), spare)), nodes, deadline)
        then = f", and {_proved(gap)}" if gap <= TOLD * solution.rel_gap else ""
        named = " and ".join(map(program.label, spare))
        yield f"The bound hardly tells {' nor '.join(twins)}: leave {named} out{then}."


def _proved(gap: float) -> str:
    """What a smaller gap means, in words."""
    if gap <= OPTIMAL:
        return "the model would be proved optimal"
    return f"the gap would be at most {percent_up(gap)}"


def _easier(program: Program) -> Iterator[tuple[str, Program]]:
    """Problems on the same data that may leave less of a gap, and what differs in words."""
    own = program.ridge
    for factor in RIDGES if own is not None else ():
        assert own is not None
        ridge = factor * own
        words = f"{factor:g} times the ridge"
        if isinstance(ridge, float):
            words = f"ridge={ridge:g} in place of {own:g}"
        yield words, program.with_ridge(ridge)
    quick = program.loss.convex and program.matrix.entries <= MEDIUM
    if program.k is not None and quick:
        k, most = program.k, int(np.count_nonzero(program.free))
        for size in dict.fromkeys((k - 1, k + 1, k // 2, k + k // 2)):
            if 0 < size < most and size != k:
                yield f"k={size} in place of {k}", program.with_budget(size)


def _gap(program: Program, nodes: int, deadline: Deadline) -> float:
    """The relative gap that a search of so many nodes leaves; inf where there is no time."""
    if deadline.late():
        return math.inf
    exact: Exact = "auto" if nodes and program.loss.convex else False
    limit = nodes if exact else None
    found = solve_program(program, exact=exact, node_limit=limit, time_limit=deadline)
    if found.stats.interrupted:
        raise KeyboardInterrupt
    return found.rel_gap


def _alike(program: Program, solution: Solution) -> list[tuple[int, int, float]]:
    """Pairs of columns that are nearly equal up to their scale, and their correlations.

    One of them at least is in the model, or undecided in the relaxation. The best pairs come first.
    """
    relaxed = solution.relaxation
    doubt = (relaxed.u > 0.0) & (relaxed.u < 1.0)
    doubt[solution.support] = True
    doubt &= program.free
    left = program.free.copy()
    left[solution.fixed_out] = False
    # Equal columns have equal scores: a column's twin comes beside it.
    order = np.lexsort((-np.abs(relaxed.point.scores), ~doubt))
    chosen = np.sort(order[(left | doubt)[order]][:COMPARED])
    columns, shares = program.matrix.columns(chosen), program.F.p[:, None]
    whole = np.sum(shares * columns**2, axis=0)
    if program.fit_intercept:
        columns = columns - np.sum(shares * columns, axis=0)
    gram = columns.T @ (shares * columns)
    variance = np.diagonal(gram)
    # A column that is constant but for rounding is like no other.
    scale = np.sqrt(np.where(variance > ROUNDING * whole, variance, np.inf))
    correlation = np.triu(gram / np.outer(scale, scale), 1)
    near = (np.abs(correlation) >= ALIKE) & (doubt[chosen][:, None] | doubt[chosen])
    first, second = np.nonzero(near)
    best = np.argsort(-np.abs(correlation[first, second]), kind="stable")[:PAIRS]
    return [
        (int(chosen[i]), int(chosen[j]), float(correlation[i, j]))
        for i, j in zip(first[best], second[best], strict=True)
    ]
