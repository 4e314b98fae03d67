"""polars, loaded when it is first used: a command that reads no table does not wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polars import *  # noqa: F403


def __getattr__(name: str) -> Any:
    import polars

    return getattr(polars, name)
