"""Two versions of the code in turn, row by row: how much slower or faster the later one is.

    git worktree add ../older COMMIT
    python -m benchmarks.alternate models --before ../older/src

Each version has a process of its own, and the benchmarks are those of this checkout. What else the
machine does meets both versions alike: a row is run by the one, then by the other, some rounds
long, and the least processor time of each counts. The comparison is that of `benchmarks.compare`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import timing
from benchmarks.common.command import Benchmark
from benchmarks.common.problems import ROOT, Unavailable
from benchmarks.compare import compared

TABLES = ("relaxation", "models", "groups", "paths", "exact")
SHORT = 0.5
"""Seconds that short runs of one row may take in all, each time."""


def table(name: str, options: Sequence[str]) -> tuple[Benchmark[Any], list[str]]:
    """A benchmark without its peers, and the names of its rows."""
    module = importlib.import_module(f"benchmarks.{name}.__main__")
    found: Benchmark[Any] = module.main.__self__
    return found, found.parse(["--ours", *options])


def serve(name: str, options: Sequence[str]) -> None:
    """Measure the rows that are asked for, one per line, until there are no more."""
    timing.SHORT, out = SHORT, sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        found, _ = table(name, options)
        for line in sys.stdin:
            try:
                times = found.times(found.measure(line.strip()))
            except Unavailable:
                times = []
            print(json.dumps(times), file=out, flush=True)
        found.end()


class Version:
    """A process that measures with the code of one folder, and the least times so far."""

    def __init__(self, source: Path, name: str, options: Sequence[str]) -> None:
        words = [sys.executable, "-m", "benchmarks.alternate", name, "--serve", *options]
        self._process = subprocess.Popen(
            words,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(source.resolve())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.times: dict[str, dict[str, Any]] = {}

    def measure(self, row: str) -> None:
        """Run a row once more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{row}\n")
        self._process.stdin.flush()
        for each in json.loads(self._process.stdout.readline()):
            least = self.times.setdefault(each["row"], each)
            least["seconds"] = min(least["seconds"], each["seconds"])

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both versions and print the comparison."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.alternate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--before", type=Path, metavar="SRC", help="the earlier src")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args(arguments)
    if options.serve:
        serve(options.table, rest)
        return
    _, names = table(options.table, rest)
    sources = options.before, ROOT / "src"
    before, after = versions = [Version(source, options.table, rest) for source in sources]
    for name in names:
        for _ in range(options.rounds):
            for version in versions:
                version.measure(name)
    for version in versions:
        version.end()
    lines, slower = compared(*({"times": list(one.times.values())} for one in (before, after)))
    print("\n".join(lines))
    sys.exit(slower > 0)


if __name__ == "__main__":
    main()
