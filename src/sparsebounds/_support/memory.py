"""How much memory data from a file may take: what a file claims is compared with it first.

The limit is what the machine has free: of the system, of this process's control group (where a
container has one) and of its own limit. SPARSEBOUNDS_MEMORY, such as "8 GiB", takes its place.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sparsebounds._support.errors import InputError

VARIABLE = "SPARSEBOUNDS_MEMORY"
UNKNOWN = 4 << 30
"""The limit where the system does not say what is free."""

UNITS = {"b": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}
MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")


def room() -> int:
    """Bytes that data may take."""
    given = os.environ.get(VARIABLE)
    if given:
        return byte_count(VARIABLE, given)
    known = [free for free in (_system(), _group(), _process()) if free is not None]
    return min(known, default=UNKNOWN)


def check_room(said: str, needed: int, remedy: str) -> None:
    """InputError where `said`, a file or an array, would take more memory than there is."""
    limit = room()
    if needed > limit:
        raise InputError(
            f"{said} would take {in_words(needed)} of memory, and {in_words(limit)} are free; "
            f"{remedy}, or set {VARIABLE} to more if that is wrong."
        )


def byte_count(name: str, size: Any) -> int:
    """The bytes that `size` stands for; `name` is the argument."""
    if hasattr(size, "__index__") and not isinstance(size, bool) and size > 0:
        return int(size)
    parts = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]+)\s*", str(size), re.ASCII)
    if parts is not None and isinstance(size, str):
        count = int(float(parts[1]) * UNITS.get(parts[2].lower(), 0))
        if count > 0:
            return count
    raise InputError(
        f'{name}={size!r} is not an amount of memory: pass "2 GiB", "500 MB" or a number of bytes.'
    )


def in_words(count: float) -> str:
    """Bytes as a reader likes them: 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def _system() -> int | None:
    """What the system can give without swapping."""
    try:
        found = re.search(r"^MemAvailable:\s*(\d+) kB", MEMINFO.read_text(), re.MULTILINE)
        if found is not None:
            return 1024 * int(found[1])
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (OSError, ValueError, AttributeError):
        return None


def _group() -> int | None:
    """What a container has left of its own limit."""
    try:
        limit, used, parts = (
            (GROUP / f"memory.{name}").read_text() for name in ("max", "current", "stat")
        )
        # Pages of files count as used, but make way.
        cached = sum(map(int, re.findall(r"^(?:in)?active_file (\d+)", parts, re.MULTILINE)))
        return max(0, int(limit) - int(used) + cached)
    except (OSError, ValueError):
        return None


def _process() -> int | None:
    """What this process may still take, where a limit is set on it."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - taken)
