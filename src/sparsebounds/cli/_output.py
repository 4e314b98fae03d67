"""Consoles, exit codes, one JSON object, and errors as one sentence with exit code 2."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from sparsebounds._errors import InputError

if TYPE_CHECKING:
    from sparsebounds._path import PathProgress
    from sparsebounds.exact import SearchProgress
    from sparsebounds.relaxation import Progress

    Report = Callable[[Progress | SearchProgress | PathProgress], None]

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

OK, REFUSED, BAD_INPUT, BOUNDED = 0, 1, 2, 3

WIDEST = 80
"""Columns of tables and prose; a wider terminal does not make longer lines."""


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what a user can get wrong into a sentence; other errors stay tracebacks."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        errors.print(f"[bold red]Error:[/] {escape(str(error))}")
        raise typer.Exit(BAD_INPUT) from error


def say(text: RenderableType = "") -> None:
    """Print prose or a table for a reader."""
    console.print(text, width=min(WIDEST, console.width))


def tell(sentence: str) -> None:
    """A remark that is neither result nor error, on standard error."""
    errors.print(f"[dim]{escape(sentence)}[/]")


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object on one line; what is not finite is null, as JSON has no infinity."""
    print(json.dumps(finite(document), allow_nan=False))


def finite(value: Any) -> Any:
    """The same value, with None for every number that is not finite."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def check_writable(**paths: Path | None) -> None:
    """Refuse a file that cannot be written before the work rather than after it."""
    for option, path in paths.items():
        if path is not None and not path.parent.is_dir():
            raise InputError(f"--{option} {path}: the folder {path.parent} does not exist.")
        if path is not None and path.is_dir():
            raise InputError(f"--{option} {path} is a folder; name a file.")


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """A spinner on standard error with the bounds so far, only where that is a terminal; a
    sentence, once, where a search is expected to be long."""
    warned = False

    def warn(now: Progress | SearchProgress | PathProgress) -> None:
        nonlocal warned
        outlook = getattr(now, "outlook", None)
        if outlook is not None and outlook.hard and not warned:
            errors.print(outlook.words)
            warned = True

    if not errors.is_terminal:
        yield warn
        return
    with errors.status(f"{what} ...") as status:

        def report(now: Progress | SearchProgress | PathProgress) -> None:
            warn(now)
            status.update(f"{what}: {now.line()}, {now.seconds:.1f} s")

        yield report


@contextmanager
def bar(name: str, steps: int) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error; nothing where that is no terminal."""
    shown = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
    with shown:
        task = shown.add_task(name, total=steps)
        yield lambda: shown.advance(task)
