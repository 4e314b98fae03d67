"""Which random cases a test draws: few in the suite, many in `make test-long`."""

from __future__ import annotations

import os
import zlib

LONG = bool(os.environ.get("SPARSEBOUNDS_LONG"))


def seeds(few: int, *of: object) -> range:
    """Seeds of one combination `of` a loss, a form, ..., and of no other: `few` for each of many
    combinations draw more kinds of data than many that all of them share. 20 times `few` in
    `make test-long`. The first is a multiple of 4: a test may let the last bits choose."""
    start = 4 * (zlib.crc32(repr(of).encode()) % 1_000_000)
    return range(start, start + few * (20 if LONG else 1))
