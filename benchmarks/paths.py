"""python -m benchmarks.paths [--quick] [--no-save]

A path of 50 sizes on 500 x 5000 data, ours with a certificate at every size that is verified
here, against other software's paths: the same objective, evaluated by us for all; and what a point
of the path costs beside a cold `solve` at the same k.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

import numpy as np

from benchmarks import machine
from benchmarks.bars import Verdict
from benchmarks.page import Page, three
from benchmarks.path_tools import PATH_TOOLS, PathTool
from benchmarks.problems import Problem
from benchmarks.timing import timed
from sparsebounds import Program, path, solve
from sparsebounds.datasets import make_correlated
from sparsebounds.models import refit

ROWS, COLUMNS, CORRELATION, SNR, RIDGE = 500, 5000, 0.5, 5.0, 0.05
SEEDS, SIZES, SHOWN = (0, 1, 2), 50, (1, 5, 10, 15, 20, 30, 40, 50)
SHARE, AS_GOOD, OFTEN = 1.0 / 3.0, 1e-6, 0.95
PACKAGES = ("sparsebounds", "numpy", "scipy", "abess", "skglm", "numba")
CAPTION = (
    "500 x 5000, autoregressive columns (0.5), ten ones, SNR 5, ridge 0.05. Ours: objective, "
    "proved lower bound and gap at each k; ms: that point of the path, its share of set-up and "
    "certificate included; cold: solve at that k. Others: their objective after our refit less "
    "ours, relative to ours (= where equal to 1e-6). The rows `path` hold the seconds of whole "
    "paths; others' refits are not in them."
)


@dataclass
class PathRow:
    """One seed: all sizes, ours and theirs."""

    seed: int
    ks: list[int]
    upper: list[float]
    lower: list[float]
    rel_gap: list[float]
    seconds: list[float]
    """Of each point, its share of the rest of the path included."""

    total: float
    verified: int
    """Certificates that verify."""

    cold: list[float]
    cold_upper: list[float]
    others: dict[str, list[float]] = field(default_factory=dict)
    """Their objectives at each k; NaN where they name no model."""

    other_seconds: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def ratios(self) -> list[float]:
        """Point of the path over cold solve, at each k."""
        return [ours / cold for ours, cold in zip(self.seconds, self.cold, strict=True)]

    def excess(self, i: int) -> float:
        """Ours against the best of the others at the i-th size, relative to it."""
        best = np.nanmin([*(values[i] for values in self.others.values()), math.inf])
        return (self.upper[i] - float(best)) / abs(float(best)) if best < math.inf else math.nan


def posed(seed: int, columns: int) -> Problem:
    """The data of a seed."""
    data = make_correlated(ROWS, columns, CORRELATION, snr=SNR, random_state=seed)
    return Problem(np.asfortranarray(data.X), data.y, ridge=RIDGE)


def measure(seed: int, columns: int, most: int, say: Callable[[str], None]) -> PathRow:
    """Ours, cold solves, then the others, on one seed."""
    problem, ks = posed(seed, columns), list(range(1, most + 1))
    X, y = problem.X, problem.y
    # Before and after the cold solves: whatever else the machine does meets both.
    runs = [timed(lambda: path(X, y, ks=ks, ridge=RIDGE))]
    cold = [timed(lambda k=k: solve(X, y, k=k, ridge=RIDGE)) for k in ks]
    runs.append(timed(lambda: path(X, y, ks=ks, ridge=RIDGE)))
    total, found = min(runs, key=first)
    rest = (total - sum(point.seconds for point in found)) / len(found)
    row = PathRow(
        seed=seed,
        ks=ks,
        upper=found.upper.tolist(),
        lower=found.lower.tolist(),
        rel_gap=found.rel_gap.tolist(),
        seconds=[point.seconds + rest for point in found],
        total=total,
        verified=sum(verdict.ok for verdict in found.verify(X, y)),
        cold=[seconds for seconds, _ in cold],
        cold_upper=[alone.upper for _, alone in cold],
    )
    say(
        f"seed {seed}: path {total:.2f} s, {row.verified} certificates verified, cold solves "
        f"{sum(row.cold):.2f} s, median ratio {median(row.ratios()):.2f}"
    )
    program = Program(X, y, k=most, ridge=RIDGE)
    for tool in PATH_TOOLS:
        compare(tool, problem, program, row, say)
    return row


def compare(
    tool: PathTool, problem: Problem, program: Program, row: PathRow, say: Callable[[str], None]
) -> None:
    """One tool: the better of two runs is its time, every size refitted."""
    reason = tool.reason_to_skip()
    if reason is not None:
        row.reasons[tool.name] = reason
        say(f"  {tool.name}: {reason}")
        return
    most = row.ks[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tool.run(problem, 2)  # compiled, imported
        seconds, named = min((timed(lambda: tool.run(problem, most)) for _ in range(2)), key=first)
        values = []
        for k in row.ks:
            supports = {tuple(np.flatnonzero(coef).tolist()) for coef in named(k)}
            models = [refit(program, np.array(one, dtype=np.int64)).value for one in supports]
            values.append(min(models, default=math.nan))
    row.others[tool.name], row.other_seconds[tool.name] = values, seconds
    better = sum(a < b - AS_GOOD * b for a, b in zip(values, row.upper, strict=True))
    worse = sum(a > b + AS_GOOD * b for a, b in zip(values, row.upper, strict=True))
    say(f"  {tool.name}: {seconds:.2f} s; better than ours at {better} sizes, worse at {worse}")


def first(run: tuple[float, object]) -> float:
    """The seconds of a timed run."""
    return run[0]


def judge(rows: Sequence[PathRow]) -> list[Verdict]:
    """The bars: proofs everywhere, a third of a cold solve, as good as the best of the others."""
    asked = sum(len(row.ks) for row in rows)
    verified = sum(row.verified for row in rows)
    ratio = median(value for row in rows for value in row.ratios())
    excess = [row.excess(i) for row in rows for i in range(len(row.ks))]
    excess = [value for value in excess if not math.isnan(value)]
    good, better = (
        sum(value <= AS_GOOD for value in excess),
        sum(value < -AS_GOOD for value in excess),
    )
    quality = f"{good} of {len(excess)}; better at {better}" if excess else "nobody to compare with"
    if excess and max(excess) > AS_GOOD:
        quality += f"; at worst {max(excess):.1e}"
    return [
        Verdict("path", "a certificate at every k", f"{verified} of {asked}", verified == asked),
        Verdict(
            "path",
            "a point costs at most a third of a cold solve (median over k)",
            f"{ratio:.2f}",
            ratio <= SHARE,
        ),
        Verdict(
            "path",
            f"at most {AS_GOOD:g} worse than the best of the others at {OFTEN:.0%} of sizes",
            quality,
            good >= OFTEN * len(excess) if excess else None,
        ),
    ]


def lines(row: PathRow) -> list[list[str]]:
    """A seed as text: some sizes, then the whole path."""
    found = []
    for k in SHOWN:
        if k not in row.ks:
            continue
        i = row.ks.index(k)
        found.append(
            [
                f"seed {row.seed}, k={k}",
                f"{row.upper[i]:.6g}",
                f"{row.lower[i]:.6g}",
                f"{row.rel_gap[i]:.2%}",
                three(1e3 * row.seconds[i]),
                three(1e3 * row.cold[i]),
                _signed(row.cold_upper[i], row.upper[i]),
                *(
                    _signed(row.others[tool.name][i], row.upper[i])
                    if tool.name in row.others
                    else "-"
                    for tool in PATH_TOOLS
                ),
            ]
        )
    seconds = (row.other_seconds.get(tool.name, math.nan) for tool in PATH_TOOLS)
    whole = [f"{value:.2f} s" if not math.isnan(value) else "-" for value in seconds]
    sums = [f"{row.total:.2f} s", f"{sum(row.cold):.2f} s"]
    return [*found, [f"seed {row.seed}, path", "", "", "", *sums, "", *whole]]


def _signed(value: float, ours: float) -> str:
    relative = (value - ours) / abs(ours)
    if math.isnan(relative):
        return "-"
    return "=" if abs(relative) <= AS_GOOD else f"{relative:+.1e}"


def main() -> None:
    """Run, print one table, save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paths", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small seed: seconds")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    options = parser.parse_args()
    seeds, columns, most = ((0,), 500, 15) if options.quick else (SEEDS, COLUMNS, SIZES)
    path(np.eye(3), np.ones(3), ks=[1], ridge=1.0)  # imported
    rows = [measure(seed, columns, most, lambda text: print(text, flush=True)) for seed in seeds]
    verdicts = judge(rows)
    reasons = {name: reason for row in rows for name, reason in row.reasons.items()}
    about = machine.describe(PACKAGES)
    page = Page(
        title="Paths",
        caption=CAPTION,
        header=["", "objective", "lower", "gap", "ms", "cold", "cold objective"]
        + [tool.name for tool in PATH_TOOLS],
        lines=[line for row in rows for line in lines(row)],
        verdicts=verdicts,
        absences=[f"{name}: {reason}" for name, reason in reasons.items()],
        machine=about,
    )
    page.show()
    if not (options.quick or options.no_save):
        data = {
            "machine": about,
            "rows": [asdict(row) for row in rows],
            "bars": [asdict(verdict) for verdict in verdicts],
        }
        for file in page.save("paths", data):
            print(f"saved {file}")


if __name__ == "__main__":
    main()
