"""h as Newton's method sees it: its value is proved from both sides, its pieces fit a prox."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from sparsebounds.penalties import KRidge, L0Ridge, Pattern, Penalty

M = 6
KINDS = ["l0", "k"]


def penalties(kind: str, count: int = 40) -> Iterator[tuple[Penalty, np.random.Generator]]:
    """Random ridges, prices or budgets (0 and beyond m too), features inside, signs; every third
    one has the same ridge and price for all, so that there are ties."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        alike = seed % 3 == 0
        ridge = np.full(M, 0.7) if alike else rng.uniform(0.2, 3.0, M)
        price = np.full(M, 0.9) if alike else rng.uniform(0.2, 2.0, M)
        inside, positive = rng.random(M) < 0.25, rng.random(M) < 0.3
        budget = (0, 1, 2, 3, M, M + 2)[seed % 6]
        masks = {"inside": inside, "positive": positive}
        if kind == "l0":
            yield L0Ridge(0.5 * price**2, ridge, **masks), rng
        else:
            yield KRidge(budget, ridge, **masks), rng


def budget_of(penalty: Penalty) -> int | None:
    return penalty.k if isinstance(penalty, KRidge) else None


def admissible(penalty: Penalty, rng: np.random.Generator) -> np.ndarray:
    """Coefficients where h is finite, some of them 0, some of one size."""
    w = rng.normal(size=M) * rng.choice([0.0, 0.3, 1.0, 3.0], size=M)
    w = np.where(rng.random(M) < 0.3, 0.8 * np.sign(w), w)
    w = np.where(penalty.positive, np.abs(w), w)
    return np.where(~penalty.inside, 0.0, w) if budget_of(penalty) == 0 else w


def conjugate(penalty: Penalty, s: np.ndarray) -> float:
    """h*(s) by trying every support: the best w_i on a support gains s_i^2 / (2 ridge_i)."""
    reach = np.where(penalty.positive, np.maximum(s, 0.0), np.abs(s))
    gain = reach**2 / (2.0 * penalty.ridge)
    if isinstance(penalty, L0Ridge):
        gain = gain - penalty.l0
    free = np.flatnonzero(~penalty.inside).tolist()
    budget = budget_of(penalty)
    most = len(free) if budget is None else min(budget, len(free))
    supports = (list(one) for size in range(most + 1) for one in combinations(free, size))
    return float(np.sum(gain[penalty.inside])) + max(float(np.sum(gain[one])) for one in supports)


def cost(penalty: Penalty, w: np.ndarray, u: np.ndarray) -> float:
    """What w costs with the weights u."""
    used = w != 0.0
    total = 0.5 * float(np.sum(penalty.ridge[used] * w[used] ** 2 / u[used]))
    return total + float(penalty.l0 @ u) if isinstance(penalty, L0Ridge) else total


def kink(penalty: Penalty, w: np.ndarray) -> np.ndarray:
    """The slope of h at a zero. Where exactly k features are full, each of them can make room."""
    used = (w != 0.0) & ~penalty.inside
    if budget_of(penalty) and np.count_nonzero(used) == budget_of(penalty):
        root = np.sqrt(penalty.ridge)
        return np.where(penalty.inside, 0.0, root * np.min((root * np.abs(w))[used]))
    return penalty.slopes(w).kink * penalty.root


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
        assert np.isfinite(penalty.cost(u))
        assert cost(penalty, w, u) == pytest.approx(at.value, rel=1e-12, abs=1e-15)
        # A zero may have any slope up to its threshold; where a sign is asked, down to -infinity.
        loose = np.where(np.isfinite(at.kink), at.kink, 7.0) * penalty.root
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
        if budget_of(penalty) == 0:
            w[~penalty.inside] = 0.0
        at, kinks = penalty.slopes(w), kink(penalty, w)
        assert np.all(at.kink * penalty.root <= kinks)
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
    none = KRidge(0, ridge, inside)
    assert none.slopes(w).value == pytest.approx(1.0)
    assert np.array_equal(none.slopes(w).kink, [0.0, np.inf, np.inf])
    assert np.array_equal(none.weights(w), [1.0, 0.0, 0.0])
    assert np.array_equal(none.pattern(np.ones(3), np.ones(3)).active, [0])
    enough = KRidge(2, ridge, inside)
    full = np.array([1.0, -2.0, 0.5])
    assert enough.slopes(full).value == pytest.approx(0.5 * float(ridge @ full**2))
    assert enough.slopes(full).gradient == pytest.approx(ridge * full)
    assert np.array_equal(enough.slopes(w).kink, np.zeros(3))


def smooth_piece(penalty: Penalty, pattern: Pattern, w: np.ndarray) -> np.ndarray:
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


def test_rows_of_many_nodes_are_the_pieces_of_each() -> None:
    rng = np.random.default_rng(3)
    state = rng.choice([-1, 0, 1], size=(12, M))
    q, step, positive = rng.normal(size=(12, M)), rng.uniform(0.1, 1.5, (12, M)), np.arange(M) < 2
    ridge, l0 = rng.uniform(0.2, 3.0, M), rng.uniform(0.05, 1.0, M)
    many = L0Ridge(l0, ridge, state > 0, state < 0, positive)
    rows = list(many.patterns(q, step))
    w = np.where(state < 0, 0.0, np.where(positive, np.abs(q), q))
    for row, pattern in enumerate(rows):
        alone = L0Ridge(l0, ridge, state[row] > 0, state[row] < 0, positive)
        expected = alone.pattern(q[row], step[row])
        for name in ("active", "sign", "ridge", "linear"):
            assert np.array_equal(getattr(pattern, name), getattr(expected, name))
        assert not np.any(state[row][pattern.active] < 0)
        assert np.sum(many.costs(w)[row]) == pytest.approx(alone.value(w[row]), rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_the_multiplier_makes_the_dual_of_the_ball_best(kind: str) -> None:
    """eta -> eta ball/2 + h*(s) is convex: no other eta is better."""
    for penalty, rng in penalties(kind):
        s, ball = rng.normal(size=M) * 2.0, float(np.exp(rng.normal()))
        best = penalty.multiplier(s, ball)
        if best < 1e-290:
            continue  # nothing may be taken: no eta is too small
        etas = best * np.append(np.geomspace(1e-3, 1e3, 61), 1.0)
        charged = [penalty.with_ridge(eta).conjugate(s) + 0.5 * eta * ball for eta in etas]
        assert charged[-1] <= min(charged) + 1e-12 * (1.0 + abs(min(charged)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("score", [0.0, np.nan, np.inf])
def test_the_multiplier_is_a_ridge_whatever_the_scores_are(kind: str, score: float) -> None:
    for penalty, _ in penalties(kind, 6):
        eta = penalty.multiplier(np.full(M, score), 1.0)
        assert penalty.with_ridge(eta).ridge == eta
