"""The bars of the models: on models as promised before anything was measured, on time stricter.

As good as the best: at most 1e-6 worse, relative to it, than the best model of all peers
after our refit, on 95% of the problems; better by more than that on some. Nearly as fast: the
median time of `solve` is at most twice the median of abess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from benchmarks.common.bars import Verdict
from benchmarks.models.measure import ModelRow

AS_GOOD, SHARE = 1e-6, 0.95
RIVAL, FACTOR = "abess", 2.0
EVERYWHERE = "all"


def judge(rows: Sequence[ModelRow]) -> list[Verdict]:
    """The three bars, over the rows at hand."""
    compared = [row for row in rows if not math.isnan(row.excess)]
    return [_as_good(compared), _better(compared), _quick(rows)]


def _as_good(rows: Sequence[ModelRow]) -> Verdict:
    bar = f"at most {AS_GOOD:g} worse than the best on {SHARE:.0%}"
    if not rows:
        return Verdict(EVERYWHERE, bar, "nobody to compare with", None)
    good = sum(row.excess <= AS_GOOD for row in rows)
    worst = max(rows, key=lambda row: row.excess)
    measured = f"{good} of {len(rows)} ({good / len(rows):.1%})"
    if worst.excess > AS_GOOD:
        measured += f"; at worst {worst.excess:.1e} on {worst.problem}"
    return Verdict(EVERYWHERE, bar, measured, good >= SHARE * len(rows))


def _better(rows: Sequence[ModelRow]) -> Verdict:
    bar = "better than all others on some"
    if not rows:
        return Verdict(EVERYWHERE, bar, "nobody to compare with", None)
    better = sum(row.excess < -AS_GOOD for row in rows)
    return Verdict(EVERYWHERE, bar, f"better on {better} of {len(rows)}", better > 0)


def _quick(rows: Sequence[ModelRow]) -> Verdict:
    bar = f"median time within {FACTOR:g}x {RIVAL}'s"
    timed = [(row.seconds, row.cell(RIVAL).seconds) for row in rows if RIVAL in row.cells]
    timed = [(mine, theirs) for mine, theirs in timed if not math.isnan(theirs)]
    if not timed:
        return Verdict(EVERYWHERE, bar, f"{RIVAL} did not run", None)
    mine, theirs = median(pair[0] for pair in timed), median(pair[1] for pair in timed)
    each = sum(a <= FACTOR * b for a, b in timed)
    measured = f"{1e3 * mine:.1f} ms against {1e3 * theirs:.1f} ms ({mine / theirs:.1f}x)"
    measured += f"; so on {each} of {len(timed)} problems"
    return Verdict(EVERYWHERE, bar, measured, mine <= FACTOR * theirs)
