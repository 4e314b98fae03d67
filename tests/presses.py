"""Ctrl-C, pressed in a callback."""

from __future__ import annotations

from typing import Any


class Presser:
    """A callback that presses Ctrl-C the n-th time that it is called with some kind of progress."""

    def __init__(self, at: int, kind: type = object) -> None:
        self.at, self.kind, self.count = at, kind, 0

    def __call__(self, now: Any) -> None:
        self.count += isinstance(now, self.kind)
        if self.count == self.at and isinstance(now, self.kind):
            raise KeyboardInterrupt
