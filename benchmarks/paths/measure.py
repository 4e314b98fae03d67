"""One seed: our path with its certificates, cold solves, and the peers' paths."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import median

import numpy as np

from benchmarks.common.bars import Verdict
from benchmarks.common.command import say
from benchmarks.common.peers.base import PathPeer
from benchmarks.common.problems import Problem
from benchmarks.common.timing import timed
from sparsebounds import Program, path, solve
from sparsebounds.datasets import make_correlated
from sparsebounds.models import refit

ROWS, CORRELATION, SNR, RIDGE = 500, 0.5, 5.0, 0.05
SHARE, AS_GOOD, OFTEN = 1.0 / 3.0, 1e-6, 0.95


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


def measure(seed: int, columns: int, most: int, peers: Sequence[PathPeer]) -> PathRow:
    """Ours, cold solves, then the peers, on one seed."""
    data = make_correlated(ROWS, columns, CORRELATION, snr=SNR, random_state=seed)
    X, y, ks = np.asfortranarray(data.X), data.y, list(range(1, most + 1))
    # Before and after the cold solves: whatever else the machine does meets both.
    runs = [timed(lambda: path(X, y, ks=ks, ridge=RIDGE))]
    cold = [timed(lambda k=k: solve(X, y, k=k, ridge=RIDGE, exact=False)) for k in ks]
    runs.append(timed(lambda: path(X, y, ks=ks, ridge=RIDGE)))
    total, found = min(runs, key=itemgetter(0))
    # Points have the clock on the wall: their shares of it are those of the processor.
    share = total / sum(point.seconds for point in found)
    row = PathRow(
        seed=seed,
        ks=ks,
        upper=found.upper.tolist(),
        lower=found.lower.tolist(),
        rel_gap=found.rel_gap.tolist(),
        seconds=[point.seconds * share for point in found],
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
    for peer in peers:
        compare(peer, Problem(X, y, ridge=RIDGE), program, row)
    return row


def compare(peer: PathPeer, problem: Problem, program: Program, row: PathRow) -> None:
    """One peer: the better of two runs is its time, every size refitted."""
    reason = peer.missing()
    if reason is not None:
        row.reasons[peer.name] = reason
        say(f"  {peer.name}: {reason}")
        return
    most = row.ks[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.run(problem, 2)  # compiled, imported
        seconds, named = min(
            (timed(lambda: peer.run(problem, most)) for _ in range(2)), key=itemgetter(0)
        )
        values = []
        for k in row.ks:
            supports = {tuple(np.flatnonzero(coef).tolist()) for coef in named(k)}
            models = [refit(program, np.array(one, dtype=np.int64)).value for one in supports]
            values.append(min(models, default=math.nan))
    row.others[peer.name], row.other_seconds[peer.name] = values, seconds
    better = sum(a < b - AS_GOOD * b for a, b in zip(values, row.upper, strict=True))
    worse = sum(a > b + AS_GOOD * b for a, b in zip(values, row.upper, strict=True))
    say(f"  {peer.name}: {seconds:.2f} s; better than ours at {better} sizes, worse at {worse}")


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
