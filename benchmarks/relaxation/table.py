"""The table of the relaxation: who is run, and how a row reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import benchmarks.relaxation
from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import three
from benchmarks.common.peers.conic import CvxpyAuthors, CvxpyBest
from benchmarks.common.peers.el0ps import El0psRoot
from benchmarks.common.peers.l0bnb import L0BnBRoot
from benchmarks.common.peers.liu_shafiee_lodi import LiuShafieeLodi
from benchmarks.common.peers.skglm import SkglmBerHu
from benchmarks.relaxation.bars import BARS, judge
from benchmarks.relaxation.measure import Cell, Row, ours, theirs
from benchmarks.relaxation.problems import PROBLEMS, QUICK


class Relaxations(Benchmark[Row]):
    """Ours in times of its own; the others in multiples of ours."""

    name, title = "relaxation", "Relaxation"
    doc = benchmarks.relaxation.__doc__
    caption = (
        "Ours: relax to a relative gap of 1e-8, certified; set-up is Program(...), validation and "
        "column norms, apart. Others: time over ours, at a gap of at most 1e-6 by our formulas "
        "(in brackets); above 1 ours is faster."
    )
    header = ("problem", "passes", "Newton", "ms", "set-up ms", "/ X^T a", "gap")
    packages = (
        "sparsebounds",
        "numpy",
        "scipy",
        "skglm",
        "numba",
        "el0ps",
        "mpich",
        "l0bnb",
        "cvxpy",
        "clarabel",
    )
    quick, quick_help = QUICK, "the small problems: a minute"
    most_named = len(PROBLEMS)
    same = ("passes", "value")
    problems = PROBLEMS
    peers = (
        SkglmBerHu(),
        El0psRoot(),
        L0BnBRoot(),
        LiuShafieeLodi(),
        CvxpyBest(),
        CvxpyAuthors(),
    )

    def measure(self, name: str) -> Row:
        problem = self.problems[name]()
        row, program = ours(name, problem)
        for peer in self.peers:
            row.cells[peer.name] = theirs(peer, problem, program, row)
        return row

    def judge(self, rows: Sequence[Row]) -> list[Verdict]:
        return judge(rows, BARS)

    def lines(self, row: Row) -> list[list[str]]:
        return [
            [
                row.problem,
                f"{row.passes:.2f}",
                str(row.newton_steps),
                three(1e3 * row.seconds),
                three(1e3 * row.setup),
                f"{row.products:.1f}",
                f"{row.gap:.0e}",
                *(_cell(row.cells.get(peer.name), row) for peer in self.peers),
            ]
        ]

    def plain(self, row: Row) -> list[dict[str, Any]]:
        return [asdict(row) | {"products": row.products}]


def _cell(cell: Cell | None, row: Row) -> str:
    if cell is None or (cell.reason and math.isnan(cell.gap)):
        return "-"
    if not cell.reached:
        return f"- ({cell.gap:.0e})"
    return f"{three(cell.seconds / row.seconds)}x ({cell.gap:.0e})"
