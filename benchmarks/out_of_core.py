"""python -m benchmarks.out_of_core: a matrix larger than the memory it may take, on disk.

Writes n x m float32 numbers block by block, y from ten of the columns, and reads them: reading
alone (the file through one buffer, or Zarr's own chunks), one product X^T a, the first look at the
data (`Program`: norms and checksums), the relaxation and the whole solution with its certificate.
Predicted are the seconds of the first look, and those of one product for every further pass.
RssAnon is what the process holds itself, without the pages of the file that the system keeps.

    python -m benchmarks.out_of_core [--gib 8] [--memory "1 GiB"] [--keep FILE] [--zarr] [--save]
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sparsebounds as sb
from benchmarks import machine
from benchmarks.bars import Verdict
from benchmarks.page import Page
from sparsebounds.matrices import StoredMatrix

ROWS, STEP = 20_000, 400
BUFFER = 1 << 26
PROBLEMS: dict[str, dict[str, Any]] = {
    "squared, k=20": {"k": 20, "ridge": 0.1},
    "logistic, l0": {"l0": 0.01, "ridge": 0.1, "loss": "logistic", "fit_intercept": True},
}


@dataclass
class Row:
    """One line of the table."""

    what: str
    cache: str
    passes: float
    seconds: float
    peak: float
    note: str = ""


def blocks(columns: int) -> Iterator[np.ndarray]:
    """The matrix, STEP rows at a time."""
    rng = np.random.default_rng(0)
    for _ in range(0, ROWS, STEP):
        yield rng.standard_normal((STEP, columns), dtype=np.float32)


def write_npy(path: Path, columns: int) -> np.ndarray:
    """Write the file; the response."""
    head = {"descr": "<f4", "fortran_order": False, "shape": (ROWS, columns)}
    signal = []
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, head)  # type: ignore[arg-type]
        for block in blocks(columns):
            file.write(block)
            signal.append(planted(block))
        os.fsync(file.fileno())
    return noisy(np.concatenate(signal))


def write_zarr(path: Path, columns: int) -> np.ndarray:
    """The same as a Zarr array of row chunks, not compressed."""
    import zarr

    array = zarr.create_array(
        path, shape=(ROWS, columns), chunks=(STEP, columns), dtype="f4", compressors=None
    )
    signal = []
    for count, block in enumerate(blocks(columns)):
        array[count * STEP : (count + 1) * STEP] = block
        signal.append(planted(block))
    return noisy(np.concatenate(signal))


def planted(block: np.ndarray) -> np.ndarray:
    """What the ten planted columns say."""
    chosen = np.linspace(0, block.shape[1] - 1, 10).astype(int)
    return block[:, chosen].astype(float).sum(axis=1)


def noisy(signal: np.ndarray) -> np.ndarray:
    return signal + np.random.default_rng(1).normal(scale=2.0, size=len(signal))


def forget(path: Path) -> None:
    """Ask the system to drop the file from its cache."""
    os.sync()
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    for one in files:
        with one.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_alone(path: Path) -> None:
    """Every byte through one buffer; of a Zarr array, every chunk."""
    if path.is_dir():
        import zarr

        array = zarr.open_array(path, mode="r")
        for top in range(0, ROWS, STEP):
            np.asarray(array[top : top + STEP])
        return
    room = memoryview(bytearray(BUFFER))
    with path.open("rb", buffering=0) as file:
        while file.readinto(room):
            pass


def anonymous() -> float:
    """RssAnon, in GiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 2**20
    return float("nan")


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """The largest RssAnon, sampled by a thread."""
    peak, done = [anonymous()], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], anonymous())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def measure(path: Path, y: np.ndarray, memory: str) -> list[Row]:
    rows: list[Row] = []

    def timed(
        what: str, cache: str, work: Callable[[StoredMatrix], Any], *, opened: bool = True
    ) -> Any:
        if cache == "cold":
            forget(path)
        matrix = sb.open_matrix(path, memory=memory) if opened else None
        with peak_memory() as peak:
            start = time.perf_counter()
            found = work(matrix)
            seconds = time.perf_counter() - start
        passes = matrix.passes if matrix is not None else 1.0
        rows.append(Row(what, cache, passes, seconds, peak[0]))
        print(rows[-1], flush=True)
        return found

    classes = np.sign(y)
    a = np.ones(len(y))
    for cache in ("cold", "warm"):
        timed("reading alone", cache, lambda _: read_alone(path), opened=False)
        timed("X^T a", cache, lambda X: X.scores(a))
        timed("Program", cache, lambda X: sb.Program(X, y, k=20, ridge=0.1))
    for name, options in PROBLEMS.items():
        labels = classes if options.get("loss") == "logistic" else y
        timed(
            f"relax: {name}",
            "warm",
            lambda X, labels=labels, options=options: sb.relax(sb.Program(X, labels, **options)),
        )
        found = timed(
            f"solve: {name}",
            "warm",
            lambda X, labels=labels, options=options: sb.solve(X, labels, **options),
        )
        rows[-1].note = f"{found.lower:.6g} <= optimum <= {found.upper:.6g}"
    return rows


