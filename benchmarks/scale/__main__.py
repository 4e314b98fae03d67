"""How time grows with m, and how much memory a relaxation takes.

Time: n = 500, float32, m from 1e3 to 1e6 (2 GB), squared loss, ridge 0.05, l0 = 0.1 l0_max: time
over m should not grow. Memory: a process of its own holds a 1000 x 50,000 float64 matrix and
relaxes; its peak, less what it held before the matrix was made, is to stay below 1.3 matrices.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common import machine
from benchmarks.common.bars import Verdict
from benchmarks.common.command import finish, parser_of, say
from benchmarks.common.memory import forget_peak, held
from benchmarks.common.page import RESULTS, Page, caption_of, write_json
from benchmarks.common.problems import Problem, l0_max, noisy
from benchmarks.common.timing import best_run, product_seconds, timed
from benchmarks.relaxation.table import Relaxations
from sparsebounds.relaxation import relax

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MEMORY_BAR = 1.3


def correlated_in_place(
    n: int, m: int, dtype: Any, ridge: float, correlation: float = 0.5
) -> Problem:
    """Like `make_correlated`, row by row into one array of the type asked for."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(0)
    X = np.empty((n, m), dtype)
    fresh = np.sqrt(1.0 - correlation**2)
    for row in X:
        noise = rng.standard_normal(m)
        noise[0] /= fresh  # so that every column has variance 1
        row[:] = lfilter([fresh], [1.0, -correlation], noise)
    signal = X[:, np.linspace(0, m - 1, 10).astype(int)].astype(float).sum(axis=1)
    y = noisy(signal, rng)
    # l0_max in blocks of columns: no second matrix.
    largest = max(
        l0_max(X[:, j : j + 1000].astype(float), y, "squared", ridge) for j in range(0, m, 1000)
    )
    return Problem(X, y, l0=0.1 * largest, ridge=ridge)


def time_at(m: int) -> dict[str, float]:
    """Seconds and passes at one m."""
    problem = correlated_in_place(500, m, np.float32, 0.05)
    setup, program = timed(problem.program)
    seconds, found = best_run(lambda: relax(program))
    return {
        "m": m,
        "seconds": seconds,
        "setup": setup,
        "passes": found.stats.full_passes,
        "newton_steps": found.stats.newton_steps,
        "product": product_seconds(problem),
        "gap": found.gap / max(abs(found.value), program.null),
    }


def memory_here() -> dict[str, float]:
    """The peak of this process while it relaxes, over the matrix it holds."""
    small = correlated_in_place(50, 200, np.float64, 1.0)
    relax(small.program())  # imports and buffers of libraries
    before = held()
    problem = correlated_in_place(1000, 50_000, np.float64, 1.0)
    with_matrix = held()
    forget_peak()
    found = relax(problem.program())
    peak, size = held("VmHWM"), problem.X.nbytes
    return {
        "matrix_bytes": size,
        "ratio": (peak - before) / size,
        "above_matrix_bytes": peak - with_matrix,
        "passes": found.stats.full_passes,
    }


def memory() -> dict[str, float]:
    """`memory_here` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scale", "--memory-here"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def line(at: dict[str, float]) -> list[str]:
    """One m as text."""
    return [
        f"{at['m']}",
        f"{1e3 * at['seconds']:.2f}",
        f"{1e9 * at['seconds'] / at['m']:.0f}",
        f"{1e3 * at['setup']:.2f}",
        f"{at['passes']:.2f}",
        f"{at['newton_steps']}",
        f"{at['seconds'] / at['product']:.1f}",
        f"{at['gap']:.0e}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Both measurements, printed and saved."""
    parser = parser_of("scale", __doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest m")
    parser.add_argument("--no-save", action="store_true", help="leave results/ alone")
    parser.add_argument("--memory-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.memory_here:
        print(json.dumps(memory_here()))
        return
    sizes = []
    for m in (size for size in SIZES if size <= options.most):
        say(f"m = {m} ...")
        sizes.append(time_at(m))
    used = memory()
    measured = (
        f"{used['ratio']:.3f}x, {used['above_matrix_bytes'] / 2**20:.0f} MiB above the matrix"
    )
    bar = f"at most {MEMORY_BAR}x the matrix"
    page = Page(
        title="n = 500, float32",
        caption=caption_of(__doc__),
        header=("m", "ms", "ns / m", "set-up ms", "passes", "Newton", "/ X^T a", "gap"),
        lines=[line(at) for at in sizes],
        verdicts=[Verdict("1000 x 50,000 float64", bar, measured, used["ratio"] <= MEMORY_BAR)],
        absences=[],
        machine=machine.describe(Relaxations.packages),
    )
    finish(page, options, "scaling", {f"m = {at['m']}": at["seconds"] for at in sizes}, None)
    if options.most >= SIZES[-1] and not options.no_save:
        data = {"machine": page.machine, "time": sizes, "memory": used}
        write_json(RESULTS / "scaling.json", data)


if __name__ == "__main__":
    main()
