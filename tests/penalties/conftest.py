"""What the tests of the penalties share: masks, a grid of cases, a referee in high precision."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

M = 9


def mask(*features: int) -> np.ndarray:
    """The features told, out of M."""
    return np.isin(np.arange(M), features)


VECTOR = np.array([0.3, 2.0, 1.0, 1.0, 0.05, 7.0, 0.9, 3.0, 0.4])
RIDGES = {"ridge=1": 1.0, "ridge=0.02": 0.02, "ridge vector": VECTOR}
FIXINGS = {
    "free": {},
    "fixed": {"inside": mask(0, 5), "outside": mask(2)},
    "positive": {"positive": mask(*range(M))},
    "mixed": {"inside": mask(1, 4), "outside": mask(0, 8), "positive": mask(1, 2, 3, 8)},
}


@pytest.fixture(params=RIDGES)
def ridge(request: pytest.FixtureRequest) -> float | np.ndarray:
    return RIDGES[request.param]


@pytest.fixture(params=FIXINGS)
def fixing(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    return FIXINGS[request.param]


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
