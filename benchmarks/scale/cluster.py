"""A problem larger than memory, its chunks made as they are read.

A square float32 X (64 GiB unless --gib says otherwise) in chunks of 128 MiB: rows, or columns with
--columns. Each row (column) is a stretch of one long seeded normal sample, from a place of its own:
making a chunk costs a copy. The response is a planted model of 20 features plus noise. Solved
with a certificate for k = 20, squared loss, by two threads, or with --processes by a cluster of
two worker processes.

Printed: one pass that only makes the chunks, one pass of scores, the first pass (norms and
checksums), the solution's passes, seconds and GB/s, the peak of resident memory (all processes
together), and what the cost model says: the first pass, and a pass of scores for every other.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil

from benchmarks.common import machine
from benchmarks.common.bars import Verdict, predicted, under
from benchmarks.common.command import finish, parser_of
from benchmarks.common.memory import Watch
from benchmarks.common.page import Page, caption_of
from benchmarks.common.timing import WALL, timed
from sparsebounds.matrices.dask import DaskMatrix
from sparsebounds.program import Program
from sparsebounds.solving.solve import solve_program

CHUNK = 128 << 20
"""Bytes of a chunk."""

K = 20
RIDGE = 0.1
SAMPLE = 1 << 25
"""Numbers in the sample."""


@cache
def sample() -> np.ndarray:
    """The long sample that all chunks are cut from."""
    return np.random.default_rng(0).standard_normal(SAMPLE, dtype=np.float32)


def chunk(by_columns: bool, block_info: Any = None) -> np.ndarray:
    """The chunk at this place; chunks of columns are stored by columns."""
    rows, columns = block_info[None]["chunk-shape"]
    count, length = (columns, rows) if by_columns else (rows, columns)
    rng = np.random.default_rng((1, *block_info[None]["chunk-location"]))
    starts = rng.integers(SAMPLE - length, size=count)
    block = np.empty((count, length), dtype=np.float32)
    for line, start in zip(block, starts.tolist(), strict=True):
        line[:] = sample()[start : start + length]
    return block.T if by_columns else block


def problem(gib: float, by_columns: bool) -> da.Array:
    """A square float32 array of this size."""
    side = math.isqrt(int(gib * (1 << 30)) // 4)
    size = max(1, CHUNK // (4 * side))
    cut = tuple(min(size, side - start) for start in range(0, side, size))
    chunks = ((side,), cut) if by_columns else (cut, (side,))
    return da.map_blocks(
        chunk, by_columns, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), dtype=np.float32)
    )


def response(X: da.Array) -> np.ndarray:
    """A planted model plus noise, four times weaker."""
    rng = np.random.default_rng(0)
    support = np.sort(rng.choice(X.shape[1], K, replace=False))
    signal = X[:, support].astype(np.float64).compute() @ rng.choice([-1.0, 1.0], size=K)
    return signal + rng.normal(scale=0.5 * np.std(signal), size=len(signal))


def resident() -> int:
    """Bytes of resident memory of this process and its children."""
    me, total = psutil.Process(), 0
    for process in (me, *me.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


@contextmanager
def processes() -> Iterator[None]:
    """A cluster of two worker processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
            memory_limit=0,
        ) as cluster,
        Client(cluster),
    ):
        yield


def measure(
    gib: float, by_columns: bool, ridge: float, verify: bool
) -> tuple[list[tuple[str, str]], dict[str, float], list[Verdict]]:
    """Rows of the table, seconds, and the bars."""
    X = problem(gib, by_columns)
    gigabytes = X.nbytes / 1e9
    shape = f"{X.shape[0]:,} x {X.shape[1]:,} float32, {X.nbytes / (1 << 30):.1f} GiB"
    cut = f"{X.numblocks[0]} x {X.numblocks[1]} chunks of {X.chunksize[0]} x {X.chunksize[1]}"
    rows = [("data", shape), ("chunks", cut)]

    times: dict[str, float] = {}

    def pass_of(what: str, seconds: float) -> None:
        times[what] = seconds
        rows.append((what, f"{seconds:.1f} s, {gigabytes / seconds:.2f} GB/s"))

    def corner(block: np.ndarray) -> np.ndarray:
        return block[:1, :1].copy()

    sample()
    with Watch(resident, 0.05) as memory:
        one = (1,) * X.numblocks[0], (1,) * X.numblocks[1]
        corners = X.map_blocks(corner, chunks=one, dtype=np.float32)
        pass_of("one pass, chunks made", timed(corners.compute, WALL)[0])
        y = response(X)
        scoring = timed(lambda: DaskMatrix(X).scores(y), WALL)[0]
        pass_of("one pass, scores", scoring)
        first, program = timed(lambda: Program(X, y, k=K, ridge=ridge), WALL)
        pass_of("first pass, norms and checksums", first)
        seconds, found = timed(lambda: solve_program(program), WALL)
        passes = program.matrix.passes
        times["solution"] = total = first + seconds
        expected = first + (passes - 1.0) * scoring
        rows += [
            ("solution", found.message),
            ("bounds", f"{found.lower:.9g} <= optimum <= {found.upper:.9g}"),
            ("passes", f"{passes:.2f}"),
            ("seconds", f"{total:.1f}, {passes * gigabytes / total:.2f} GB/s"),
            ("cost model", f"{expected:.1f} s, {total / expected:.2f} of it measured"),
        ]
        if verify:
            checking, verdict = timed(lambda: found.certificate.verify(X, y), WALL)
            rows.append(("verified", f"{bool(verdict)}, {checking:.1f} s"))
    peak = memory.peak / (1 << 30)
    rows.append(("peak memory", f"{peak:.2f} GiB"))
    return (
        rows,
        times,
        [
            under("memory", peak, 8.0, "GiB"),
            predicted("cost model", "within a factor of 2", total, expected),
        ],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, save."""
    parser = parser_of("scale.cluster", __doc__, save=True)
    parser.add_argument("--gib", type=float, default=64.0)
    parser.add_argument("--ridge", type=float, default=RIDGE, help="smaller: harder")
    parser.add_argument("--columns", action="store_true", help="chunks of columns, not of rows")
    parser.add_argument("--processes", action="store_true", help="two worker processes")
    parser.add_argument("--verify", action="store_true", help="check the certificate as well")
    options = parser.parse_args(arguments)
    scheduler = (
        processes() if options.processes else dask.config.set(scheduler="threads", num_workers=2)
    )
    with scheduler:
        rows, times, verdicts = measure(options.gib, options.columns, options.ridge, options.verify)
    who = "Two worker processes" if options.processes else "Two threads"
    where = machine.describe(("sparsebounds", "numpy", "dask", "distributed"))
    page = Page(
        title=f"A problem larger than memory: {who.lower()}, k = {K}, ridge {options.ridge}",
        caption=caption_of(__doc__),
        header=("what", "measured"),
        lines=rows,
        verdicts=verdicts,
        absences=[],
        machine=where | {"threads used": 2},
    )
    name = f"cluster-{'columns' if options.columns else 'rows'}"
    finish(page, options, name, times, dict(rows))


if __name__ == "__main__":
    main()
