"""python -m benchmarks.models: who is run, and how a row reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import benchmarks.models
from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import signed, three
from benchmarks.common.peers.abess import Abess
from benchmarks.common.peers.celer import CelerPath
from benchmarks.common.peers.fastsparse import FastSparse
from benchmarks.common.peers.okridge import OKRidgeBeam
from benchmarks.common.peers.scikit_learn import MatchingPursuit
from benchmarks.models.bars import judge
from benchmarks.models.measure import Attempt, ModelRow, Referee, ours, theirs
from benchmarks.models.problems import PROBLEMS, QUICK


class Models(Benchmark[ModelRow]):
    """Ours with its certificate; the others' models against ours."""

    name, title = "models", "Models"
    doc = benchmarks.models.__doc__
    caption = (
        "Ours: solve, timed in full. gap: (objective - lower)/|objective|, proved; "
        "against the best: our objective less the best of all others, relative to that. Others: "
        "their objective less ours, relative to ours (= where equal to 1e-6), as returned -> "
        "after our refit (untimed), or once where both are equal or a tool names supports only; "
        "time over ours; the gap that certify proves for their refitted model."
    )
    header = ("problem", "objective", "lower", "gap", "ms", "against the best")
    packages = (
        "sparsebounds",
        "numpy",
        "scipy",
        "abess",
        "fastsparsegams",
        "okridge",
        "celer",
        "scikit-learn",
    )
    quick, quick_help = QUICK, "a few small problems: half a minute"
    width = 250
    problems = PROBLEMS
    peers = (Abess(), FastSparse(), OKRidgeBeam(), CelerPath(), MatchingPursuit())

    def measure(self, name: str) -> ModelRow:
        problem = self.problems[name]().stored("F")
        row = ours(name, problem)
        referee = Referee(problem) if self.peers else None
        for peer in self.peers:
            row.cells[peer.name] = theirs(peer, problem, referee)
        return row

    def judge(self, rows: Sequence[ModelRow]) -> list[Verdict]:
        return judge(rows)

    def lines(self, row: ModelRow) -> list[list[str]]:
        return [
            [
                row.problem,
                f"{row.value:.6g}",
                f"{row.lower:.6g}",
                f"{row.rel_gap:.2%}",
                three(1e3 * row.seconds),
                signed(row.excess),
                *(_cell(row.cell(peer.name), row) for peer in self.peers),
            ]
        ]

    def plain(self, row: ModelRow) -> list[dict[str, Any]]:
        return [asdict(row) | {"excess": row.excess}]


def _cell(attempt: Attempt, row: ModelRow) -> str:
    if math.isnan(attempt.value):
        return "-"
    worth = signed((attempt.value - row.value) / abs(row.value))
    if not math.isnan(attempt.returned):
        before = signed((attempt.returned - row.value) / abs(row.value))
        worth = worth if before == worth else f"{before} -> {worth}"
    return f"{worth}, {three(attempt.seconds / row.seconds)}x, {attempt.rel_gap:.2%}"


main = Models().main

if __name__ == "__main__":
    main()
