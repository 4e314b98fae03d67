"""Numbers in print; bounds are rounded to the safe side.

A lower bound is rounded down, an objective and a gap up, so that a sentence is as true as the
number behind it. Thousands are separated, and powers of ten are for what is tiny or huge.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 7
TINY, HUGE = 1e-4, 1e15
"""Sizes outside of which a number is written with a power of ten."""


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A number in print, at most the number itself."""
    return _rounded(value, digits, ROUND_FLOOR)


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """A number in print, at least the number itself."""
    return _rounded(value, digits, ROUND_CEILING)


def readable(value: float, digits: int = 6) -> str:
    """A number that is no bound, rounded to nearest: all digits before the point, some after."""
    if not (TINY <= abs(value) < HUGE):
        return f"{value:.{digits}g}"
    after = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{after}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent_up(fraction: float) -> str:
    """A fraction in percent, two digits, rounded up; "under 0.001%" where it is that small."""
    if not 1e-5 < fraction < math.inf:
        return "under 0.001%" if 0 < fraction <= 1e-5 else f"{100 * fraction:.0f}%"
    return f"{_decimal(100 * fraction, 2, ROUND_CEILING):f}%"


def _rounded(value: float, digits: int, direction: str) -> str:
    if not math.isfinite(value):
        return str(value)
    shown = _decimal(value, digits, direction)
    return f"{shown:,f}" if TINY <= abs(shown) < HUGE else f"{shown:.{digits}g}"


def _decimal(value: float, digits: int, direction: str) -> Decimal:
    return Context(prec=digits, rounding=direction).create_decimal(value)


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 node, 2 nodes."""
    return f"{number} {noun}{'s' * (number != 1)}"
