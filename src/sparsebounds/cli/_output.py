"""Consoles, and errors as one sentence with exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

OK, REFUSED, BAD_INPUT = 0, 1, 2


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what a user can get wrong into a sentence; other errors stay tracebacks."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        errors.print(f"[bold red]Error:[/] {escape(str(error))}")
        raise typer.Exit(BAD_INPUT) from error
