"""How far a pass over X is, for whoever wants to know: listeners hear of every block read.

One listener is a bar on standard error, `progress`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class PassProgress:
    """What a listener hears after each block."""

    passes: float
    """Reads of this matrix so far, in units of one full pass over X."""

    done: int
    """Blocks read in this pass, of `total`."""

    total: int
    bytes: int
    """Bytes read in this pass."""


Listener = Callable[[PassProgress], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell `listener` of every block read in this block of code."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


class Meter:
    """The count of one pass of `total` blocks."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._bytes = total, 0, 0
        # Those of whoever begins the pass: blocks may be counted in another thread.
        self._listeners = _listeners.get()

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def add(self, size: int, passes: float) -> None:
        """A block of so many bytes is done; `passes` is the matrix's own count."""
        self._done, self._bytes = self._done + 1, self._bytes + size
        if self._listeners:
            now = PassProgress(passes, self._done, self._total, self._bytes)
            for listener in self._listeners:
                listener(now)


@contextmanager
def progress() -> Iterator[None]:
    """Show how far each pass over X is, in a `with` block; nothing where there is no terminal.

    The bar shows which pass it is, the bytes read and their number per second.

    Yields
    ------
    None
        The block runs meanwhile.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> with sb.progress():
    ...     solution = sb.solve(data.X, data.y, k=3, ridge=0.1)
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
