"""Reading a table of ten million cells: `tables.read_table` against polars alone.

Each reader runs in a process of its own, three times; the least time counts, and the peak
memory beyond what the process held before it read (Linux).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.common import machine
from benchmarks.common.command import finish, parser_of
from benchmarks.common.page import Page, caption_of

READERS = {
    "polars": "import polars as pl; read = lambda: pl.read_csv(path)",
    "polars to matrix": "import polars as pl; read = lambda: pl.read_csv(path).to_numpy()",
    "read_table": (
        "from sparsebounds.tables import Choice, read_table; import polars; "
        "read = lambda: read_table(path, Choice(target='c0'))"
    ),
}
MEASURE = """
import json, sys, time
from pathlib import Path
path = Path(sys.argv[1])
{setup}
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before, began = peak(), time.perf_counter()
kept = read()
print(json.dumps([time.perf_counter() - began, (peak() - before) / 1024]))
"""


def measured(setup: str, path: Path) -> tuple[float, float]:
    """(seconds, MiB), the least of three runs each."""
    code = MEASURE.format(setup=setup)
    runs = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        runs.append(json.loads(done.stdout))
    seconds, memory = zip(*runs, strict=True)
    return min(seconds), min(memory)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table, read it in every way, print times, peaks and their ratios to polars."""
    parser = parser_of("scale.tables", __doc__)
    parser.add_argument("rows", type=int, nargs="?", default=100_000)
    parser.add_argument("columns", type=int, nargs="?", default=100)
    options = parser.parse_args(arguments)
    rows, columns = options.rows, options.columns
    values = np.random.default_rng(0).normal(size=(rows, columns)).round(6)
    frame = pl.DataFrame({f"c{j}": values[:, j] for j in range(columns)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.write_csv(path)
        size = path.stat().st_size / 2**20
        found = {name: measured(setup, path) for name, setup in READERS.items()}
    base, memory = found["polars"]
    page = Page(
        title=f"{rows} x {columns} = {rows * columns:,} cells, {size:.0f} MiB",
        caption=caption_of(__doc__),
        header=("reader", "s", "ratio", "peak MiB", "ratio of peaks"),
        lines=[
            [name, f"{s:.2f}", f"{s / base:.2f}", f"{peak:.0f}", f"{peak / memory:.2f}"]
            for name, (s, peak) in found.items()
        ],
        verdicts=[],
        absences=[],
        machine=machine.describe(("sparsebounds", "numpy", "polars")),
    )
    finish(page, options, "tables", {"read_table": found["read_table"][0]}, None)


if __name__ == "__main__":
    main()
