"""Reading a table of ten million cells: `tables.read_table` against polars alone.

    python -m benchmarks.tables [ROWS COLUMNS]

Each reader runs in a process of its own, three times; the least time counts, and the peak
memory beyond what the process held before it read (Linux).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

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


def main(rows: int = 100_000, columns: int = 100) -> None:
    """Write the table, read it in every way, print times, peaks and their ratios to polars."""
    values = np.random.default_rng(0).normal(size=(rows, columns)).round(6)
    frame = pl.DataFrame({f"c{j}": values[:, j] for j in range(columns)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.write_csv(path)
        print(
            f"{rows} x {columns} = {rows * columns:,} cells, {path.stat().st_size / 2**20:.0f} MiB"
        )
        found = {name: measured(setup, path) for name, setup in READERS.items()}
    seconds, memory = found["polars"]
    print(f"{'reader':18} {'s':>7} {'ratio':>6} {'peak MiB':>9} {'ratio':>6}")
    for name, (time, peak) in found.items():
        print(f"{name:18} {time:7.2f} {time / seconds:6.2f} {peak:9.0f} {peak / memory:6.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
