"""How well the outlook tells whether a search takes seconds, minutes or hours.

120 problems drawn at random (designs of 50 to 2000 rows and 20 to 1000 columns, and parts of real
tables; both forms and losses, ridges of 0.001 to 0.1). Those that need a search are searched for 8
s, or 24 s where they seem to take minutes. The outlook is asked where exact="auto" would stop. The
constants of `sparsebounds.exact.difficulty` were fitted to the first 60; the others are held out.

A search that has not ended is taken to go on as it did: the gap falls by the same amount whenever
the nodes grow by the same factor, as fitted to the last three quarters of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, ClassVar

import numpy as np

from benchmarks.common.bars import Verdict
from benchmarks.common.command import Benchmark
from benchmarks.common.page import three
from benchmarks.common.problems import REAL, Problem, Unavailable, correlated, posed, shared_data
from sparsebounds import relax
from sparsebounds.exact import ExactSearch, Outlook
from sparsebounds.exact.search import STEADY
from sparsebounds.models import Search

SEED, COUNT, FITTED = 771, 120, 60
SHORT, LONG = 8.0, 24.0
TABLES = ("diabetes64", "riboflavin", "leukemia", "colon", "mammo", "mushroom", "spambase")
"""The last three are of risk-slim, as tables/risk_NAME.csv."""


@dataclass(frozen=True)
class OutlookRow:
    """One search: how long it took, or seems to take, and what the outlook said."""

    problem: str
    held_out: bool
    ended: bool
    nodes: int
    seconds: float
    """Of the whole search; an estimate where it has not ended."""

    told: Outlook
    """Where exact="auto" would stop."""

    @property
    def right(self) -> bool:
        """Whether the outlook told the class of the whole search."""
        return self.told.expected == self.truth

    @property
    def truth(self) -> str:
        """The class."""
        return replace(self.told, open=0, seconds=self.seconds).expected


class OutlookBenchmark(Benchmark[OutlookRow]):
    """The outlook against searches."""

    name, title = "exact.outlook", "The outlook of searches"
    doc = __doc__
    caption = (
        "CPU seconds of the search, in one thread; ~ where it had not ended, and is extrapolated. "
        'Told: where exact="auto" stops, after so many nodes.'
    )
    header = ("", "nodes", "seconds", "takes", "asked after", "closed", "told", "")
    packages = ("sparsebounds", "numpy", "scipy")
    quick = ("001", "008", "017")
    same = ()
    problems: ClassVar[dict[str, int]] = {f"{i:03}": i for i in range(COUNT)}

    def measure(self, name: str) -> OutlookRow:
        label, problem = draw(self.problems[name])
        return row_of(label, self.problems[name] >= FITTED, *watched(problem))

    def judge(self, rows: Sequence[OutlookRow]) -> list[Verdict]:
        found = []
        for part, held in (("fitted", False), ("held out", True)):
            mine = [row for row in rows if row.held_out == held]
            going = [row for row in mine if row.told.open]
            for who, some in (("all searches", mine), ('not ended by "auto"', going)):
                right = sum(row.right for row in some)
                asked = "right on 90%" if held else "(fitted)"
                passed = right >= 0.9 * len(some) if held and some is mine else None
                found.append(Verdict(f"{part}, {who}", asked, f"{right} of {len(some)}", passed))
        return found

    def reasons(self, row: OutlookRow) -> list[tuple[str, str, str]]:
        return []

    def lines(self, row: OutlookRow) -> list[list[str]]:
        told, seconds = row.told, three(row.seconds) if row.seconds < 1e6 else "over 1e6"
        words = told.expected if told.open else "ended"
        part = "held out" if row.held_out else "fitted"
        return [
            [
                f"{row.problem} ({part})",
                str(row.nodes),
                seconds if row.ended else f"~ {seconds}",
                row.truth,
                str(told.nodes),
                f"{told.closed:.0%}",
                words,
                "" if row.right else "WRONG",
            ]
        ]


def draw(i: int) -> tuple[str, Problem]:
    """The problem of a number, and its name."""
    rng = np.random.default_rng([SEED, i])
    ridge = float(rng.choice([0.1, 0.03, 0.01, 0.003, 0.001], p=[0.15, 0.2, 0.3, 0.2, 0.15]))
    by_k, fraction = bool(rng.random() < 0.6), float(rng.choice([0.03, 0.1, 0.2]))
    if rng.random() < 0.3:
        name = TABLES[int(rng.choice(len(TABLES)))]
        X, y, loss = part_of(name, rng)
        k = int(rng.integers(3, 11))
        found = posed(X, y, loss, k=k if by_k else None, ridge=ridge, fraction=fraction)
        label = f"{name} {X.shape[0]} x {X.shape[1]}"
    else:
        n = int(rng.choice([50, 100, 200, 500, 1000, 2000]))
        m = int(rng.choice([20, 50, 100, 200, 500, 1000]))
        loss = str(rng.choice(["squared", "logistic"], p=[0.65, 0.35]))
        true = int(rng.choice([5, 10, 15]))
        k = max(2, round(true * rng.choice([0.5, 1.0]))) if by_k else 0
        snr, ar = float(rng.choice([1, 3, 5, 10])), float(rng.choice([0.2, 0.5, 0.8, 0.9]))
        settings: dict[str, Any] = {"correlation": ar, "nonzeros": true, "snr": snr, "loss": loss}
        settings |= {"ridge": ridge, "fraction": fraction, "k": k if by_k else None}
        found = correlated(n, m, **settings, seed=10_000 + i)
        label = f"{n} x {m}, AR {ar}, {true} true, SNR {snr:g}"
    size = f"k {k}" if by_k else f"l0 {fraction:g} l0_max"
    return f"{i:03} {label}, {loss}, {size}, ridge {ridge:g}", found


def part_of(name: str, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Some rows and at most 1000 columns of a table, standardized, and its loss."""
    X, y = shared_data(name if name in REAL else f"tables/risk_{name}.csv")
    loss = "squared" if len(np.unique(y)) > 2 else "logistic"
    X = np.log10(X) if name == "colon" else X
    rows = rng.permutation(len(y))[: min(int(0.8 * len(y)), 2000)]
    X, y = X[rows], y[rows]
    X = X[:, X.std(axis=0) > 0]
    if X.shape[1] > 1000:
        X = X[:, np.sort(rng.permutation(X.shape[1])[:1000])]
    y = (y - y.mean()) / y.std() if loss == "squared" else y
    return (X - X.mean(axis=0)) / X.std(axis=0), y, loss


