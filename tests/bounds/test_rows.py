"""Bounds for the truncated loss, against every support with every set of outliers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.cases import seeds
from tests.truncated import Candidates, candidates, tiny

from sparsebounds.bounds import (
    INSIDE,
    Lent,
    RowBounds,
    RowLoss,
    Switches,
    objective_up,
    outer_range,
)
from sparsebounds.losses import Truncated
from sparsebounds.program import Program
from sparsebounds.relaxation import relaxed_node
from sparsebounds.relaxation.row_diagonal import even_shares

SIDES = ((0, 0), (-1, 0), (0, -1), (-1, -1), (1, 0), (0, 1), (1, -1), (-1, 1))
C = 1.3


def known(sides: tuple[int, int], r: np.ndarray) -> np.ndarray:
    """Where residuals are as a node knows them to be."""
    above, below = sides
    fits = np.ones(len(r), dtype=np.bool_)
    if above:
        fits &= above * (r - C) >= 0.0
    if below:
        fits &= below * (-r - C) >= 0.0
    return fits


@pytest.mark.parametrize("sides", SIDES)
def test_the_losses_of_rows(sides: tuple[int, int]) -> None:
    """Below the truncated loss where the node's models are; slopes, and the least curvature."""
    r = np.concatenate((np.linspace(-20.0, 20.0, 40_001), [-C, C, 0.0]))
    exact = np.minimum(r**2, C**2) / 2.0
    fits = known(sides, r)
    above, below = sides
    low = np.full(len(r), C if above > 0 else -C if below < 0 else -np.inf)
    high = np.full(len(r), -C if below > 0 else C if above < 0 else np.inf)
    for theta in (0.0, 1e-9, 0.003, 0.2, 0.5, 0.9, 0.999):
        loss = RowLoss(C, low, high, np.full(len(r), theta))
        value, slope, curvature = loss.at(r)
        assert np.all(value[fits] <= exact[fits] * (1.0 + 1e-13) + 1e-15)
        assert np.allclose(slope, loss.slope(r), rtol=1e-12, atol=1e-12)
        step = np.diff(r[:-3])
        rise = np.diff(slope[:-3])
        assert np.all(rise >= loss.least[1:-3] * step - 1e-9)
        assert np.all(curvature >= loss.least - 1e-12)
        # The value is the integral of the slope.
        middle = 0.5 * (slope[:-4] + slope[1:-3])
        assert np.allclose(np.diff(value[:-3]), middle * step, rtol=0.0, atol=2e-4)
    if sides == (0, 0):
        # The largest of its kind: next to 1, the loss itself.
        assert np.max(exact - RowLoss(C, low, high, np.full(len(r), 1.0 - 1e-7)).at(r)[0]) < 1e-4


def bounds_of(program: Program, level: float, rng: np.random.Generator) -> RowBounds:
    """Bounds on models of at most this objective, with some cuts of the intercept."""
    cuts = np.sort(rng.normal(size=2)) if program.fit_intercept else np.zeros(0)
    switches = Switches(program.m, program.n, cuts)
    outer = outer_range(program, level)
    eta = 0.0 if program.ball is None else 10.0 ** rng.uniform(-2.0, 1.0)
    return RowBounds(program, switches, outer, eta=eta, claim=bool(rng.random() < 0.5))


def node_of(bounds: RowBounds, found: Candidates, i: int, rng: np.random.Generator) -> Any:
    """A node that a model is in: some of what is true of it is decided."""
    w, r, b, switches = found.w[i], found.residuals[i], found.b[i], bounds.switches
    cuts = np.where(b >= switches.cuts, 1, -1)
    true = np.concatenate(
        (np.where(w != 0.0, 1, -1), np.where(r >= bounds.c, 1, -1), np.where(-r >= bounds.c, 1, -1))
    )
    state = np.concatenate((true, cuts)).astype(np.int8)
    state[rng.random(len(state)) > rng.choice([0.1, 0.5, 0.9])] = 0
    state[: switches.features][bounds.program.always] = 1
    return state


