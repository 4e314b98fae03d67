"""Tables with many more rows than columns: processor time next to the Gram product, and memory.

1,000,000 x 50 and 300,000 x 200 float64 numbers, in C order, in Fortran order and in a data frame;
neighbouring columns have correlation 0.9, and 2 k of them have effects of 0.5 to 1 in the response.
k = 10, ridge 1e-3, an intercept, standardized columns. The Gram product is X^T X by BLAS, the least
of five runs, in the same process. `solve` is as users call it; "exact adds" is what `exact=True`
takes beyond that, for 20 nodes at most (it ends with a batch of them). Times are of the processor,
with one thread of BLAS, the least of some runs; the peak is that of another run, by tracemalloc, as
a share of the data.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

import sparsebounds as sb
from benchmarks.common import machine
from benchmarks.common.bars import Verdict
from benchmarks.common.command import finish, parser_of, say
from benchmarks.common.page import Page, caption_of

SIZES = ((1_000_000, 50), (300_000, 200))
ORDERS = ("C", "F", "frame")
K, RIDGE, CORRELATION, NODES = 10, 1e-3, 0.9, 20
GRAMS, SHARE = 8.0, 0.5
"""The bars for the squared loss: `solve`, and what the exact search adds; and memory, for all."""

HEADER = (
    "rows x columns",
    "loss",
    "order",
    "Gram s",
    "solve s",
    "/ Gram",
    "peak",
    "exact adds s",
    "/ Gram",
    "nodes",
    "peak",
    "verify s",
    "gap",
)


def table(n: int, m: int, loss: str, seed: int) -> tuple[Any, Any]:
    """The columns in C order, with means and scales of their own, and the response."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    for j in range(1, m):
        X[:, j] *= np.sqrt(1.0 - CORRELATION**2)
        X[:, j] += CORRELATION * X[:, j - 1]
    w = np.zeros(m)
    w[rng.choice(m, 2 * K, replace=False)] = rng.uniform(0.5, 1.0, 2 * K)
    signal = X @ w
    signal /= signal.std()
    X *= rng.uniform(0.5, 2.0, size=m)
    X += rng.normal(size=m)
    if loss == "squared":
        return X, signal + rng.normal(size=n)
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * signal)), 1.0, -1.0)


def seconds(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Of the processor, the least of some runs; and what the last one returned."""
    least, found = np.inf, None
    for _ in range(runs):
        found = None
        began = time.process_time()
        found = work()
        least = min(least, time.process_time() - began)
    return least, found


def peak(work: Callable[[], Any], size: int) -> float:
    """Memory that some work takes at most, as a share of `size` bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / size
    finally:
        tracemalloc.stop()


def measured(n: int, m: int, loss: str, order: str, seed: int, runs: int) -> dict[str, Any]:
    """One line of the table."""
    X, y = table(n, m, loss, seed)
    if order == "F":
        X = np.asfortranarray(X)
    size, gram = X.nbytes, seconds(lambda: X.T @ X, 5)[0]
    if order == "frame":
        X = pd.DataFrame(X, columns=[f"c{j}" for j in range(m)])
    problem: dict[str, Any] = {
        "k": K,
        "ridge": RIDGE,
        "loss": loss,
        "standardize": True,
        "fit_intercept": True,
    }

    def solve() -> Any:
        return sb.solve(X, y, **problem)

    def search() -> Any:
        return sb.solve(X, y, **problem, exact=True, node_limit=NODES)

    took, _ = seconds(solve, runs)
    whole, found = seconds(search, runs)
    checked, valid = seconds(lambda: found.certificate.verify(X, y), 1)
    assert valid
    return {
        "n": n,
        "m": m,
        "loss": loss,
        "order": order,
        "gram": gram,
        "solve": took,
        "peak": peak(solve, size),
        "exact": whole - took,
        "nodes": found.stats.nodes,
        "exact_peak": peak(search, size),
        "verify": checked,
        "gap": found.rel_gap,
    }


def line(at: dict[str, Any]) -> list[str]:
    """One measurement as text."""
    return [
        f"{at['n']:,} x {at['m']}",
        at["loss"],
        at["order"],
        f"{at['gram']:.3f}",
        f"{at['solve']:.2f}",
        f"{at['solve'] / at['gram']:.1f}",
        f"{at['peak']:.2f}",
        f"{at['exact']:.2f}",
        f"{at['exact'] / at['gram']:.1f}",
        f"{at['nodes']}",
        f"{at['exact_peak']:.2f}",
        f"{at['verify']:.2f}",
        f"{at['gap']:.1e}",
    ]


def verdicts_of(lines: list[dict[str, Any]]) -> list[Verdict]:
    """The bars: memory, and for the squared loss time."""
    loss = lines[0]["loss"]
    share = max(max(at["peak"], at["exact_peak"]) for at in lines)
    memory = Verdict(f"{loss}: memory", f"at most {SHARE:g} of X", f"{share:.2f}", share <= SHARE)
    if loss != "squared":
        return [memory]
    solve = max(at["solve"] / at["gram"] for at in lines)
    exact = max(at["exact"] / at["gram"] for at in lines)
    bar = f"at most {GRAMS:g} Gram products"
    return [
        Verdict("squared: solve", bar, f"{solve:.1f}", solve <= GRAMS),
        Verdict("squared: exact adds", bar, f"{exact:.1f}", exact <= GRAMS),
        memory,
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, save."""
    parser = parser_of("scale.tall", __doc__, save=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--part", type=float, default=1.0, help="a part of the rows")
    parser.add_argument("--loss", choices=("squared", "logistic"), default="squared")
    options = parser.parse_args(arguments)
    rows, loss = [], options.loss
    for n, m in SIZES:
        for order in ORDERS if loss == "squared" else ORDERS[:1]:
            count = int(options.part * n)
            rows.append(measured(count, m, loss, order, options.seed, options.runs))
            say(" ".join(line(rows[-1])))
    page = Page(
        title=f"Tall tables, {loss} loss, seed {options.seed}",
        caption=caption_of(__doc__),
        header=HEADER,
        lines=[line(at) for at in rows],
        verdicts=verdicts_of(rows),
        absences=[],
        machine=machine.describe(("sparsebounds", "numpy", "pandas")),
    )
    times = {f"{at['n']} x {at['m']}, {at['loss']}, {at['order']}": at["solve"] for at in rows}
    finish(page, options, "tall" if loss == "squared" else f"tall-{loss}", times, rows)


if __name__ == "__main__":
    main()
