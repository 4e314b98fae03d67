"""What the tests of the penalties share: a referee in high precision."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import mpmath
import pytest


def solve_exactly(t: list, d: list, k: int) -> tuple[list, mpmath.mpf]:
    """(u, b) with u_i = clip(t_i/b - d_i, 0, 1) of sum k, segment by segment in 60 digits."""
    with mpmath.workdps(60):
        t, d = [mpmath.mpf(x) for x in t], [mpmath.mpf(x) for x in d]
        if sum(x > 0 for x in t) <= k:
            return [mpmath.mpf(x > 0) for x in t], mpmath.mpf(0)
        pairs = list(zip(t, d, strict=True))
        knots = sorted(
            {x / y for x, y in pairs} | {x / (1 + y) for x, y in pairs} | {mpmath.mpf(0)}
        )

        def spread(b: mpmath.mpf) -> list:
            return [min(max(x / b - y, 0), 1) for x, y in pairs]

        for low, high in itertools.pairwise(knots):
            if sum(spread(high)) > k:
                continue
            middle = (low + high) / 2
            full = sum(x / (1 + y) >= middle for x, y in pairs)
            partial = [(x, y) for x, y in pairs if x / (1 + y) < middle < x / y]
            if not partial:
                return spread(middle), low
            b = sum(x for x, _ in partial) / (k - full + sum(y for _, y in partial))
            return spread(b), b
        raise AssertionError("the budget is spent at no slope")


@pytest.fixture
def referee() -> Callable[[list, list, int], tuple[list, mpmath.mpf]]:
    return solve_exactly