def lent_at(bounds: RowBounds, state: Any, rng: np.random.Generator) -> Lent:
    """Anything: mostly what is about as much as may be lent, or more, so that bounds are high."""
    program, (low, high) = bounds.program, bounds.outer[0]
    shares = rng.choice([INSIDE, 0.9, 0.9, 0.3, -1.0], size=program.m)
    eta = float(rng.choice([0.0, 1e-3, 0.1, 1.0])) if program.fit_intercept else 0.0
    middle = 0.5 * (low + high) + rng.choice([0.0, 0.5, -0.5, 1.0]) * (high - low)
    lent = Lent(np.zeros(program.n), shares, eta, float(middle))
    even = even_shares(bounds, state, lent) if np.all(shares > 0.0) else None
    theta = rng.random(program.n) if even is None else even * rng.choice([0.3, 0.9, 1.0, 1.05])
    return replace(lent, theta=np.clip(theta, 0.0, 0.9999))


@np.errstate(all="ignore")
@pytest.mark.parametrize("seed", seeds(40, "rows"))
def test_bounds_hold_at_any_numbers(seed: int) -> None:
    """No bound of a node exceeds the objective of a model in it, whatever point it is taken at."""
    rng, program = np.random.default_rng(seed), tiny(seed)
    found = candidates(program)
    order = np.argsort(found.values, kind="stable")
    for _ in range(8):
        i = int(order[0] if rng.random() < 0.5 else order[rng.integers(min(len(order), 40))])
        value = objective_up(program, found.w[i], float(found.b[i]))
        bounds = bounds_of(program, value, rng)
        low, high = bounds.outer[0]
        if not low <= found.b[i] <= high:
            # No row is near: the same at an intercept in the range.
            assert program.fit_intercept
            assert np.all(np.abs(found.residuals[i]) >= bounds.c)
            continue
        state = node_of(bounds, found, i, rng)
        lent = lent_at(bounds, state, rng)
        near = relaxed_node(bounds, state, found.w[i], float(found.b[i]), lent)
        spread = np.abs(found.w[order[:40]]).max(axis=0) + 1e-300
        for size in (0.0, 1e-6, 1.0):
            w = near.w + size * spread * rng.normal(size=program.m)
            b = near.b + size * rng.normal() * program.fit_intercept
            for at in (lent, replace(lent, theta=np.minimum(lent.theta * 1.2, 0.99))):
                lower = bounds.bound(state, w, b, at)
                assert 0.0 <= lower <= value
            features, forced = bounds.forced(state, w, b, lent)
            inside = forced[found.w[i][features] != 0.0]
            assert np.all(inside <= value)


@np.errstate(all="ignore")
def test_bounds_are_high_at_good_numbers() -> None:
    """The test above says something: many bounds of decided nodes are the optimum itself."""
    close = 0
    for seed in range(30):
        rng, program = np.random.default_rng(seed), tiny(seed * 4)
        found = candidates(program)
        bounds = bounds_of(program, found.best(), rng)
        i = int(np.argmin(found.values))
        switches, r = bounds.switches, found.residuals[i]
        state = np.zeros(switches.count, dtype=np.int8)
        state[: program.m] = np.where((found.w[i] != 0.0) | program.always, 1, -1)
        state[program.m : program.m + program.n] = np.where(r >= bounds.c, 1, -1)
        state[program.m + program.n :][: program.n] = np.where(-r >= bounds.c, 1, -1)
        lent = Lent(np.zeros(program.n), np.where(state[: program.m] > 0, 0.5, 0.0))
        lower = relaxed_node(bounds, state, found.w[i], float(found.b[i]), lent).lower
        assert lower <= found.best()
        close += lower >= found.best() * (1.0 - 1e-6)
    assert close >= 25


def test_coefficients_of_features_that_no_model_has() -> None:
    """With k features in, the others are out. A point that has them is worth no more for it."""
    rng, high = np.random.default_rng(5), 0.0
    for _ in range(40):
        X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
        program = Program(X, y, k=1, ridge=0.3, loss=Truncated(c=0.8))
        found = candidates(program)
        switches = Switches(2, 6)
        bounds = RowBounds(program, switches, outer_range(program, found.best()))
        state = np.zeros(switches.count, dtype=np.int8)
        state[0] = 1
        inside = found.best(found.w[:, 1] == 0.0)
        lent = Lent(np.zeros(6), np.array([0.9, 0.9]))
        even = even_shares(bounds, state, lent)
        assert even is not None
        for share in (INSIDE, 1e-9, -3.0):
            at = replace(lent, theta=0.9 * even, shares=np.array([0.9, share]))
            for size in (0.0, 1.0, 1e3):
                lower = bounds.bound(state, np.array([0.1, size]) * rng.normal(size=2), 0.0, at)
                assert lower <= inside
                high = max(high, lower / inside)
    assert high > 0.3


