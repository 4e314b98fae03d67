"""python -m benchmarks.robust"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

import benchmarks.robust
from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import three
from benchmarks.robust.measure import (
    ERRORS,
    LOSSES,
    REGRESSORS,
    RIDGE,
    TRIMMED,
    Attempt,
    K,
    M,
    N,
    ours,
    theirs,
    trimmed,
)

SEEDS = 20
BOUNDED = ("tukey", "truncated")


def name_of(errors: tuple[str, float], method: str) -> str:
    """A line of the table."""
    return f"{errors[1]:.0%} {errors[0]}: {method}"


PROBLEMS = {
    name_of(errors, method): (errors, method)
    for errors in ERRORS
    for method in (*LOSSES, TRIMMED, *REGRESSORS)
}


class Robust(Benchmark[list[Attempt]]):
    """One line per kind of errors and method, over all seeds."""

    name, title = "robust", "Robust models"
    doc = benchmarks.robust.__doc__
    caption = (
        f"{N} x {M}, {K} planted features, ridge {RIDGE}, an intercept, {{seeds}} seeds. "
        "exact: data sets on which precisely the planted features were named; hits: planted "
        "features named, of 5; outliers: planted ones whose residual is three standard deviations "
        "or more, and other rows whose residual is not; screened: data sets whose screening kept "
        "all 5; gap: median (least to largest) certified relative gap; lower/upper: mean certified "
        "lower bound over the model's objective, for a non-convex loss that of its envelope -> "
        "that of the certificate; s: mean processor time."
    )
    header = (
        "errors, method",
        "exact",
        "hits",
        "outliers",
        "screened",
        "gap",
        "lower/upper",
        "s",
    )
    packages = ("sparsebounds", "numpy", "scipy", "scikit-learn")
    quick = tuple(name for name in PROBLEMS if name.startswith("20% shifted"))
    quick_help = "one kind of errors; --seeds 1 makes it seconds"
    problems = PROBLEMS

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")

    def begin(self) -> None:
        self.caption = type(self).caption.format(seeds=self.options.seeds)
        if self.options.ours:
            self.problems = {name: of for name, of in PROBLEMS.items() if of[1] in LOSSES}
            self.quick = tuple(name for name in self.quick if name in self.problems)

    def partial(self) -> bool:
        return bool(self.options.seeds != SEEDS)

    def measure(self, name: str) -> list[Attempt]:
        errors, method = self.problems[name]
        run = ours if method in LOSSES else trimmed if method == TRIMMED else theirs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [run(method, errors, seed) for seed in range(self.options.seeds)]

    def reasons(self, row: list[Attempt]) -> list[tuple[str, str, str]]:
        return []

    def remarks(self) -> list[str]:
        return ["RANSAC and Theil-Sen on all columns: they need more rows than columns"]

    def plain(self, row: list[Attempt]) -> list[dict[str, Any]]:
        return [asdict(attempt) for attempt in row]

    def times(self, row: list[Attempt]) -> list[dict[str, Any]]:
        return [
            {
                "row": f"{name_of(one.errors, one.method)}, seed {one.seed}",
                "seconds": one.seconds,
                "value": one.upper,
                "lower": one.lower,
            }
            for one in row
        ]

    def lines(self, row: list[Attempt]) -> list[list[str]]:
        gaps = np.array([one.rel_gap for one in row])
        certified = not np.isnan(gaps).all()
        first = np.mean([one.envelope / one.upper for one in row])
        last = np.mean([one.lower / one.upper for one in row])
        bound = f"{last:.3f}" if np.isnan(first) else f"{first:.3f} -> {last:.3f}"
        caught, spared = (
            np.mean([getattr(one, name) for one in row]) for name in ("caught", "spared")
        )
        spread = f"{np.median(gaps):.1%} ({gaps.min():.1%} to {gaps.max():.1%})"
        return [
            [
                name_of(row[0].errors, row[0].method),
                f"{sum(one.recovered for one in row)}/{len(row)}",
                f"{np.mean([one.hits for one in row]):.2f}",
                f"{caught:.1%}, {spared:.1%}",
                f"{sum(one.screened for one in row)}/{len(row)}",
                spread if certified else "-",
                bound if certified else "-",
                three(float(np.mean([one.seconds for one in row]))),
            ]
        ]

    def judge(self, rows: Sequence[list[Attempt]]) -> list[Verdict]:
        """Whether the bounded losses name the planted features at least as often as all others."""
        asked = "recovers at least as often as every other method"
        found = []
        for errors in ERRORS:
            counts = {
                row[0].method: sum(one.recovered for one in row)
                for row in rows
                if row[0].errors == errors
            }
            others = max((counts[name] for name in counts if name not in BOUNDED), default=None)
            for method in (name for name in BOUNDED if name in counts):
                mine, where = counts[method], name_of(errors, method)
                if others is None:
                    found.append(Verdict(where, asked, "nobody to compare with", None))
                else:
                    text = f"{mine} against {others}"
                    found.append(Verdict(where, asked, text, mine >= others))
        return found


main = Robust().main

if __name__ == "__main__":
    main()