HEADER = ("what", "cache", "passes", "s", "GB/s", "over reading", "predicted", "RssAnon", "bounds")


def page_of(rows: list[Row], size: int, title: str) -> Page:
    """The table, and the bars."""
    one = {(row.what, row.cache): row.seconds for row in rows}
    lines, verdicts = [], []
    for row in rows:
        single = one["X^T a", row.cache]
        predicted = row.passes * single
        if row.what not in ("reading alone", "X^T a"):
            predicted = one["Program", row.cache] + (row.passes - 1.0) * single
        speed = row.passes * size / row.seconds
        lines.append(
            [
                row.what,
                row.cache,
                f"{row.passes:.1f}",
                f"{row.seconds:.1f}",
                f"{speed / 1e9:.2f}",
                f"{speed * one['reading alone', row.cache] / size:.2f}",
                f"{predicted:.1f} s ({row.seconds / predicted:.2f})",
                f"{row.peak:.2f} GiB",
                row.note,
            ]
        )
        if row.what.startswith(("relax", "solve")):
            ratio = max(row.seconds / predicted, predicted / row.seconds)
            bar = "predicted within a factor of 2"
            verdicts.append(Verdict(row.what, bar, f"{ratio:.2f}", ratio < 2.0))
    peak = max(row.peak for row in rows)
    verdicts.append(Verdict("anonymous memory", "under 2 GiB", f"{peak:.2f} GiB", peak < 2.0))
    return Page(
        title=title,
        caption=" ".join(__doc__.split("\n\n")[1].split()),
        header=HEADER,
        lines=lines,
        verdicts=verdicts,
        absences=[],
        machine=machine.describe(("sparsebounds", "numpy", "zarr")),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=8.0)
    parser.add_argument("--memory", default="1 GiB")
    parser.add_argument("--keep", type=Path, help="write here, and leave it there")
    parser.add_argument("--zarr", action="store_true", help="a Zarr array in place of .npy")
    parser.add_argument("--save", action="store_true", help="into results/")
    chosen = parser.parse_args()
    columns = int(chosen.gib * 2**30 / 4 / ROWS)
    folder = Path(tempfile.mkdtemp())
    path = chosen.keep or folder / ("X.zarr" if chosen.zarr else "X.npy")
    try:
        y = (write_zarr if chosen.zarr else write_npy)(path, columns)
        rows = measure(path, y, chosen.memory)
        kind = "Zarr" if chosen.zarr else "npy"
        title = (
            f"{ROWS:,} x {columns:,} float32, {chosen.gib:g} GiB of {kind}, {chosen.memory} held"
        )
        page = page_of(rows, ROWS * columns * 4, title)
        page.show()
        if chosen.save:
            page.save(f"out-of-core-{kind.lower()}", [asdict(row) for row in rows])
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
