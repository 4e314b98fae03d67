"""h on the working set: its value is proved from both sides, its pieces are those of its prox."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from sparsebounds.relaxation.penalty import Pattern, WorkingPenalty

M = 6
KINDS = ["l0", "k"]


def penalties(kind: str, count: int = 40) -> Iterator[tuple[WorkingPenalty, np.random.Generator]]:
    """Random ridges, prices or budgets (0 and beyond m too), features inside, signs; every third
    one has the same ridge and price for all, so that there are ties."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        alike = seed % 3 == 0
        ridge = np.full(M, 0.7) if alike else rng.uniform(0.2, 3.0, M)
        price = np.full(M, 0.9) if alike else rng.uniform(0.2, 2.0, M)
        inside, positive = rng.random(M) < 0.25, rng.random(M) < 0.3
        budget = (0, 1, 2, 3, M, M + 2)[seed % 6]
        beta, k = (price, None) if kind == "l0" else (None, budget)
        yield WorkingPenalty(ridge, beta, k, inside, positive), rng


def admissible(penalty: WorkingPenalty, rng: np.random.Generator) -> np.ndarray:
    """Coefficients where h is finite, some of them 0, some of one size."""
    w = rng.normal(size=M) * rng.choice([0.0, 0.3, 1.0, 3.0], size=M)
    w = np.where(rng.random(M) < 0.3, 0.8 * np.sign(w), w)
    w = np.where(penalty.positive, np.abs(w), w)
    return np.where(~penalty.inside, 0.0, w) if penalty.k == 0 else w


def conjugate(penalty: WorkingPenalty, s: np.ndarray) -> float:
    """h*(s) by trying every support: the best w_i on a support gains s_i^2 / (2 ridge_i)."""
    reach = np.where(penalty.positive, np.maximum(s, 0.0), np.abs(s))
    gain = reach**2 / (2.0 * penalty.ridge)
    if penalty.beta is not None:
        gain = gain - 0.5 * penalty.beta**2
    free = np.flatnonzero(~penalty.inside).tolist()
    most = len(free) if penalty.k is None else min(penalty.k, len(free))
    supports = (list(one) for size in range(most + 1) for one in combinations(free, size))
    return float(np.sum(gain[penalty.inside])) + max(float(np.sum(gain[one])) for one in supports)


def cost(penalty: WorkingPenalty, w: np.ndarray, u: np.ndarray) -> float:
    """What w costs with the weights u."""
    used = w != 0.0
    total = 0.5 * float(np.sum(penalty.ridge[used] * w[used] ** 2 / u[used]))
    return total if penalty.beta is None else total + 0.5 * float(penalty.beta**2 @ u)


def kink(penalty: WorkingPenalty, w: np.ndarray) -> np.ndarray:
    """The slope of h at a zero. Where exactly k features are full, each of them can make room."""
    used = (w != 0.0) & ~penalty.inside
    if penalty.k and np.count_nonzero(used) == penalty.k:
        root = np.sqrt(penalty.ridge)
        return np.where(penalty.inside, 0.0, root * np.min((root * np.abs(w))[used]))
    return penalty.slopes(w).threshold


