"""python -m benchmarks.paths"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import benchmarks.paths
from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import signed, three
from benchmarks.common.peers.abess import AbessPath, AbessRidgePath
from benchmarks.common.peers.skglm import SkglmL1, SkglmMcp
from benchmarks.paths.measure import PathRow, judge, measure
from sparsebounds import path

COLUMNS, SIZES, SHOWN = 5000, 50, (1, 5, 10, 15, 20, 30, 40, 50)
PROBLEMS = {f"seed {seed}": (seed, COLUMNS, SIZES) for seed in (0, 1, 2)}
SMALL = {"small, seed 0": (0, 500, 15)}


class Paths(Benchmark[PathRow]):
    """Some sizes of every path, and whole paths."""

    name, title = "paths", "Paths"
    doc = benchmarks.paths.__doc__
    caption = (
        "500 x 5000, autoregressive columns (0.5), ten ones, SNR 5, ridge 0.05. Ours: objective, "
        "proved lower bound and gap at each k; ms: that point of the path, its share of set-up and "
        "certificate included; cold: solve at that k. Others: their objective after our refit less "
        "ours, relative to ours (= where equal to 1e-6). The rows `path` hold the seconds of whole "
        "paths; others' refits are not in them."
    )
    header = ("", "objective", "lower", "gap", "ms", "cold", "cold objective")
    packages = ("sparsebounds", "numpy", "scipy", "abess", "skglm", "numba")
    quick, quick_help = tuple(SMALL), "one small seed: seconds"
    problems = PROBLEMS | SMALL
    peers = (AbessPath(), AbessRidgePath(), SkglmMcp(), SkglmL1())

    def chosen(self) -> list[str]:
        return list(PROBLEMS)

    def begin(self) -> None:
        path(np.eye(3), np.ones(3), ks=[1], ridge=1.0)  # imported

    def measure(self, name: str) -> PathRow:
        return measure(*self.problems[name], self.peers)

    def judge(self, rows: Sequence[PathRow]) -> list[Verdict]:
        return judge(rows)

    def reasons(self, row: PathRow) -> list[tuple[str, str, str]]:
        return [(name, why, f"seed {row.seed}") for name, why in row.reasons.items()]

    def times(self, row: PathRow) -> list[dict[str, Any]]:
        size = f"seed {row.seed}, k to {row.ks[-1]}"
        bounds = {"value": sum(row.upper), "lower": sum(row.lower)}
        return [
            {"row": f"{size}: path", "seconds": row.total, **bounds},
            {"row": f"{size}: cold solves", "seconds": sum(row.cold), "value": sum(row.cold_upper)},
        ]

    def lines(self, row: PathRow) -> list[list[str]]:
        found = []
        for i, k in enumerate(row.ks):
            if k in SHOWN:
                ours = row.upper[i]
                values = [row.cold_upper[i]]
                values += [row.others.get(peer.name, {i: math.nan})[i] for peer in self.peers]
                found.append(
                    [
                        f"seed {row.seed}, k={k}",
                        f"{ours:.6g}",
                        f"{row.lower[i]:.6g}",
                        f"{row.rel_gap[i]:.2%}",
                        three(1e3 * row.seconds[i]),
                        three(1e3 * row.cold[i]),
                        *(signed((value - ours) / abs(ours)) for value in values),
                    ]
                )
        seconds = (row.other_seconds.get(peer.name, math.nan) for peer in self.peers)
        whole = [f"{value:.2f} s" if not math.isnan(value) else "-" for value in seconds]
        sums = [f"{row.total:.2f} s", f"{sum(row.cold):.2f} s"]
        return [*found, [f"seed {row.seed}, path", "", "", "", *sums, "", *whole]]


main = Paths().main

if __name__ == "__main__":
    main()
