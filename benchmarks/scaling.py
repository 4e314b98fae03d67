"""python -m benchmarks.scaling: how time grows with m, and how much memory a relaxation takes.

Time: n = 500, float32, m from 1e3 to 1e6 (2 GB), squared loss, ridge 0.05, l0 = 0.1 l0_max: time
over m should not grow. Memory: a process of its own holds a 1000 x 50,000 float64 matrix and
relaxes; its peak, less what it held before the matrix was made, is to stay below 1.3 matrices.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.signal import lfilter

from benchmarks import machine, page
from benchmarks.problems import Problem, l0_max
from benchmarks.timing import best_of, product_seconds, timed
from sparsebounds.relaxation import Relaxation, relax

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MEMORY_BAR = 1.3


def correlated_in_place(
    n: int, m: int, dtype: Any, ridge: float, correlation: float = 0.5
) -> Problem:
    """Like `make_correlated`, row by row into one array of the type asked for."""
    rng = np.random.default_rng(0)
    X = np.empty((n, m), dtype)
    fresh = np.sqrt(1.0 - correlation**2)
    for row in X:
        noise = rng.standard_normal(m)
        noise[0] /= fresh  # so that every column has variance 1
        row[:] = lfilter([fresh], [1.0, -correlation], noise)
    signal = X[:, np.linspace(0, m - 1, 10).astype(int)].astype(float).sum(axis=1)
    y = signal + rng.normal(scale=np.sqrt(np.var(signal) / 5.0), size=n)
    # l0_max in blocks of columns: no second matrix.
    largest = max(
        l0_max(X[:, j : j + 1000].astype(float), y, "squared", ridge) for j in range(0, m, 1000)
    )
    return Problem(X, y, l0=0.1 * largest, ridge=ridge)


def time_at(m: int) -> dict[str, float]:
    """Seconds and passes at one m."""
    problem = correlated_in_place(500, m, np.float32, 0.05)
    setup, program = timed(problem.program)
    last: list[Relaxation] = []

    def once() -> float:
        seconds, found = timed(lambda: relax(program))
        last[:] = [found]
        return seconds

    seconds = best_of(once)
    stats = last[0].stats
    return {
        "m": m,
        "seconds": seconds,
        "setup": setup,
        "passes": stats.full_passes,
        "newton_steps": stats.newton_steps,
        "product": product_seconds(problem),
        "gap": last[0].gap / max(abs(last[0].value), program.null),
    }


def memory_here() -> dict[str, float]:
    """The peak of this process while it relaxes, over the matrix it holds."""
    relax(
        correlated_in_place(50, 200, np.float64, 1.0).program()
    )  # imports and buffers of libraries
    before = status("VmRSS")
    problem = correlated_in_place(1000, 50_000, np.float64, 1.0)
    held = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is held now
    found = relax(problem.program())
    peak, size = status("VmHWM"), problem.X.nbytes
    return {
        "matrix_bytes": size,
        "ratio": (peak - before) / size,
        "above_matrix_bytes": peak - held,
        "passes": found.stats.full_passes,
    }


def memory() -> dict[str, float]:
    """`memory_here` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--memory-here"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def status(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {name}; memory is measured on Linux only.")


def main() -> None:
    """Both measurements, printed and saved."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest m")
    parser.add_argument("--memory-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_here:
        print(json.dumps(memory_here()))
        return
    table = Table(title="n = 500, float32", header_style="bold")
    for heading in ("m", "ms", "ns / m", "set-up ms", "passes", "Newton", "/ X^T a", "gap"):
        table.add_column(heading, justify="right")
    sizes = []
    for m in (size for size in SIZES if size <= options.most):
        print(f"m = {m} ...", flush=True)
        at = time_at(m)
        sizes.append(at)
        table.add_row(
            f"{m}",
            f"{1e3 * at['seconds']:.2f}",
            f"{1e9 * at['seconds'] / m:.0f}",
            f"{1e3 * at['setup']:.2f}",
            f"{at['passes']:.2f}",
            f"{at['newton_steps']}",
            f"{at['seconds'] / at['product']:.1f}",
            f"{at['gap']:.0e}",
        )
    Console().print(table)
    used = memory()
    verdict = "pass" if used["ratio"] <= MEMORY_BAR else "MISS"
    print(
        f"{verdict} 1000 x 50,000 float64: at most {MEMORY_BAR}x the matrix: {used['ratio']:.3f}x, "
        f"{used['above_matrix_bytes'] / 2**20:.0f} MiB above the matrix while relaxing"
    )
    about = machine.describe()
    print(page.machine_line(about))
    if options.most >= SIZES[-1]:
        page.RESULTS.mkdir(exist_ok=True)
        path = page.RESULTS / "scaling.json"
        path.write_text(
            json.dumps({"machine": about, "time": sizes, "memory": used}, indent=1) + "\n"
        )
        print(f"saved {path}")


if __name__ == "__main__":
    main()