@pytest.mark.parametrize("kind", KINDS)
def test_the_conjugate_is_the_best_support(kind: str) -> None:
    for penalty, rng in penalties(kind):
        s = rng.normal(size=M) * 2.0
        assert penalty.conjugate(s) == pytest.approx(conjugate(penalty, s), rel=1e-13, abs=1e-13)
        tied = np.round(s)
        assert penalty.conjugate(tied) == pytest.approx(conjugate(penalty, tied), rel=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_proved_from_both_sides(kind: str) -> None:
    """h(w) <= the cost with any weights, and h(w) >= s.w - h*(s) for any s: both are attained."""
    for penalty, rng in penalties(kind):
        w = admissible(penalty, rng)
        at, u = penalty.slopes(w), penalty.weights(w)
        assert np.all((u >= 0.0) & (u <= 1.0))
        assert np.all(u[w != 0.0] > 0.0)
        assert np.all(u[penalty.inside] == 1.0)
        if penalty.k is not None:
            assert np.sum(u[~penalty.inside]) <= penalty.k * (1.0 + 1e-12)
        assert cost(penalty, w, u) == pytest.approx(at.value, rel=1e-12, abs=1e-15)
        # A zero may have any slope up to its threshold; where a sign is asked, down to -infinity.
        loose = np.where(np.isfinite(at.threshold), at.threshold, 7.0)
        for share in (0.0, 0.6, 1.0, -1.0):
            s = np.where(w != 0.0, at.gradient, share * loose)
            s = np.where((w == 0.0) & penalty.positive & (share < 0.0), -50.0, s)
            s = np.where((w == 0.0) & penalty.inside, 0.0, s)
            assert s @ w - penalty.conjugate(s) == pytest.approx(at.value, rel=1e-12, abs=1e-14)
        for _ in range(5):
            s = at.gradient + rng.normal(size=M)
            assert s @ w - penalty.conjugate(s) <= at.value + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_are_derivatives(kind: str) -> None:
    step = 1e-6
    for penalty, rng in penalties(kind):
        # Away from |t| = beta, where the curvature jumps.
        w = np.where(rng.random(M) < 0.3, 0.0, rng.normal(size=M) * 2.0)
        w = np.where(penalty.positive, np.abs(w), w)
        if penalty.k == 0:
            w[~penalty.inside] = 0.0
        at, kinks = penalty.slopes(w), kink(penalty, w)
        assert np.all(at.threshold <= kinks)
        for i in range(M):
            unit = np.zeros(M)
            unit[i] = step
            if w[i] != 0.0:
                change = penalty.slopes(w + unit).value - penalty.slopes(w - unit).value
                assert change / (2.0 * step) == pytest.approx(at.gradient[i], abs=1e-5)
            else:
                assert at.gradient[i] == 0.0
                if np.isfinite(kinks[i]):
                    change = penalty.slopes(w + unit).value - at.value
                    assert change / step == pytest.approx(kinks[i], abs=1e-4)


def test_the_budget_decides_the_slope() -> None:
    """k = 0 keeps every free zero at zero; a budget for all features leaves the ridge alone."""
    inside = np.array([True, False, False])
    w = np.array([1.0, 0.0, 0.0])
    ridge = np.array([2.0, 3.0, 4.0])
    none = WorkingPenalty(ridge, None, 0, inside, np.zeros(3, dtype=bool))
    assert none.slopes(w).value == pytest.approx(1.0)
    assert np.array_equal(none.slopes(w).threshold, [0.0, np.inf, np.inf])
    assert np.array_equal(none.weights(w), [1.0, 0.0, 0.0])
    assert np.array_equal(none.pattern(np.ones(3), np.ones(3)).active, [0])
    enough = WorkingPenalty(ridge, None, 2, inside, np.zeros(3, dtype=bool))
    full = np.array([1.0, -2.0, 0.5])
    assert enough.slopes(full).value == pytest.approx(0.5 * float(ridge @ full**2))
    assert enough.slopes(full).gradient == pytest.approx(ridge * full)
    assert np.array_equal(enough.slopes(w).threshold, np.zeros(3))


def smooth_piece(penalty: WorkingPenalty, pattern: Pattern, w: np.ndarray) -> np.ndarray:
    """The gradient of the piece at coefficients w of its active features."""
    gradient = pattern.ridge * w + pattern.linear
    if pattern.direction is not None:
        gradient = gradient + pattern.direction * float(pattern.direction @ w) / pattern.share
    return gradient


@pytest.mark.parametrize("kind", KINDS)
def test_the_pattern_is_the_piece_that_the_prox_lands_on(kind: str) -> None:
    """The minimiser of |p - q|^2/(2 step) + piece has (q - p)/step among the slopes of h there."""
    rich = 0
    for penalty, rng in penalties(kind, 120):
        q, step = rng.normal(size=M) * 3.0, rng.uniform(0.1, 1.5, M)
        if rng.random() < 0.3:
            q, step = np.round(q), np.full(M, 0.5)  # ties
        pattern = penalty.pattern(q, step)
        active, count = pattern.active, len(pattern.active)
        matrix = np.diag(pattern.ridge + 1.0 / step[active])
        if pattern.direction is not None:
            matrix += np.outer(pattern.direction, pattern.direction) / pattern.share
        p = np.zeros(M)
        p[active] = np.linalg.solve(matrix, q[active] / step[active] - pattern.linear)
        assert np.all(p[active] * pattern.sign >= -1e-12)
        assert np.all(p[penalty.positive] >= -1e-12)
        pull, at = (q - p) / step, penalty.slopes(p)
        assert pull[active] == pytest.approx(at.gradient[active], abs=1e-9)
        rest = np.setdiff1d(np.arange(M), active)
        held = np.where(penalty.positive, pull, np.abs(pull))[rest]
        assert np.all(held <= kink(penalty, p)[rest] * (1.0 + 1e-9) + 1e-12)
        assert np.all(pattern.sign[penalty.inside[active] & ~penalty.positive[active]] == 0.0)
        if count == 0 or np.any(np.abs(p[active]) < 1e-3):
            continue
        # The piece is h itself nearby, up to a constant: the same gradient.
        u = penalty.weights(p)[active]
        if np.any((u > 1.0 - 1e-3) & (u < 1.0)):
            continue
        near = p.copy()
        near[active] += 1e-5 * rng.normal(size=count)
        if np.array_equal(penalty.weights(near)[active] == 1.0, u == 1.0):
            rich += 1
            piece = smooth_piece(penalty, pattern, near[active])
            assert piece == pytest.approx(penalty.slopes(near).gradient[active], abs=1e-9)
    assert rich > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_h_where_the_others_are_zero(kind: str) -> None:
    for penalty, rng in penalties(kind, 12):
        w = admissible(penalty, rng)
        index = np.flatnonzero((w != 0.0) | penalty.inside)
        part, whole = penalty.part(index).slopes(w[index]), penalty.slopes(w)
        assert part.value == pytest.approx(whole.value, rel=1e-14, abs=1e-15)
        assert part.gradient == pytest.approx(whole.gradient[index], rel=1e-13)