class Enough(Exception):
    """The search has told what it can."""


def watched(problem: Problem) -> tuple[list[Outlook], bool, float]:
    """A search as it went, whether it ended, and the nodes that "auto" would allow it."""
    program = problem.program()
    if problem.solve().status == "optimal":
        raise Unavailable("no search is needed")
    relaxed = relax(program)
    models = Search(program, relaxed)
    exact = ExactSearch(program, relaxed, models.quick(), 1e-4)
    search, began, limit = exact.search, process_time(), [SHORT]
    if not exact.search.left:
        raise Unavailable("the first node closes")
    track = [search.outlook]

    def note(_: Any) -> None:
        now = replace(search.outlook, seconds=process_time() - began)
        if now.nodes >= 1.12 * track[-1].nodes or now.seconds > limit[0]:
            track.append(now)
        if now.seconds > limit[0]:
            if limit[0] == LONG or not 20.0 < extrapolated(track) < 1500.0:
                raise Enough
            limit[0] = LONG

    try:
        exact.run(report=note, better=models.run)
    except Enough:
        return track, False, exact.budget("auto")
    track.append(replace(search.outlook, seconds=process_time() - began))
    return track, True, exact.budget("auto")


def row_of(
    label: str, held_out: bool, track: list[Outlook], ended: bool, budget: float
) -> OutlookRow:
    """What is said where "auto" stops: after its budget, or a quarter of it that closed little."""
    quarter, most = (
        max(
            (one for one in track if one.nodes <= max(part * budget, 1.0)),
            key=lambda one: one.nodes,
        )
        for part in (0.25, 1.0)
    )
    told = quarter if quarter.open and quarter.gap > (1.0 - STEADY) * quarter.root_gap else most
    seconds = track[-1].seconds if ended else extrapolated(track)
    return OutlookRow(label, held_out, ended, track[-1].nodes, seconds, told)


def extrapolated(track: list[Outlook]) -> float:
    """The seconds of a search that goes on as it did."""
    last = track[-1]
    late = [one for one in track if one.nodes >= 0.25 * last.nodes]
    if len(late) < 3:
        return math.inf
    slope = -np.polyfit([math.log(one.nodes) for one in late], [one.gap for one in late], 1)[0]
    return float(last.seconds * math.exp(min(last.gap / max(slope, 1e-300), 60.0)))


main = OutlookBenchmark().main

if __name__ == "__main__":
    main()
