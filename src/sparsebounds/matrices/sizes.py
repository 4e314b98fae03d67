"""Amounts of memory in words: "2 GiB", "500 MB", or a number of bytes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sparsebounds._errors import InputError

UNITS = {"B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}


def byte_count(name: str, size: Any) -> int:
    """The bytes that `size` stands for; `name` is the argument."""
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size > 0:
        return int(size)
    parts = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]+)\s*", size) if isinstance(size, str) else None
    units = {unit.lower(): factor for unit, factor in UNITS.items()}
    try:
        if parts is not None:
            count = int(float(parts[1]) * units[parts[2].lower()])
            if count > 0:
                return count
    except (KeyError, ValueError):
        pass
    raise InputError(
        f'{name}={size!r} is no amount of memory: pass "2 GiB", "500 MB" or a number of bytes.'
    )


def in_words(count: float) -> str:
    """Bytes as a reader likes them: 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"
