"""Newton's point is the minimiser on a piece; Newton's method ends where nothing goes down."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sparsebounds import Program
from sparsebounds.fitting import refit
from sparsebounds.losses import REGISTRY
from sparsebounds.penalties import KRidge, L0Ridge, Pattern, Penalty
from sparsebounds.relaxation.newton import NewtonResult, newton, newton_point
from sparsebounds.relaxation.points import SmoothPoint
from sparsebounds.relaxation.smooth import Smooth
from sparsebounds.relaxation.sparse_part import smooth_part
from sparsebounds.testing import brute_force

LOSSES = sorted(REGISTRY)
Make = Callable[..., Smooth]


@pytest.fixture
def smooth(response: Callable[..., np.ndarray]) -> Make:
    """All columns of a random program; `twins`: half of them are copies, some with a sign."""

    def make(
        loss: str,
        *,
        n: int = 30,
        m: int = 8,
        seed: int = 0,
        intercept: bool = True,
        twins: bool = False,
    ) -> Smooth:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, m)) + 0.5
        if twins:
            X[:, m // 2 :] = X[:, : m // 2] * rng.choice([-1.0, 1.0], size=m // 2)
        y = response(rng, X, loss)
        part = smooth_part(Program(X, y, loss=loss, k=2, ridge=0.1, fit_intercept=intercept))
        part.add(X)
        return part

    return make


def model_gradient(
    part: Smooth,
    point: SmoothPoint,
    pattern: Pattern,
    w: np.ndarray,
    b: float,
    proximal: np.ndarray,
) -> np.ndarray:
    """The gradient, in the active features (and b), of the quadratic model that Newton's point
    minimises, from dense matrices: f's second-order model at `point`, the piece, the prox."""
    program, active = part.program, pattern.active
    columns = program.matrix.columns(np.arange(program.m))
    design = np.column_stack((columns, np.full(program.n, float(program.fit_intercept))))
    level = point.b
    if program.fit_intercept and not part.has_intercept:  # eliminated: b is the best one
        p = program.F.p
        level, b = (float(p @ (program.y - columns @ x)) for x in (point.w, w))
    z = design @ np.append(point.w, level)
    move = np.append(w - point.w, b - level)
    full = design.T @ (program.F.gradient(z) + program.F.curvature(z) * (design @ move))
    gradient = full[active] + pattern.ridge * w[active] + pattern.linear
    gradient += proximal[active] * (w - point.w)[active]
    if pattern.direction is not None:
        gradient += pattern.direction * (pattern.direction @ w[active]) / pattern.share
    return np.append(gradient, full[-1:] if part.has_intercept else [])


def pieces(m: int, rng: np.random.Generator) -> dict[str, Pattern]:
    """A piece of each kind: quadratic, linear (l0 forms), and one direction (k forms)."""
    active = np.sort(rng.choice(m, m - 2, replace=False))
    full, sign = rng.random(m - 2) < 0.5, rng.choice([-1.0, 1.0], size=m - 2)
    ridge, some = np.where(full, 0.3, 0.0), np.where(full, 0.0, 0.2 * sign)
    none = np.zeros(m - 2)
    return {
        "quadratic": Pattern(active, none, np.full(m - 2, 0.3), none, None, np.inf),
        "l0": Pattern(active, none, ridge, some, None, np.inf),
        "k": Pattern(active, none, ridge, none, 3.0 * some, 1.5),
        "nothing": Pattern(active[:0], none[:0], none[:0], none[:0], None, np.inf),
    }


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_the_point_is_the_minimiser_of_the_model(smooth: Make, loss: str, intercept: bool) -> None:
    for seed in range(3):
        part, rng = smooth(loss, intercept=intercept, seed=seed), np.random.default_rng(seed)
        point = part.at(0.2 * rng.normal(size=8), 0.1 if intercept else 0.0)
        for kind, pattern in pieces(8, rng).items():
            # In Gram form what is left out of the piece is taken at 0 from the start.
            start = point
            if loss == "squared":
                w = np.zeros(8)
                w[pattern.active] = point.w[pattern.active]
                start = part.at(w, 0.0)
            for proximal in (np.zeros(8), rng.uniform(0.1, 1.0, 8)):
                found = newton_point(part, start, pattern, proximal)
                assert found is not None
                w, b = found
                assert np.all(w[np.setdiff1d(np.arange(8), pattern.active)] == 0.0)
                left = model_gradient(part, start, pattern, w, b, proximal)
                assert left == pytest.approx(np.zeros(len(left)), abs=1e-8), kind


