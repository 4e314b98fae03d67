"""python -m benchmarks [--only NAME ...] [--quick] [--no-save]"""

from __future__ import annotations

import argparse

from benchmarks import machine, report
from benchmarks.bars import judge
from benchmarks.problems import PROBLEMS, QUICK
from benchmarks.relaxation import run


def main() -> None:
    """Run, print one table, save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="problems whose name holds NAME")
    parser.add_argument("--quick", action="store_true", help="the small problems: a minute")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    options = parser.parse_args()
    names = list(QUICK) if options.quick else list(PROBLEMS)
    if options.only:
        names = [name for name in PROBLEMS if any(part in name for part in options.only)]
        if not names:
            parser.error(f"no problem of that name; there are: {', '.join(PROBLEMS)}")
    rows, missing = run(names, say=lambda text: print(text, flush=True))
    about, verdicts = machine.describe(), judge(rows)
    report.page(rows, verdicts, missing, about).show()
    complete = not (options.quick or options.only or options.no_save)
    if complete:  # part of the table never replaces all of it
        for path in report.save(rows, verdicts, missing, about):
            print(f"saved {path}")


if __name__ == "__main__":
    main()
