"""The ramp at rows: what lies below it, and bounds below every model."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.checker.test_checked_losses import least_above_ramp

import sparsebounds as sb
from sparsebounds.bounds import RampRowLoss
from sparsebounds.bounds.row_ramp import LEAST, ROUNDED
from sparsebounds.certificates import Certificate
from sparsebounds.certificates.row_tree import row_tree_bound
from sparsebounds.certificates.tree import TreeError

KAPPA = np.array([1e-6, 1e-3, 0.1, 0.4, 0.5 - 1e-12, 0.5, 0.5 + 1e-9, 0.6, 1.0, 2.0, 7.0, 100.0])


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_largest_function_of_that_curvature(y: float) -> None:
    """A hull on a grid is as high, but for the grid and for the kink that is rounded off."""
    s = np.linspace(-5.0, 50.0, 220_001)
    loss = np.clip(s, 0.0, 1.0)
    for kappa in KAPPA[2:]:
        rows = RampRowLoss(np.full(len(s), y), np.full(len(s), kappa / (1.0 + kappa)))
        value, slope, curvature = rows.at(-y * s)
        assert np.array_equal(slope, rows.slope(-y * s))
        assert np.all(value <= loss + 1e-12)
        assert np.all(curvature >= rows.least)
        aside = np.diff(value, 2) / np.diff(s)[0] ** 2
        assert np.all(aside >= -kappa * (1.0 + 1e-4) - 1e-5)
        steps = np.diff(value) - 0.5 * (-y) * (slope[1:] + slope[:-1]) * np.diff(s)
        assert np.max(np.abs(steps)) <= (kappa + 1.0 / ROUNDED) * np.diff(s)[0] ** 2
        height = hull(s, loss + 0.5 * kappa * s**2) - 0.5 * kappa * s**2
        assert np.all(value <= height + 1e-7 * (1.0 + kappa))
        far = 1.0 + max(0.5 / kappa, np.sqrt(2.0 / kappa) - 1.0)
        assert np.all(value[s < 40.0] >= height[s < 40.0] - ROUNDED)
        assert np.allclose(height[s > far], 1.0, atol=1e-6 * (1.0 + kappa))


def hull(x: Any, f: Any) -> Any:
    """The convex hull of points on a line, from below."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (f[b] - f[a]) * (x[i] - x[a]) <= (f[i] - f[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.interp(x, x[kept], f[kept])


def test_more_kappa_is_more() -> None:
    """The derivative in theta is that of the value, up to the kink that is rounded off."""
    s, step = np.linspace(-2.0, 6.0, 801), 1e-6
    for theta in (0.05, 0.3, 0.45, 0.7):
        shares = [np.full(len(s), theta + side * step) for side in (-1, 0, 1)]
        less, rows, more = (RampRowLoss(np.ones(len(s)), share) for share in shares)
        rise = (more.at(-s)[0] - less.at(-s)[0]) / (2.0 * step)
        assert np.all(rows.rise(-s) >= 0.0)
        assert np.allclose(rise, rows.rise(-s), atol=2.0 * ROUNDED / (1.0 - theta) ** 2)


def test_parabolas_lie_below_the_loss() -> None:
    """By fractions, and also at residuals that are off."""
    rng = np.random.default_rng(0)
    for trial in range(60):
        kappa = np.append(KAPPA, 10.0 ** rng.uniform(-10.0, 3.0, 8))
        theta = kappa / (1.0 + kappa)
        y = rng.choice([-1.0, 1.0], len(theta))
        rows = RampRowLoss(y, theta)
        kappa = -rows.least
        ends = np.stack((0.0 * kappa, np.sqrt(2.0 / kappa), 1.0 + 0.5 / kappa, 1.0 - 0.5 / kappa))
        s = ends[trial % 4] if trial < 12 else ROUNDED * rng.exponential(size=len(y))
        if trial > 30:
            s = rng.normal(size=len(y)) * 10.0 ** rng.uniform(-8.0, 8.0, len(y))
        s = s * (1.0 + 2.0**-52 * rng.integers(-3, 4, len(y)))
        r, moved = -y * s, np.abs(s) * 10.0 ** rng.uniform(-17.0, -8.0, len(y))
        found = rows.below(r, moved)
        slopes = rows.slope(r)
        assert np.array_equal(found.slope, slopes)
        for i in range(len(y)):
            at, curve = Fraction(s[i]), Fraction(kappa[i])
            value, slope = Fraction(found.value[i]), Fraction(-y[i] * found.slope[i])
            assert least_above_ramp(at, value, slope, curve) >= 0
            # Next to the largest value that this slope allows.
            if kappa[i] >= LEAST:
                size = 1.0 + slope * slope / curve + abs(slope * at)
                assert least_above_ramp(at, value, slope, curve) <= size * Fraction(2) ** -45
            for side in (-1, 1):
                aside = side * Fraction(moved[i])
                there = value + slope * aside - curve * aside**2 / 2
                assert Fraction(found.value[i]) - Fraction(found.off[i]) <= there
                assert abs(curve * aside) <= Fraction(found.slip[i])


def test_a_row_without_curvature_is_claimed_nothing_of() -> None:
    rows = RampRowLoss(np.array([1.0, -1.0]), np.array([0.0, 1e-10]))
    for r in (np.zeros(2), np.array([-9.0, 9.0]), np.array([9.0, -9.0])):
        assert not np.any(rows.at(r)[0])
        assert not np.any(rows.at(r)[1])
        assert np.all(rows.below(r, np.zeros(2)).value <= 0.0)


