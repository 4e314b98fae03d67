"""Near names for a word that is not known, and lists of names short enough for a sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN = 8
"""Names that a sentence lists; the others are counted."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ " Did you mean 'x'?" with the nearest of the known words, or nothing where none is near."""
    if word.isdecimal():
        return ""
    lowered = {name.lower(): name for name in known}
    parts = [name for name in lowered if len(word) > 2 and word.lower() in name.split("_")]
    near = difflib.get_close_matches(word.lower(), lowered, n=1) or parts
    return f" Did you mean {lowered[near[0]]!r}?" if near else ""


def listing(names: Iterable[str], shown: int = SHOWN) -> str:
    """The first names, with a count of the others."""
    every = list(names)
    more = f" and {len(every) - shown} more" if len(every) > shown else ""
    return ", ".join(every[:shown]) + more
