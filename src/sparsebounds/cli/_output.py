"""Consoles, exit codes, one JSON object, and errors as one sentence with exit code 2.

Everything printed for a reader passes `printable`, and no text is read as rich's markup.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from sparsebounds._support.documents import jsonable
from sparsebounds._support.printable import printable
from sparsebounds.exact import NearProgress, SearchProgress
from sparsebounds.paths import PathProgress
from sparsebounds.relaxation import Progress


class PlainConsole(Console):
    """A console that shows strings, in cells of tables too, and obeys nothing in them."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text, lines=True), **options)


PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
console = PlainConsole(**PLAIN)
errors = PlainConsole(stderr=True, soft_wrap=True, **PLAIN)

OK, REFUSED, BAD_INPUT, NOT_OPTIMAL = 0, 1, 2, 3

WIDEST = 80
"""Columns of tables and prose; a wider terminal does not make longer lines."""


def finish(statuses: Iterable[str], *, require_optimal: bool) -> NoReturn:
    """End a command: a model with valid bounds is a result, whatever the gap.

    Only where the proof of optimality was asked for, what is not optimal to --tol ends with
    NOT_OPTIMAL.
    """
    proved = all(status == "optimal" for status in statuses)
    raise typer.Exit(OK if proved or not require_optimal else NOT_OPTIMAL)


MISTAKES = (ValueError, TypeError, OSError)
"""What a user can get wrong."""


OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in ("l0", "ridge", "ball", "tol", "stop", "eps", "time_limit", "max_supports", "loss")
} | {"k": "-k", "sample_weight": "--weights"}
"""The library's arguments, as the command line calls them."""

ARGUMENT = re.compile(rf"(^|data: |, at |lower |more than |with )({'|'.join(OPTIONS)})(=|\b)")


def in_options(sentence: str) -> str:
    """A sentence of the library in the words of the command line: k=5 is -k 5.

    Only where a sentence of ours names an argument, and not in names from the data.
    """

    def option(found: re.Match[str]) -> str:
        return found[1] + OPTIONS[found[2]] + (" " if found[3] else "")

    return ARGUMENT.sub(option, sentence)


@contextmanager
def sentences(caught: tuple[type[Exception], ...] = MISTAKES) -> Iterator[None]:
    """Turn these errors into a sentence; others stay tracebacks."""
    try:
        yield
    except caught as error:
        said = in_options(str(error))
        if isinstance(error, MemoryError):
            said = f"There is too little memory. {said}".rstrip(". ") + ": take fewer data."
        errors.print(Text.assemble(("Error:", "bold red"), " ", printable(said)))
        raise typer.Exit(BAD_INPUT) from error


def plain_table(*titles: str, text: str | None = None) -> Table:
    """A table without lines: columns of numbers, and one of `text`, which may break."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        if title == text:
            table.add_column(title, overflow="fold")
        else:
            table.add_column(title, justify="right", no_wrap=True)
    return table


def say(text: RenderableType = "", style: str | None = None) -> None:
    """Print prose or a table for a reader."""
    console.print(text, style=style, width=min(WIDEST, console.width))


def tell(sentence: str) -> None:
    """A remark that is neither result nor error, on standard error."""
    errors.print(printable(sentence), style="dim")


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object on one line; what is not finite is null, as JSON has no infinity."""
    text = json.dumps(jsonable(document), allow_nan=False)
    print(text.replace("\x7f", "\\u007f"))  # the one control that json leaves as it is


def print_csv(text: str) -> None:
    """Print a table for programs as it is, for a terminal as it can be read."""
    print(printable(text, lines=True) if sys.stdout.isatty() else text, end="")


@contextmanager
def spinner(
    what: str, *, to_the_end: bool = False
) -> Iterator[Callable[[Progress | SearchProgress | PathProgress | NearProgress], None]]:
    """A spinner on standard error with the bounds so far, only where that is a terminal.

    A sentence, once, where a search that is to go on to the end is expected to be long.
    """
    warned = False
    shown = errors.status(Text(printable(f"{what} ..."))) if errors.is_terminal else None

    def report(now: Progress | SearchProgress | PathProgress | NearProgress) -> None:
        nonlocal warned
        outlook = getattr(now, "outlook", None)
        if to_the_end and not warned and outlook is not None and outlook.hard:
            errors.print(outlook.words)
            warned = True
        if shown is not None:
            shown.update(Text(printable(f"{what}: {now.line()}, {now.seconds:.1f} s")))

    with shown or nullcontext():
        yield report


@contextmanager
def bar(name: str, steps: int) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error; nothing where that is no terminal."""
    if not errors.is_terminal:  # a disabled bar of rich before 14.3 ends with an empty line
        yield lambda: None
        return
    shown = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
    )
    with shown:
        task = shown.add_task(printable(name), total=steps)
        yield lambda: shown.advance(task)