def tiny(seed: int) -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    n = 6
    X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], n)
    y[:2] = -1.0, 1.0
    options: dict[str, Any] = {"fit_intercept": bool(seed % 2), "loss": "ramp"}
    options |= {"k": 1 + (seed % 3 == 1)} if seed % 3 else {"l0": 0.02}
    options |= {"ball": 0.8} if seed % 4 == 3 else {"ridge": float(rng.choice([0.02, 0.1, 0.4]))}
    if seed % 5 == 1:
        options["sample_weight"] = rng.integers(1, 4, n).astype(float)
    if seed % 5 == 2:
        options["offset"] = 0.4 * rng.normal(size=n)
    return X, y, options


def least(X: Any, y: Any, options: dict[str, Any]) -> float:
    """The least objective: convex problems, one for each support and set of rows that cost 1.

    min(1, hinge) is the lesser of the two for each row, so that is all there is.
    """
    n, m = X.shape
    program = sb.Program(X, y, **options)
    p, ball = program.F.p, options.get("ball")
    offset = options.get("offset", np.zeros(n))
    ridge = options.get("ridge", 0.0)
    most = options.get("k", m)
    best = np.inf
    for used in chain.from_iterable(combinations(range(m), size) for size in range(most + 1)):
        A = y[:, None] * np.column_stack((X[:, used], np.ones(n) * options["fit_intercept"]))
        size = A.shape[1]
        for flat in chain.from_iterable(combinations(range(n), count) for count in range(n)):
            kept = np.setdiff1d(np.arange(n), flat)
            value = hinges(A[kept], 1.0 - y[kept] * offset[kept], p[kept], ridge, ball)
            w, b = np.zeros(m), 0.0
            if value is not None:
                w[list(used)] = value[: size - 1]
                b = float(value[size - 1]) * options["fit_intercept"]
            best = min(best, program.objective(w, b))
    return float(best)


def hinges(A: Any, right: Any, p: Any, ridge: float, ball: float | None) -> Any:
    """The minimiser of p.max(0, right - A v) + ridge |w|^2/2, v = (w, b), in the ball."""
    rows, size = A.shape

    def value(x: Any) -> Any:
        return p @ x[size:] + 0.5 * ridge * x[: size - 1] @ x[: size - 1]

    def slope(x: Any) -> Any:
        return np.concatenate((ridge * x[: size - 1], [0.0], p))

    whole = np.hstack((A, np.eye(rows)))
    limits: list[dict[str, Any]] = [
        {"type": "ineq", "fun": lambda x: whole @ x - right, "jac": lambda x: whole}
    ]
    if ball is not None:
        inside = np.arange(size + rows) < size - 1
        limits.append(
            {
                "type": "ineq",
                "fun": lambda x: ball * (1.0 - 1e-12) - x[inside] @ x[inside],
                "jac": lambda x: -2.0 * x * inside,
            }
        )
    bounds = [(-50.0, 50.0)] * size + [(0.0, None)] * rows
    start = np.concatenate((np.zeros(size), np.maximum(right, 0.0)))
    found = minimize(
        value, start, jac=slope, bounds=bounds, constraints=limits, method="SLSQP", tol=1e-12
    )
    v = found.x[:size]
    length = float(v[:-1] @ v[:-1])
    if ball is not None and length > ball:
        v[:-1] *= np.sqrt(ball / length) * (1.0 - 1e-12)
    return v


@pytest.mark.parametrize("seed", range(1, 13))
def test_bounds_are_below_every_model(seed: int, tmp_path: Any) -> None:
    X, y, options = tiny(seed)
    given = {key: options[key] for key in ("sample_weight", "offset") if key in options}
    solution = sb.solve(X, y, exact="auto" if seed % 2 else False, **options)
    best = least(X, y, options)
    assert solution.lower <= best
    assert best <= solution.upper * (1.0 + 1e-9)
    assert solution.outliers is None
    solution.certificate.save(tmp_path / "proof.json")
    assert Certificate.load(tmp_path / "proof.json").verify(X, y, **given).ok
    tree = solution.certificate.rows
    if tree is None:
        return
    program, rng = sb.Program(X, y, **options), np.random.default_rng(seed)
    for name in ("theta", "shares", "etas", "middles", "values", "intercept") * 2:
        part = np.array(getattr(tree, name))
        forged = replace(tree, **{name: part * rng.choice([0.5, 0.99, 1.01, 2.0], part.shape)})
        try:
            proved = row_tree_bound(program, forged, solution.upper, solution.certificate.boxes)
        except TreeError:
            continue
        assert proved <= best


def test_much_more_than_the_envelope() -> None:
    """A tenth of the labels is flipped; also with an intercept, and for a model from elsewhere."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    y = np.sign(X @ [1.0, -2.0, 1.0, 0.0])
    y[:8] *= -1.0
    for options in ({"k": 4}, {"k": 2, "fit_intercept": True}):
        found = sb.solve(X, y, ridge=0.1, loss="ramp", exact=False, **options)
        assert found.certificate.rows is not None
        assert found.lower > 2.0 * found.stats.tightening[-1]
        program = sb.Program(X, y, ridge=0.1, loss="ramp", **options)
        again = sb.certify(program, found.coef, found.intercept)
        assert again.verify(X, y).ok
        assert again.lower > 1.8 * found.stats.tightening[-1]
        forged = replace(found.certificate, lower=1.001 * found.lower)
        assert not forged.verify(X, y).ok
        moved = y.copy()
        moved[20] *= -1.0
        assert not found.certificate.verify(X, moved).ok
