"""Sparse data that stay sparse: relaxations against skglm's, solutions, and their memory.

Columns have 20 normal entries each, or are counts of words with a long tail: word j is in a share
of the texts in proportion to 1/(j + 10). 200 columns have coefficients of size 1 to 3, and the
noise has the variance of the signal. k = 20, and the ridge is 0.1 or 0.01 of the mean square of a
column. Columns are as they are, or scaled to a mean square of 1 (no intercept); solutions of the
latter are centred and have an intercept.

`relax` and skglm have the price l0 for which the relaxation with k = 20 is the same one. Both go to
a relative gap of 1e-6 by our formulas: `relax` says when; of skglm the best solver, first working
set and loosest tolerance that reach it count. Seconds are those of the processor, the best of up to
three runs. Memory is the peak while `solve` runs, less what was held before, over the bytes of X.
"""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import machine
from benchmarks.common.bars import Verdict
from benchmarks.common.command import finish, parser_of, say
from benchmarks.common.memory import forget_peak, held
from benchmarks.common.page import Page, caption_of
from benchmarks.common.peers.skglm import SkglmBerHu
from benchmarks.common.problems import Problem
from benchmarks.relaxation.referee import relative_gap, relaxed_value
from benchmarks.scale.sparse_problems import FILLED, normal_entries, problems
from sparsebounds import relax, solve
from sparsebounds.relaxation import RelaxationWarning

SMALL, LARGE = (20_000, 100_000), (100_000, 1_000_000)
GAP = 1e-6
RUNS, PATIENCE = 3, 60.0
"""Runs at most, and seconds of a peer after which its tolerance is not tightened further."""

MEMORY_BAR = 3.0
HEADER = (
    "problem",
    "working set",
    "relax",
    "skglm",
    "skglm / relax",
    "its setting",
    "relax, k",
    "solve, k",
    "certified gap",
    "memory / X",
)


def seconds_of(run: Callable[[], Any], most: int = RUNS) -> tuple[float, Any]:
    """Seconds of the processor, the best of some runs, and the result."""
    best, total, result = math.inf, 0.0, None
    for _ in range(most):
        gc.collect()
        start = time.process_time()
        result = run()
        spent = time.process_time() - start
        best, total = min(best, spent), total + spent
        if total > PATIENCE / RUNS:
            break
    return best, result


@dataclass(frozen=True)
class Row:
    """One problem."""

    problem: str
    working_set: int
    relax: float
    gap: float
    skglm: float
    """NaN where it was not run, or did not reach the gap."""

    setting: str
    relax_k: float
    solve: float
    certified: float
    memory: float


def theirs(problem: Problem, ready: Problem, dual: float) -> tuple[float, str]:
    """The best seconds of skglm, and how it was set."""
    program, best, setting = problem.program(), math.inf, "not reached"
    for peer in SkglmBerHu().variants():
        if peer.reason_to_skip(ready) is not None:
            continue
        peer.solve(ready.tiny(), peer.tolerances[0])  # compiles
        total = 0.0
        for tolerance in peer.tolerances[1:]:
            attempt = partial(peer.solve, ready, tolerance)
            spent, answer = seconds_of(attempt, 1)
            total += spent
            gap = relative_gap(relaxed_value(problem, program, answer.w), dual, program.null)
            if gap <= GAP:
                again, _ = seconds_of(attempt, RUNS - 1)
                if min(spent, again) < best:
                    best, setting = min(spent, again), f"{peer.variant}, {tolerance:.0e}"
                break
            if total > PATIENCE:
                break
    return (best if math.isfinite(best) else math.nan), setting


def measure(name: str, problem: Problem, peers: bool) -> Row:
    """Ours and theirs."""
    program = problem.program()
    relax_k, found = seconds_of(lambda: relax(program, GAP))
    priced = replace(problem, k=None, l0=relax(program, 1e-8).l0_multiplier)
    posed = priced.program()
    seconds, relaxed = seconds_of(lambda: relax(posed, GAP))
    skglm, setting = math.nan, ""
    if peers:
        ready = priced
        if problem.standardize:
            size = np.sqrt(problem.X.power(2).sum(axis=0) / problem.shape[0])
            X = (problem.X @ sp.diags_array(1.0 / np.where(size > 0.0, size, 1.0))).tocsc()
            ready = replace(priced, X=X, standardize=False)
        skglm, setting = theirs(priced, ready, relax(posed, 1e-9).dual_value)
        del ready
    X, options = problem.X, problem.arguments | {"fit_intercept": problem.standardize}
    gc.collect()
    forget_peak()
    before = held()
    spent, solution = seconds_of(lambda: solve(X, problem.y, **options), 1)
    used = (held("VmHWM") - before) / (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    gap = relaxed.gap / max(abs(relaxed.value), abs(posed.null))
    return Row(
        name,
        found.stats.working_set,
        seconds,
        gap,
        skglm,
        setting,
        relax_k,
        spent,
        solution.rel_gap,
        used,
    )


def line(row: Row) -> list[str]:
    """A row as text."""
    return [
        row.problem,
        f"{row.working_set}",
        f"{row.relax:.3f}",
        f"{row.skglm:.3f}",
        f"{row.skglm / row.relax:.1f}",
        row.setting,
        f"{row.relax_k:.3f}",
        f"{row.solve:.2f}",
        f"{100.0 * row.certified:.2g}%",
        f"{row.memory:.1f}",
    ]


def judge(rows: Sequence[Row], large: bool) -> list[Verdict]:
    """No slower than skglm; memory where the data outweigh the libraries."""
    verdicts = [
        Verdict(row.problem, "no slower than skglm", f"{row.skglm / row.relax:.2f}x", faster)
        for row in rows
        for faster in [None if math.isnan(row.skglm) else row.relax <= row.skglm]
    ]
    if large:
        verdicts += [
            Verdict(
                row.problem,
                f"memory at most {MEMORY_BAR:g}x X",
                f"{row.memory:.2f}x",
                row.memory <= MEMORY_BAR,
            )
            for row in rows
        ]
    return verdicts


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, save."""
    parser = parser_of("scale.sparse", __doc__, save=True)
    parser.add_argument("--large", action="store_true", help="100,000 x 1,000,000")
    parser.add_argument("--only", default="", metavar="NAME", help="problems with NAME in theirs")
    parser.add_argument("--ours", action="store_true", help="no peer")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    n, m = LARGE if options.large else SMALL
    warnings.simplefilter("ignore", RelaxationWarning)
    X = normal_entries(200, 300, np.random.default_rng(0))
    Problem(X, X.sum(axis=1), k=2, ridge=1.0).solve()  # imports
    rows = []
    for name, problem in problems((n, m), options.seed):
        if options.only in name:
            rows.append(measure(name, problem, not options.ours))
            say("  ".join(line(rows[-1])))
    page = Page(
        title=f"Sparse, {n:,} x {m:,}, about {FILLED * m:,} entries, seed {options.seed}",
        caption=caption_of(__doc__),
        header=HEADER,
        lines=[line(row) for row in rows],
        verdicts=judge(rows, options.large),
        absences=[],
        machine=machine.describe(("sparsebounds", "numpy", "scipy", "skglm")),
    )
    name = "sparse-large" if options.large else "sparse"
    finish(
        page, options, name, {row.problem: row.relax for row in rows}, [vars(row) for row in rows]
    )


SEED = 76525
"""That of the tables; drawn when everything above had been settled."""


if __name__ == "__main__":
    main()
