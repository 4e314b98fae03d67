"""Our times before and after a change, row by row.

    python -m benchmarks.relaxation --ours --json before.json      (on the code before, then after)
    python -m benchmarks.compare before.json after.json

A row that is slower by more than 5% is flagged, and the exit status is then 1. A row whose other
numbers (objective, bound, nodes) differ by more than 1e-9 says so: the work is not the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

SLOWER, SAME = 1.05, 1e-9


def compared(before: dict[str, Any], after: dict[str, Any]) -> tuple[list[str], int]:
    """One line of text per row, and how many rows are slower."""
    old = {each["row"]: each for each in before["times"]}
    new = {each["row"]: each for each in after["times"]}
    width = max(map(len, [*old, *new]), default=0)
    lines = [f"{'row':{width}}  {'before':>11}  {'after':>11}  {'ratio':>6}"]
    ratios = []
    for name in old:
        first, second = old[name]["seconds"], new.get(name, {}).get("seconds")
        if first is None or second is None:
            lines.append(f"{name:{width}}  {'only before' if first else 'not measured before'}")
            continue
        ratios.append(second / first)
        line = f"{name:{width}}  {1e3 * first:8.2f} ms  {1e3 * second:8.2f} ms  {ratios[-1]:6.2f}"
        notes = ["SLOWER"] if ratios[-1] > SLOWER else []
        notes += [f"{key} {a} -> {b}" for key, a, b in differing(old[name], new[name])]
        lines.append("  ".join([line, *notes]))
    lines += [f"{name:{width}}  only after" for name in new if name not in old]
    slower = sum(ratio > SLOWER for ratio in ratios)
    if ratios:
        mean = geometric_mean(ratios)
        lines.append(
            f"{slower} of {len(ratios)} rows slower by more than 5%; mean ratio {mean:.3f}"
        )
    return lines, slower


def differing(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """What is not the same besides the time."""
    found = []
    for key in (key for key in old if key in new and key not in ("row", "seconds")):
        a, b = old[key], new[key]
        numbers = isinstance(a, int | float) and isinstance(b, int | float)
        if a != b and not (numbers and abs(a - b) <= SAME * max(abs(a), abs(b))):
            found.append((key, a, b))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args(arguments)
    before, after = (json.loads(path.read_text()) for path in (options.before, options.after))
    if before["benchmark"] != after["benchmark"]:
        parser.error(f"{before['benchmark']} and {after['benchmark']} are different benchmarks.")
    lines, slower = compared(before, after)
    print("\n".join(lines))
    sys.exit(slower > 0)


if __name__ == "__main__":
    main()
