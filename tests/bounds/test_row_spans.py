"""Spans of rows: losses on intervals, and ends that all good models are within."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.bounds.test_rows import bounds_of, lent_at, node_of
from tests.cases import seeds
from tests.truncated import candidates, tiny

import sparsebounds as sb
from sparsebounds.bounds import (
    Round,
    RowBounds,
    RowLoss,
    Spans,
    narrowed,
    objective_up,
    proved_ends,
    with_rounds,
)
from sparsebounds.losses import Truncated
from sparsebounds.relaxation import Ends, Node, Reaching, relaxed_node, wanted

C = 1.3


def envelope(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The convex envelope of g on the points x."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) >= 2:
            a, b = hull[-2:]
            if (g[b] - g[a]) * (x[i] - x[a]) < (g[i] - g[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return np.interp(x, x[hull], g[hull])


INTERVALS = (
    (-5.0, 4.0),
    (-2.0, 9.0),
    (-1.0, 2.0),
    (-0.5, 1.0),
    (0.2, 3.0),
    (1.0, 1.5),
    (1.2, 40.0),
    (-1.29, 1.31),
    (-30.0, -0.9),
    (-3.0, -0.1),
    (1.4, 6.0),
)


@pytest.mark.parametrize("ends", INTERVALS)
def test_losses_on_an_interval_are_the_largest_of_their_kind(ends: tuple[float, float]) -> None:
    x = np.linspace(*ends, 1201)
    exact = np.minimum(x**2, C**2) / 2.0
    low, high = (np.full(len(x), end) for end in ends)
    for theta in (0.0, 1e-6, 0.01, 0.3, 0.9):
        loss = RowLoss(C, low, high, np.full(len(x), theta))
        value, slope, _ = loss.at(x)
        assert np.all(value <= exact + 1e-12)
        kappa = theta / (1.0 - theta)
        best = envelope(x, exact + 0.5 * kappa * x**2) - 0.5 * kappa * x**2
        assert np.allclose(value, best if loss.doubt[0] else exact, atol=3e-4 * (1.0 + kappa))
        assert np.allclose(slope, loss.slope(x), atol=1e-12)


@pytest.mark.parametrize("seed", seeds(12, "parabolas"))
def test_parabolas_lie_below_the_loss_on_the_interval(seed: int) -> None:
    """At any residual, also one that is not in the interval; moved ones allow for it."""
    rng = np.random.default_rng(seed)
    n = 60
    ends = np.sort(rng.normal(size=(2, n)) * rng.choice([1.0, 3.0, 30.0], size=n), axis=0)
    low = np.where(rng.random(n) < 0.2, -np.inf, ends[0])
    high = np.where(rng.random(n) < 0.2, np.inf, ends[1])
    theta = rng.choice([0.0, 1e-8, 0.05, 0.4, 0.95], size=n)
    loss = RowLoss(C, low, high, theta)
    r, moved = rng.normal(size=(5, n)) * 4.0, rng.choice([0.0, 1e-12, 1e-3], size=(5, n))
    value, t, off, slip = loss.below(r, moved)
    true = r + moved * rng.uniform(-1.0, 1.0, size=r.shape)
    for part in np.linspace(0.0, 1.0, 101):
        s = np.clip(low, -60.0, 60.0) * (1.0 - part) + np.clip(high, -60.0, 60.0) * part
        parabola = value + t * (s - true) + 0.5 * loss.least * np.square(s - true)
        allowed = off + slip * np.abs(s - true)
        assert np.all(parabola - allowed <= np.minimum(s**2, C**2) / 2.0)


def any_round(bounds: RowBounds, node: Node, level: float, rng: Any) -> Round:
    """Ends at points of any quality: those that are sought, or others."""
    n, m = bounds.program.n, bounds.program.m
    row, side = wanted(bounds, node)
    if len(row) and rng.random() < 0.7:
        return Reaching(bounds, node, level).found(row, side, Ends(n, m))
    row = rng.integers(0, n + bounds.program.fit_intercept, size=8)
    W = node.w + rng.normal(size=(8, m)) * rng.choice([0.01, 0.3, 2.0])
    b = node.b + 0.1 * rng.normal(size=8) * bounds.program.fit_intercept
    tau = rng.choice([-1.0, 1.0], size=8) * 10.0 ** rng.uniform(-3.0, 1.0, size=8)
    return Round(node.lent, row, tau, W, b, np.zeros(8))


@np.errstate(all="ignore")
@pytest.mark.parametrize("seed", seeds(60, "spans"))
def test_spans_hold_all_good_models(seed: int) -> None:
    """Of every support with every set of outliers, whatever points the ends are proved at."""
    rng, program = np.random.default_rng(seed), tiny(seed)
    found = candidates(program)
    order = np.argsort(found.values, kind="stable")
    i = int(order[0] if rng.random() < 0.6 else order[rng.integers(min(len(order), 30))])
    level = objective_up(program, found.w[i], float(found.b[i]))
    bounds = bounds_of(program, level, rng)
    low, high = bounds.outer[0]
    if not low <= found.b[i] <= high:
        return
    state = node_of(bounds, found, i, rng) if rng.random() < 0.5 else None
    if state is None:
        state = np.zeros(bounds.switches.count, dtype=np.int8)
        state[: program.m][program.always] = 1
    good = found.inside(bounds, state) & (found.values <= level * (1.0 + 1e-14) + 1e-300)
    good &= (found.b >= low) & (found.b <= high) & np.all(found.w[:, program.never] == 0.0, axis=1)
    residuals = np.column_stack((found.residuals, found.b))[good]
    spans, start = Spans.nothing(state, program.n), bounds
    lent = lent_at(bounds, state, rng)
    node = relaxed_node(bounds, state, found.w[i], float(found.b[i]), lent)
    rounds = []
    for _ in range(3):
        round_ = any_round(bounds, node, level, rng)
        ends = proved_ends(bounds, state, round_, level)
        upper = round_.tau > 0.0
        slack = 1e-9 * (1.0 + np.abs(residuals[:, round_.row]))
        assert np.all(residuals[:, round_.row][:, upper] <= (ends + slack)[:, upper])
        assert np.all(residuals[:, round_.row][:, ~upper] >= (ends - slack)[:, ~upper])
        round_ = round_.stated(ends, bounds.c).part(np.isfinite(ends))
        rounds.append(round_)
        spans = narrowed(spans, round_)
        bounds = start.with_spans(spans)
        node = relaxed_node(bounds, state, node.w, node.b, lent_at(bounds, state, rng))
        # What is known raises bounds, and none exceeds the value of a model.
        if good.any() and np.any(good & (found.values <= level)):
            assert node.lower <= level
    again = with_rounds(start, state, rounds, level)
    assert again is not None
    assert np.array_equal(again.spans[0].low, spans.low)
    ends = [one for one in rounds if len(one.row)]
    if ends:
        closer = 1e-6 * np.sign(ends[-1].tau) * (np.abs(ends[-1].end) + bounds.c)
        rounds[rounds.index(ends[-1])] = Round(**(vars(ends[-1]) | {"end": ends[-1].end - closer}))
        assert with_rounds(start, state, rounds, level) is None


def test_spans_decide_all_rows_without_a_split() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    y = X @ [2.0, -1.0, 1.5, 0.5] + 0.4 * rng.normal(size=120)
    y[:24] += rng.choice([-1.0, 1.0], size=24) * rng.uniform(4.0, 9.0, size=24)
    found = sb.solve(X, y, k=4, ridge=0.01, loss=Truncated(c=1.5), exact=True)
    assert found.status == "optimal"
    tree = found.certificate.rows
    assert tree is not None
    assert tree.size == 1
    assert tree.spans
    r = y - X @ found.coef
    assert found.outliers is not None
    assert found.outliers.proved_out.tolist() == np.flatnonzero(np.abs(r) > 1.5).tolist()
    assert len(found.outliers.proved_in) == np.count_nonzero(np.abs(r) < 1.5)
