"""Grids in words: 1:30, 0:50:5 or 1,2,5 for whole numbers, 1:0.001:30 for a geometric range."""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.errors import InputError

PRICES = 20
"""Numbers of a geometric range that does not say how many."""


def sizes(option: str, text: str) -> list[int]:
    """Whole numbers in words: first:last or first:last:step, and commas."""
    found: list[int] = []
    for part in text.split(","):
        numbers = part.strip().split(":")
        if not all(number.strip().isdecimal() for number in numbers) or len(numbers) > 3:
            raise InputError(f"{option} {text!r}: write 1:30, 0:50:5 or 1,2,5, with whole numbers.")
        first, last = int(numbers[0]), int(numbers[min(1, len(numbers) - 1)])
        step = int(numbers[2]) if len(numbers) == 3 else 1
        if step == 0 or last < first:
            raise InputError(f"{option} {text!r}: {part.strip()} names no number.")
        found += range(first, last + 1, step)
    return found


def prices(option: str, text: str) -> list[float]:
    """Numbers greater than 0 in words: first:last or first:last:count (geometric), and commas."""
    found: list[float] = []
    for part in text.split(","):
        try:
            numbers = [float(number) for number in part.split(":")]
        except ValueError:
            numbers = []
        usable = all(0.0 < number < math.inf for number in numbers)
        if not usable or not 1 <= len(numbers) <= 3:
            raise InputError(
                f"{option} {text!r}: write 1:0.001:30 or 1,0.1,0.01, with numbers greater than 0."
            )
        count = max(1, int(numbers[2])) if len(numbers) == 3 else PRICES
        if len(numbers) == 1:
            found.append(numbers[0])
        else:
            found += np.geomspace(numbers[0], numbers[1], count).tolist()
    return found
