"""All commands together: what typer says about wrong use, and warnings, reach a terminal safely."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand, TyperGroup

from sparsebounds._support.printable import printable
from sparsebounds.cli._output import sentences, tell

OPTION = re.compile(r"-(?!\.?\d)")
"""How an option begins, and a negative number does not."""


class Commands(TyperGroup):
    """typer's group of commands; foreign text in its own errors is made printable."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _plain_words():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _plain_words(), _remarks(), sentences((MemoryError,)):
            return super().invoke(ctx)


class Command(TyperCommand):
    """typer's command; --positive without a label is --nonnegative."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        following = [*args[1:], "-"]
        args = [
            "--nonnegative" if word == "--positive" and OPTION.match(after) else word
            for word, after in zip(args, following, strict=False)
        ]
        return super().parse_args(ctx, args)


@contextmanager
def _plain_words() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # click has its errors in its own package or inside typer, by their versions.
        if hasattr(error, "format_message"):
            error.message = printable(error.message, lines=True)  # type: ignore[attr-defined]
        raise


@contextmanager
def _remarks() -> Iterator[None]:
    """Warnings as remarks, without the place in the source that they come from."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        tell(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
