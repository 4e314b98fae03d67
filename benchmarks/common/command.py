"""The command line of a benchmark that fills a table, one row (or more) per named problem.

A benchmark says how one problem is measured and how a row reads. Which problems are run, what is
printed and what is saved is decided here, for all of them.
"""

from __future__ import annotations

import argparse
import gc
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from benchmarks.common import machine
from benchmarks.common.bars import Verdict
from benchmarks.common.page import Page, grouped_reasons, write_json
from benchmarks.common.problems import Unavailable

Row = TypeVar("Row")
say = partial(print, flush=True)
"""Progress, one line per call."""


def parser_of(name: str, doc: str | None, *, save: bool = False) -> argparse.ArgumentParser:
    """A parser for `python -m benchmarks.NAME` that prints the docstring as its help.

    With --save where results are replaced only when asked.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    help_ = "write our times here, for `python -m benchmarks.compare`"
    parser.add_argument("--json", type=Path, metavar="FILE", help=help_)
    if save:
        parser.add_argument("--save", action="store_true", help="into results/")
    return parser


def finish(
    page: Page, options: argparse.Namespace, name: str, times: Mapping[str, float], data: Any
) -> None:
    """Print a page and write seconds by row; with --save results/NAME."""
    page.show()
    listed = [{"row": row, "seconds": seconds} for row, seconds in times.items()]
    write_times(options.json, name, page.machine, listed)
    if getattr(options, "save", False):
        page.save(name, data)


def write_times(file: Path | None, name: str, about: Any, times: Iterable[dict[str, Any]]) -> None:
    """Our times, for `python -m benchmarks.compare`: a dict with `row` and `seconds` per row."""
    if file is not None:
        write_json(file, {"benchmark": name, "machine": about, "times": list(times)})
        say(f"saved {file}")


class Benchmark(ABC, Generic[Row]):
    """A table with one or more lines per problem, its bars and its peers."""

    name: ClassVar[str]
    """Of its package and of its files in results/."""

    doc: ClassVar[str | None]
    title: ClassVar[str]
    caption: ClassVar[str]
    header: ClassVar[tuple[str, ...]]
    """Our columns; one per peer follows."""

    packages: ClassVar[tuple[str, ...]]
    """Those whose versions are reported."""

    quick: ClassVar[tuple[str, ...]]
    """The problems that --quick runs."""

    quick_help: ClassVar[str] = "a few small problems: a minute"
    width: ClassVar[int] = 190
    most_named: ClassVar[int] = 6
    """A reason not to run lists up to so many problems, and counts more than that."""

    same: ClassVar[tuple[str, ...]] = ("value", "lower")
    """Numbers of ours in a row that a change of the code should leave as they are."""

    saved: ClassVar[bool] = True
    """Whether a complete run replaces the files in results/."""

    problems: Mapping[str, Any]
    peers: Sequence[Any] = ()
    options: argparse.Namespace

    @abstractmethod
    def measure(self, name: str) -> Row:
        """One problem, ours and every peer; `Unavailable` where its data are not here."""

    @abstractmethod
    def judge(self, rows: Sequence[Row]) -> list[Verdict]:
        """The bars."""

    @abstractmethod
    def lines(self, row: Row) -> list[list[str]]:
        """A row as text: our columns, then one per peer."""

    def times(self, row: Row) -> list[dict[str, Any]]:
        """`row` and `seconds` of ours, and the numbers named in `same`."""
        same = {name: getattr(row, name) for name in self.same}
        return [{"row": row.problem, "seconds": row.seconds, **same}]

    def reasons(self, row: Row) -> list[tuple[str, str, str]]:
        """(who, why, problem) of what did not run, from the cells of a row."""
        found = []
        for one in row.cells.values():
            cells = one if isinstance(one, list) else [one]
            found += [(cell.who, cell.reason, row.problem) for cell in cells if cell.reason]
        return found

    def remarks(self) -> list[str]:
        """What else was not run, and why."""
        return []

    def plain(self, row: Row) -> list[dict[str, Any]]:
        """A row as the JSON file has it."""
        return [asdict(row)]  # type: ignore[call-overload]

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Options of its own."""

    def begin(self) -> None:
        """After the command line is read, before the first problem."""

    def end(self) -> None:
        """After the last problem."""

    def partial(self) -> bool:
        """Whether an option of its own makes the table one that must not replace the saved one."""
        return False

    def chosen(self) -> list[str]:
        """The problems to run where neither --quick nor --only says so."""
        return list(self.problems)

    def parse(self, arguments: Sequence[str] | None) -> list[str]:
        """Read the command line into `options`; the problems to run."""
        parser = parser_of(self.name, self.doc)
        parser.add_argument(
            "--only", nargs="+", metavar="NAME", help="problems with NAME in theirs"
        )
        parser.add_argument("--quick", action="store_true", help=self.quick_help)
        parser.add_argument("--ours", action="store_true", help="no peers, no bars, nothing saved")
        if self.saved:
            parser.add_argument("--no-save", action="store_true", help="leave results/ alone")
        self.add_options(parser)
        self.options = options = parser.parse_args(arguments)
        if options.ours:
            self.peers = ()
        self.begin()
        names = list(self.quick) if options.quick else self.chosen()
        if options.only:
            names = [name for name in self.problems if any(part in name for part in options.only)]
            if not names:
                parser.error(f"no problem of that name; there are: {', '.join(self.problems)}")
        return names

    def page(self, rows: Sequence[Row], missing: Mapping[str, str], about: Any) -> Page:
        """The table and what belongs to it."""
        reasons = [reason for row in rows for reason in self.reasons(row)]
        absences = [*grouped_reasons(reasons, self.most_named), *self.remarks()]
        return Page(
            title=self.title,
            caption=self.caption,
            header=[*self.header, *(peer.name for peer in self.peers)],
            lines=[line for row in rows for line in self.lines(row)],
            verdicts=[] if self.options.ours else self.judge(rows),
            absences=[*absences, *(f"{name}: {reason}" for name, reason in missing.items())],
            machine=about,
            width=self.width,
        )

    def data(self, rows: Sequence[Row], missing: Mapping[str, str], page: Page) -> dict[str, Any]:
        """What the JSON file holds."""
        return {
            "machine": page.machine,
            "rows": [plain for row in rows for plain in self.plain(row)],
            "bars": [asdict(verdict) for verdict in page.verdicts],
            "missing": missing,
        }

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Run, print one table, save it where it is complete."""
        names = self.parse(arguments)
        rows, missing = [], {}
        for name in names:
            try:
                rows.append(row := self.measure(name))
                for line in self.lines(row):
                    say("  ".join(line))
            except Unavailable as reason:
                missing[name] = str(reason)
                say(f"{name} not run: {reason}")
            gc.collect()
        self.end()
        page = self.page(rows, missing, machine.describe(self.packages))
        page.show()
        times = [time for row in rows for time in self.times(row)]
        write_times(self.options.json, self.name, page.machine, times)
        part = self.options.quick or self.options.only or self.options.ours or self.partial()
        if self.saved and not (part or self.options.no_save):
            for path in page.save(self.name, self.data(rows, missing, page)):
                say(f"saved {path}")