def test_the_range_of_the_intercept_pays_for_what_it_lends() -> None:
    """Two rows that no intercept fits both: the middle between them is the worst place."""
    program = Program(
        [[0.0], [0.0]], [-3.0, 3.0], k=0, ridge=1.0, loss=Truncated(c=1.0), fit_intercept=True
    )
    best = candidates(program).best()
    assert best == pytest.approx(0.25)
    switches = Switches(1, 2, np.array([-0.3, 0.3]))
    bounds = RowBounds(program, switches, outer_range(program, best * 1.01))
    lent = Lent(np.full(2, 0.499), np.zeros(1), 1.0, 0.0)
    state, w = np.zeros(switches.count, dtype=np.int8), np.zeros(1)
    assert bounds.bound(state, w, 0.0, lent) <= best
    # Between the cuts both rows are outliers, and the range is short.
    state[switches.cut(0)], state[switches.cut(1)] = 1, -1
    assert bounds.bound(state, w, 0.0, lent) == min(bounds.outer[1], 0.455)
    far = replace(lent, middle=1.0)
    assert bounds.bound(state, w, 0.0, far) <= 0.5 - 0.5 * (1.3**2 - 1.0) + 0.3
    assert bounds.bound(state, w, 1e300, lent) == 0.0
    assert bounds.bound(state, w, 0.0, replace(lent, middle=1e300)) == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"theta": np.array([np.nan, 0.1])},
        {"theta": np.array([1.0, 0.1])},
        {"theta": np.array([-0.1, 0.1])},
        {"shares": np.array([np.nextafter(INSIDE, 1.0)])},
        {"shares": np.array([np.nan])},
        {"shares": np.array([-np.inf])},
        {"eta": -1e-3},
        {"eta": np.nan},
        {"eta": np.inf},
        {"middle": np.nan},
    ],
)
def test_what_cannot_be_lent_proves_nothing(wrong: dict[str, Any]) -> None:
    program = Program([[1.0], [2.0]], [1.0, 9.0], k=1, ridge=1.0, loss=Truncated(c=1.0))
    bounds = RowBounds(program, Switches(1, 2), outer_range(program, program.null))
    state = np.array([1, 0, 0, 0, 0], dtype=np.int8)
    lent = Lent(np.array([0.1, 0.1]), np.array([0.5]))
    w = np.array([0.4])
    assert bounds.bound(state, w, 0.0, lent) > 0.0
    assert bounds.bound(state, w, 0.0, replace(lent, **wrong)) == 0.0
    for value in (np.nan, np.inf, 1e300):
        assert bounds.bound(state, np.array([value]), 0.0, lent) == 0.0
    # Models have no intercept here: a tangent at one says nothing about them.
    assert bounds.bound(state, w, 0.5, lent) == 0.0
    assert np.all(bounds.forced(state * 0, w, 0.5, lent)[1] == 0.0)


def test_large_shares_are_not_convex() -> None:
    """Where H is not convex a tangent plane lies above it somewhere: no bound."""
    rng = np.random.default_rng(0)
    program = Program(rng.normal(size=(20, 3)), rng.normal(size=20), l0=0.1, ridge=0.1,
                      loss=Truncated(c=0.5))  # fmt: skip
    bounds = RowBounds(program, Switches(3, 20), outer_range(program, program.null))
    state = np.zeros(bounds.switches.count, dtype=np.int8)
    lent = Lent(np.zeros(20), np.full(3, 0.9))
    even = even_shares(bounds, state, lent)
    assert even is not None
    w = np.zeros(3)
    less, more = (replace(lent, theta=even * (1.0 + slip)) for slip in (-1e-9, 1e-9))
    assert bounds.bound(state, w, 0.0, less) > 0.0
    assert bounds.bound(state, w, 0.0, more) == 0.0
    assert np.all(bounds.forced(state, w, 0.0, less)[1] > 0.0)
    assert np.all(bounds.forced(state, w, 0.0, more)[1] == 0.0)
