"""A bar on standard error for each pass over data that are read by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sparsebounds.matrices.progress import PassProgress, heard_by


@contextmanager
def progress() -> Iterator[None]:
    """Show how far each pass over X is, in a `with` block; nothing where there is no terminal.

    The bar shows which pass it is, the bytes read and their number per second.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:  # a disabled bar of rich before 14.3 ends with an empty line
        yield
        return
    shown = Progress(
        TextColumn("pass {task.fields[number]:.1f}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
    )
    with shown:
        task = shown.add_task("", total=None, number=0.0)

        def show(now: PassProgress) -> None:
            if now.done == 1:
                shown.reset(task)
            whole = now.bytes * now.total // now.done
            shown.update(task, completed=now.bytes, total=whole, number=now.passes)

        with heard_by(show):
            yield
