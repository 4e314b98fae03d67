"""Groups whose first column is 0 in a model: they are counted and paid for all the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.testing import brute_force

GROUPS = [0, 1, 2, 0, 1, 0]


def table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of which those that name two groups are 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 6))
    X[:, :2] = 0.0
    return X, X @ rng.normal(size=6) + 0.5 * rng.normal(size=10)


@pytest.mark.parametrize("size", [{"ridge": 0.25}, {"ball": 1.0}])
def test_bounds_by_rank_and_paths(size: dict[str, float]) -> None:
    for seed in range(3):
        X, y = table(seed)
        for k in (1, 2):
            program = sb.Program(X, y, k=k, groups=GROUPS, **size)
            best, frame = brute_force(program).value, sb.rank_bounds(program).to_frame()
            for name in ("lower", "sharp_lower"):
                assert max((x for x in frame[name] if x == x), default=best) <= best
            assert min(x for x in frame["upper"] if x == x) >= best - 1e-9
        for point in sb.path(X, y, l0s=[0.5, 0.05, 0.005], groups=GROUPS, **size):
            best = brute_force(sb.Program(X, y, l0=point.l0, groups=GROUPS, **size)).value
            assert point.lower <= best <= point.upper + 1e-9


def test_a_model_is_counted_by_its_groups() -> None:
    X, y = table(0)
    program = sb.Program(X, y, k=1, ridge=0.1, groups=GROUPS)
    for chosen in itertools.combinations((2, 3, 4), 2):  # one column of each of two groups
        coef = np.zeros(6)
        coef[list(chosen)] = 0.1
        assert program.objective(coef) == np.inf
        with pytest.raises(InputError, match="2 nonzeros, more than k=1"):
            sb.certify(program, coef)
