"""A matrix larger than the memory it may take, on disk.

Writes n x m float32 numbers block by block, y from ten of the columns, and reads them: reading
alone (the file through one buffer, or Zarr's own chunks), one product X^T a, the first look at the
data (`Program`: norms and checksums), the relaxation and the whole solution with its certificate.
Predicted are the seconds of the first look, and those of one product for every further pass.
RssAnon is what the process holds itself, without the pages of the file that the system keeps.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sparsebounds as sb
from benchmarks.common import machine
from benchmarks.common.bars import predicted, under
from benchmarks.common.command import finish, parser_of, say
from benchmarks.common.memory import Watch, held
from benchmarks.common.page import Page, caption_of
from benchmarks.common.timing import WALL, timed
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


def written(store: Callable[[int, np.ndarray], Any], columns: int) -> np.ndarray:
    """Hand the matrix to `store`, STEP rows at a time; the response, from ten columns and noise."""
    rng = np.random.default_rng(0)
    chosen = np.linspace(0, columns - 1, 10).astype(int)
    signal = np.empty(ROWS)
    for top in range(0, ROWS, STEP):
        block = rng.standard_normal((STEP, columns), dtype=np.float32)
        store(top, block)
        signal[top : top + STEP] = block[:, chosen].astype(float).sum(axis=1)
    return signal + np.random.default_rng(1).normal(scale=2.0, size=ROWS)


def write_npy(path: Path, columns: int) -> np.ndarray:
    """Write the file; the response."""
    head = {"descr": "<f4", "fortran_order": False, "shape": (ROWS, columns)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
        y = written(lambda _, block: file.write(block), columns)
        os.fsync(file.fileno())
    return y


def write_zarr(path: Path, columns: int) -> np.ndarray:
    """The same as a Zarr array of row chunks, not compressed."""
    import zarr

    array = zarr.create_array(
        path, shape=(ROWS, columns), chunks=(STEP, columns), dtype="f4", compressors=None
    )
    return written(lambda top, block: array.__setitem__(slice(top, top + STEP), block), columns)


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


def measure(path: Path, y: np.ndarray, memory: str) -> list[Row]:
    """Reading, one product, the first look, and whole solutions."""
    rows: list[Row] = []

    def run(
        what: str, cache: str, work: Callable[[StoredMatrix], Any], *, opened: bool = True
    ) -> Any:
        if cache == "cold":
            forget(path)
        matrix = sb.open_matrix(path, memory=memory) if opened else None
        with Watch(lambda: held("RssAnon"), 0.01) as watch:
            seconds, found = timed(lambda: work(matrix), WALL)
        passes = matrix.passes if matrix is not None else 1.0
        rows.append(Row(what, cache, passes, seconds, watch.peak / 2**30))
        say(rows[-1])
        return found

    a = np.ones(len(y))
    for cache in ("cold", "warm"):
        run("reading alone", cache, lambda _: read_alone(path), opened=False)
        run("X^T a", cache, lambda X: X.scores(a))
        run("Program", cache, lambda X: sb.Program(X, y, k=20, ridge=0.1))
    for name, options in PROBLEMS.items():
        labels = np.sign(y) if options.get("loss") == "logistic" else y
        program = partial(sb.Program, y=labels, **options)
        run(f"relax: {name}", "warm", lambda X, program=program: sb.relax(program(X)))
        found = run(f"solve: {name}", "warm", partial(sb.solve, y=labels, **options))
        rows[-1].note = f"{found.lower:.6g} <= optimum <= {found.upper:.6g}"
    return rows


HEADER = ("what", "cache", "passes", "s", "GB/s", "over reading", "predicted", "RssAnon", "bounds")


def page_of(rows: list[Row], size: int, title: str) -> Page:
    """The table, and the bars."""
    one = {(row.what, row.cache): row.seconds for row in rows}
    lines, verdicts = [], []
    for row in rows:
        single = one["X^T a", row.cache]
        expected = row.passes * single
        if row.what not in ("reading alone", "X^T a"):
            expected = one["Program", row.cache] + (row.passes - 1.0) * single
        speed = row.passes * size / row.seconds
        lines.append(
            [
                row.what,
                row.cache,
                f"{row.passes:.1f}",
                f"{row.seconds:.1f}",
                f"{speed / 1e9:.2f}",
                f"{speed * one['reading alone', row.cache] / size:.2f}",
                f"{expected:.1f} s ({row.seconds / expected:.2f})",
                f"{row.peak:.2f} GiB",
                row.note,
            ]
        )
        if row.what.startswith(("relax", "solve")):
            bar = "predicted within a factor of 2"
            verdicts.append(predicted(row.what, bar, row.seconds, expected))
    verdicts.append(under("anonymous memory", max(row.peak for row in rows), 2.0, "GiB"))
    return Page(
        title=title,
        caption=caption_of(__doc__),
        header=HEADER,
        lines=lines,
        verdicts=verdicts,
        absences=[],
        machine=machine.describe(("sparsebounds", "numpy", "zarr")),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write, measure, print, save."""
    parser = parser_of("scale.out_of_core", __doc__, save=True)
    parser.add_argument("--gib", type=float, default=8.0)
    parser.add_argument("--memory", default="1 GiB")
    parser.add_argument("--keep", type=Path, help="write here, and leave it there")
    parser.add_argument("--zarr", action="store_true", help="a Zarr array in place of .npy")
    options = parser.parse_args(arguments)
    columns = int(options.gib * 2**30 / 4 / ROWS)
    folder = Path(tempfile.mkdtemp())
    path = options.keep or folder / ("X.zarr" if options.zarr else "X.npy")
    try:
        y = (write_zarr if options.zarr else write_npy)(path, columns)
        rows = measure(path, y, options.memory)
        kind = "Zarr" if options.zarr else "npy"
        title = (
            f"{ROWS:,} x {columns:,} float32, {options.gib:g} GiB of {kind}, {options.memory} held"
        )
        page = page_of(rows, ROWS * columns * 4, title)
        times = {f"{row.what}, {row.cache}": row.seconds for row in rows}
        name = f"out-of-core-{kind.lower()}"
        finish(page, options, name, times, [asdict(row) for row in rows])
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
