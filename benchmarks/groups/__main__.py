"""python -m benchmarks.groups: who is run, how a row reads, and the bars."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import benchmarks.groups
from benchmarks.common.bars import Verdict
from benchmarks.common.page import signed, three
from benchmarks.common.peers.abess import Abess
from benchmarks.groups.problems import SEED, problems
from benchmarks.models.__main__ import Models
from benchmarks.models.bars import FACTOR, RIVAL, judge
from benchmarks.models.measure import ModelRow, Referee, ours, theirs


@dataclass
class GroupRow(ModelRow):
    """Our model as users ask for it, and without a search."""

    alone: ModelRow | None = None


class GroupModels(Models):
    """Ours with its certificate, with a bounded search and without one; abess's models."""

    name, title = "groups", "Models of whole groups"
    doc = benchmarks.groups.__doc__
    caption = (
        "Ours: solve, timed in full: as it is called, with a bounded search where the gap is "
        "wide, once, and without a search (exact=False), the best of three runs. gap: "
        "(objective - lower)/|objective|, proved; against abess: our objective "
        "less that of its best model, relative to that. abess: its objective less ours, "
        "relative to ours (= where equal to 1e-6), as returned -> after our refit (untimed); "
        "its time over ours, with the search; the gap that certify proves for its refitted "
        "model. Its best model of three ways to run it counts, and among equals the fastest "
        "way. Correlation, SNR, loss and k are in the names; NxGg: N rows, G groups. Seed "
        f"{SEED}, drawn after all settings were frozen."
    )
    header = (
        *("problem", "objective", "lower", "gap", "ms", "against abess"),
        *("no search: gap", "ms", "against abess"),
    )
    packages = ("sparsebounds", "numpy", "scipy", "abess")
    quick_help = "four small problems: half a minute"
    width = 220
    peers = (Abess(),)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--seed", type=int, default=SEED, help="other designs, not saved")

    def begin(self) -> None:
        self.problems = problems(self.options.seed)
        self.quick = tuple(self.problems)[:4]

    def partial(self) -> bool:
        return bool(self.options.seed != SEED)

    def measure(self, name: str) -> GroupRow:
        problem = self.problems[name]().stored("F")
        searched = ours(name, problem, repeats=1, exact="auto")
        row = GroupRow(**vars(searched), alone=ours(name, problem))
        referee = Referee(problem) if self.peers else None
        row.cells = {peer.name: theirs(peer, problem, referee) for peer in self.peers}
        return row

    def judge(self, rows: Sequence[ModelRow]) -> list[Verdict]:
        found = []
        for who, some in (("solve", rows), ("no search", [_alone(row) for row in rows])):
            good, better, _ = judge(some)
            found += [replace(good, problem=who), replace(better, problem=who), _quick(who, some)]
        return [*found, _proved(rows)]

    def lines(self, row: ModelRow) -> list[list[str]]:
        line, alone = super().lines(row)[0], _alone(row)
        words = [f"{alone.rel_gap:.2%}", three(1e3 * alone.seconds), signed(alone.excess)]
        return [[*line[:6], *words, *line[6:]]]

    def times(self, row: ModelRow) -> list[dict[str, Any]]:
        alone = _alone(row)
        return super().times(row) + super().times(
            replace(alone, problem=f"{row.problem}, no search")
        )


def _alone(row: ModelRow) -> ModelRow:
    """The row without a search, next to the same peers."""
    assert isinstance(row, GroupRow)
    assert row.alone is not None
    return replace(row.alone, cells=row.cells)


def _quick(who: str, rows: Sequence[ModelRow]) -> Verdict:
    bar = f"time within {FACTOR:g}x {RIVAL}'s, as the median of ratios"
    pairs = [(row.seconds, row.cell(RIVAL).seconds) for row in rows]
    ratios = [mine / theirs for mine, theirs in pairs if not math.isnan(theirs)]
    if not ratios:
        return Verdict(who, bar, f"{RIVAL} did not run", None)
    measured = f"{median(ratios):.1f}x, from {min(ratios):.1f}x to {max(ratios):.0f}x"
    mine, theirs = (1e3 * median(pair[i] for pair in pairs) for i in (0, 1))
    each = sum(ratio <= FACTOR for ratio in ratios)
    measured += f"; medians {mine:.0f} ms and {theirs:.0f} ms; so on {each} of {len(ratios)}"
    return Verdict(who, bar, measured, median(ratios) <= FACTOR)


def _proved(rows: Sequence[ModelRow]) -> Verdict:
    gaps = [row.rel_gap for row in rows]
    optimal = sum(gap <= 1e-4 for gap in gaps)
    measured = f"median {median(gaps):.1%}; optimal on {optimal} of {len(gaps)}"
    return Verdict("solve", "a gap proved on every problem", measured, max(gaps) < math.inf)


main = GroupModels().main

if __name__ == "__main__":
    main()
