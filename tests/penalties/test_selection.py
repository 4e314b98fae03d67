"""The scalar search: level sets, sums of the largest, the slope that spends a budget exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparsebounds.penalties.selection import largest, level_set, slope, split

SHAPES = {
    "normal": lambda rng, n: np.abs(rng.standard_normal(n)),
    "sorted": lambda rng, n: np.sort(rng.random(n)),
    "heavy tailed": lambda rng, n: np.exp(5.0 * rng.standard_normal(n)),
    "equal": lambda rng, n: np.ones(n),
    "few values": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "sparse": lambda rng, n: rng.random(n) * (rng.random(n) < 0.01),
    "zero": lambda rng, n: np.zeros(n),
}


SIZES = (1, 30, 3000)


def cases(rng: np.random.Generator, counts: tuple[int, ...]) -> Iterator[tuple[np.ndarray, int]]:
    """Lengths of every shape and size, with every count."""
    for draw, n, count in itertools.product(SHAPES.values(), SIZES, counts):
        yield draw(rng, n), count


def test_a_level_set_is_large_enough(rng) -> None:
    for scores, count in cases(rng, (1, 7, 100)):
        mask, floor = level_set(scores, count)
        np.testing.assert_array_equal(mask, (scores >= floor) & (scores > 0.0))
        assert mask.sum() >= min(count, np.count_nonzero(scores))


def test_a_level_set_holds_few_elements_more_than_asked_for(rng) -> None:
    mask, _ = level_set(rng.random(100_000), 50)
    assert mask.sum() <= 100


def test_largest_is_the_sum_of_the_sorted_tail(rng) -> None:
    for values, k in cases(rng, (0, 1, 7, 29, 30, 5000)):
        expected = math.fsum(sorted(values, reverse=True)[:k])
        assert largest(values, k) == pytest.approx(expected, rel=1e-14)


def test_slope_spends_the_budget(rng) -> None:
    for lengths, k in cases(rng, (1, 7, 29, 1000)):
        for scale in (1e-8, 1.0, 1e8):
            t = scale * lengths
            b = slope(t, k)
            if np.count_nonzero(t) <= k:
                assert b == 0.0
            else:
                # A running sum of k terms errs by at most k 2^-53 relatively.
                assert np.sum(np.minimum(1.0, t / b)) == pytest.approx(k, rel=1e-15 + k * 2.0**-53)


def full(share, n: int) -> np.ndarray:
    u = np.zeros(n)
    u[share.index] = share.u
    return u


def test_split_spends_the_budget(rng) -> None:
    shifts = itertools.product([1e-8, 1.0, 1e8], [1e-8, 1e-2, 1.0, 1e8], [0.0, 1.0])
    for (lengths, k), (scale, shift, spread) in itertools.product(
        cases(rng, (1, 7, 29, 1000)), shifts
    ):
        t, n = scale * lengths, len(lengths)
        d = shift * np.exp(spread * rng.standard_normal(n))
        share = split(t, d, k)
        u = full(share, n)
        if np.count_nonzero(t) <= k:
            assert share.slope == 0.0
            np.testing.assert_array_equal(u, t > 0.0)
            continue
        assert np.sum(u) == pytest.approx(k, rel=1e-14)
        expected = np.clip(t / share.slope - d, 0.0, 1.0)
        assert np.all(np.abs(u - expected) <= 5e-16 * (1.0 + d))


@pytest.mark.parametrize("shift", [1e-8, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_split_is_exact_to_the_last_digits_whatever_the_shift(referee, rng, shift, k) -> None:
    d = shift * np.exp(0.1 * rng.standard_normal(8))
    # At large shifts only nearly equal ratios t/d share the budget.
    t = d * (1.0 + rng.random(8) * 3.0 / (1.0 + shift))
    share = split(t, d, k)
    u, b = referee(t.tolist(), d.tolist(), k)
    assert 0.0 < share.slope == pytest.approx(float(b), rel=1e-15)
    error = max(abs(mpmath.mpf(x) - y) for x, y in zip(full(share, 8).tolist(), u, strict=True))
    assert error <= 2e-15


@pytest.mark.parametrize("k", [2, 8, 17])
def test_split_is_exact_where_the_shifts_differ_by_many_orders(referee, rng, k) -> None:
    for _ in range(5):
        d = 10.0 ** rng.uniform(0.0, 12.0, 20)
        t = d + 2.0 * rng.random(20)  # every ratio t/d is near 1, so that all may share
        share = split(t, d, k)
        u, b = referee(t.tolist(), d.tolist(), k)
        assert share.slope == pytest.approx(float(b), rel=1e-15)
        np.testing.assert_allclose(full(share, 20), [float(x) for x in u], rtol=0, atol=1e-14)


def test_split_widens_its_level_set_until_nobody_else_enters(rng) -> None:
    t = 1.0 + rng.random(20_000)
    share = split(t, np.full(20_000, 0.01), 3)
    u = full(share, t.size)
    assert np.count_nonzero(u) > 4_000
    np.testing.assert_allclose(u, np.clip(t / share.slope - 0.01, 0.0, 1.0), atol=1e-16, rtol=0)
    assert np.sum(u) == pytest.approx(3.0, rel=1e-14)


@pytest.mark.parametrize("shift", [1e-8, 0.3, 1e8])
def test_ties_share_to_the_bit(rng, shift) -> None:
    t = rng.random(6)[rng.integers(0, 6, 500)]
    u = full(split(t, np.full(500, shift), 120), t.size)
    for value in np.unique(t):
        assert np.unique(u[t == value]).size == 1


def test_the_slope_is_the_least_where_an_interval_of_slopes_will_do() -> None:
    t = np.array([10.0, 9.0, 1.0, 0.5])
    share = split(t, np.ones(4), 2)
    np.testing.assert_array_equal(full(share, 4), [1.0, 1.0, 0.0, 0.0])
    assert share.slope == 1.0
    assert split(t, np.full(4, 2.0), 0).slope == 5.0
    assert split(t, np.array([2.0, 1.0, 1.0, 0.1]), 0).slope == 9.0


def test_no_features_and_no_budget() -> None:
    empty = np.zeros(0)
    assert split(empty, empty, 0).slope == split(empty, empty, 2).slope == slope(empty, 1) == 0.0
    assert largest(empty, 3) == 0.0
    assert split(np.ones(3), np.ones(3), 0).u.size == 0


number = st.floats(min_value=-8.0, max_value=8.0).map(lambda e: 10.0**e)


# Repeated pairs are ties, and scales far apart leave some features with no say at all.
@given(
    pairs=st.lists(st.tuples(number, number), min_size=1, max_size=12),
    repeats=st.integers(1, 3),
    k=st.integers(1, 6),
)
@example(pairs=[(1e3, 1e6), (1e8, 1.0)], repeats=2, k=3)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_split_agrees_with_the_referee(referee, pairs, repeats, k) -> None:
    t, d = (np.repeat(x, repeats) for x in zip(*pairs, strict=True))
    share = split(t, d, k)
    u, b = referee(t.tolist(), d.tolist(), k)
    assert share.slope == pytest.approx(float(b), rel=1e-14)
    np.testing.assert_allclose(full(share, t.size), [float(x) for x in u], rtol=0, atol=1e-13)