@pytest.mark.parametrize("m", [12, 130])
@pytest.mark.parametrize("form", ["l0", "k"])
def test_coordinates_of_the_wrong_sign_are_dropped(smooth: Make, form: str, m: int) -> None:
    """The others then solve the smaller system; 130 features: from the one factorisation."""
    part, none = smooth("logistic", n=3 * m, m=m, seed=1), np.zeros(m)
    point = part.at(none, 0.0)
    plain = Pattern(np.arange(m), none, none + 0.2, none, None, np.inf)
    free = newton_point(part, point, plain, none)
    assert free is not None
    # The signs of the solution without signs, but for three of its smaller coordinates.
    sign, wrong = np.sign(free[0]), np.argsort(np.abs(free[0]))[m // 4 : m // 4 + 3]
    sign[wrong] *= -1.0
    linear, direction, share = none, 1e-3 * sign, 2.0
    if form == "l0":
        linear, direction, share = 1e-5 * sign, None, np.inf
    pattern = Pattern(np.arange(m), sign, plain.ridge, linear, direction, share)
    found = newton_point(part, point, pattern, none)
    assert found is not None
    w, b = found
    assert np.all(w[wrong] == 0.0)
    assert np.count_nonzero(w) >= 0.75 * m
    assert np.all(w * sign >= 0.0)
    left = model_gradient(part, point, pattern, w, b, none)
    assert left[np.append(w != 0.0, True)] == pytest.approx(0.0, abs=1e-9)


def test_a_singular_system_has_no_point(smooth: Make) -> None:
    part = smooth("squared", n=5, m=8, intercept=False)
    none = np.zeros(8)
    pattern = Pattern(np.arange(8), none, none - 1.0, none, None, np.inf)  # not convex
    assert newton_point(part, part.at(none, 0.0), pattern, none) is None


def solved(part: Smooth, penalty: Penalty) -> NewtonResult:
    start = part.at(np.zeros(part.size), part.program.null_intercept)
    scale = abs(part.program.null)
    return newton(part, penalty, start, 1e-12 * scale, scale)


def check_optimal(part: Smooth, penalty: Penalty, found: NewtonResult) -> None:
    """-f' is a subgradient of h, and both values agree."""
    point, at = found.point, penalty.slopes(found.point.w)
    scale, w = abs(part.program.null), found.point.w
    assert at.value == found.slopes.value
    assert -1e-13 * scale <= found.gap <= 1e-11 * scale
    assert point.value + at.value - found.dual == pytest.approx(found.gap, abs=1e-13 * scale)
    assert np.all(w[penalty.positive] >= 0.0)
    small = 1e-5 * max(1.0, float(np.max(np.abs(point.gradient))))
    assert (point.gradient + at.gradient)[w != 0.0] == pytest.approx(0.0, abs=small)
    push = np.where(penalty.positive, -point.gradient, np.abs(point.gradient))[w == 0.0]
    budget = penalty.k if isinstance(penalty, KRidge) else None
    if budget is None or np.count_nonzero(w[~penalty.inside]) != budget:
        assert np.all(push <= (at.kink * penalty.root)[w == 0.0] + small)
    assert abs(point.slope) <= small


@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize("form", ["l0", "k"])
@pytest.mark.parametrize("loss", LOSSES)
def test_newton_ends_where_nothing_goes_down(
    smooth: Make, loss: str, form: str, twins: bool
) -> None:
    busy = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        part = smooth(loss, seed=seed, intercept=seed % 2 == 0, twins=twins)
        ridge = rng.uniform(0.05, 0.5, 8)
        price = 0.02 * abs(part.program.null)
        masks = {"inside": rng.random(8) < 0.2, "positive": rng.random(8) < 0.3}
        l0 = L0Ridge(price, ridge, **masks)
        penalty = l0 if form == "l0" else KRidge(seed % 4, ridge, **masks)
        found = solved(part, penalty)
        check_optimal(part, penalty, found)
        u = penalty.weights(found.point.w)
        busy += bool(np.any((u > 0.0) & (u < 1.0)))
    assert busy > 0  # some weights are fractional


def test_features_outside_stay_at_zero(smooth: Make) -> None:
    part, outside = smooth("logistic", seed=3), np.arange(8) < 3
    found = solved(part, L0Ridge(0.005, 0.05, outside=outside))
    assert np.all(found.point.w[outside] == 0.0)
    live = np.flatnonzero(~outside)
    rest = solved(part.part(live), L0Ridge(0.005, 0.05))
    assert found.dual == pytest.approx(rest.dual, rel=1e-10)
    assert found.point.w[live] == pytest.approx(rest.point.w, abs=1e-6)


def test_the_dual_value_is_never_above_the_primal_value(smooth: Make) -> None:
    """Wherever Newton's method stops, after any number of steps."""
    part = smooth("poisson", seed=2)
    penalty = KRidge(2, 0.05)
    least = solved(part, penalty)
    start, scale = part.at(np.zeros(8), 0.0), abs(part.program.null)
    for steps in range(6):
        found = newton(part, penalty, start, 0.0, scale, most_steps=steps)
        best = least.point.value + least.slopes.value
        assert found.dual <= best + 1e-10 * scale
        assert found.point.value + found.slopes.value >= best - 1e-10 * scale
        assert found.steps == steps


@pytest.mark.parametrize("seed", [5, 22, 316])
def test_a_point_off_balance_proves_nothing(seed: int) -> None:
    """With an intercept far from where Newton's method starts, the fit is the best one all the
    same: a dual vector that is not balanced is no bound."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, 4))
    y = np.where(X @ rng.normal(size=4) + 2.0 > 0.0, 1.0, -1.0)
    y[:2] = (-1.0, 1.0)
    asked = {"loss": "logistic", "fit_intercept": True, "positive": True, "always": range(4)}
    program = Program(X, y, k=0, ridge=0.005, **asked)
    assert refit(program, np.arange(4)).value <= brute_force(program).value + 1e-12
