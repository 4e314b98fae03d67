"""Numbers in print, rounded to the safe side.

A lower bound is rounded down, an objective and a gap up, so that a sentence is as true as the
number behind it.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 7


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A number in print, at most the number itself."""
    return _rounded(value, digits, ROUND_FLOOR)


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """A number in print, at least the number itself."""
    return _rounded(value, digits, ROUND_CEILING)


def percent_up(fraction: float) -> str:
    """A fraction in percent, two digits, rounded up; "under 0.001%" where it is that small."""
    if not 1e-5 < fraction < math.inf:
        return "under 0.001%" if 0 < fraction <= 1e-5 else f"{100 * fraction:.0f}%"
    return f"{Decimal(rounded_up(100 * fraction, 2)):f}%"


def _rounded(value: float, digits: int, direction: str) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{Context(prec=digits, rounding=direction).create_decimal(value):.{digits}g}"
