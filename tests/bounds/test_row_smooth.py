"""Smooth robust losses: parabolas below them, and bounds below every model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.bounds import SmoothRowLoss
from sparsebounds.certificates import Certificate
from sparsebounds.certificates.row_tree import row_tree_bound
from sparsebounds.certificates.tree import TreeError
from sparsebounds.losses import Cauchy, GemanMcClure, ResidualLoss, Tukey, Welsch

KINDS = (Tukey, Welsch, GemanMcClure, Cauchy)


@pytest.mark.parametrize("kind", KINDS)
def test_parabolas_lie_below_the_loss(kind: type[ResidualLoss]) -> None:
    """Everywhere, for any share and residual; and next to it, at the largest such value."""
    loss = kind(c=1.7)
    r = np.concatenate((np.linspace(-40.0, 40.0, 20_001), np.geomspace(40.0, 1e5, 500)))
    exact, most = loss.at(r), -float(loss.bend(loss.dip * loss.c))
    assert np.min(loss.bend(r)) == pytest.approx(-most, rel=1e-5)
    near = most * np.array([1e-9, 0.3, 0.99, 1.0 - 1e-6, 1.0, 1.0 + 1e-10, 1.5, 20.0])
    kappa = np.concatenate((most * 10.0 ** np.linspace(-9.0, 0.0, 40), near))
    rows = SmoothRowLoss(loss, kappa / (1.0 + kappa))
    kappa = -rows.least
    for at in (0.0, 1e-5, 0.3, -0.8, 1.3, 1.7, -2.3, 4.0, 30.0, -400.0):
        value, slope, curvature = rows.at(np.full(len(kappa), at))
        assert np.array_equal(slope, rows.slope(np.full(len(kappa), at)))
        aside = r[:, None] - at
        over = value + slope * aside - 0.5 * kappa * aside**2 - exact[:, None]
        assert np.max(over) <= 1e-15 * (1.0 + at**2)
        assert np.all(curvature >= rows.least - 1e-12)
        if abs(at) < 40.0:
            # As high as that goes, but for the grid.
            worth = kappa > 1e-2 * most
            assert np.all(np.max(over, axis=0)[worth] >= -1e-5 * (1.0 + kappa[worth]))


def tiny(seed: int, kind: type[ResidualLoss]) -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X, y = rng.normal(size=(7, 2)), 1.5 * rng.normal(size=7)
    options: dict[str, Any] = {"fit_intercept": bool(seed % 2), "loss": kind(c=1.0)}
    options |= {"k": 1} if seed % 3 else {"l0": 0.02}
    options |= {"ball": 0.5} if seed % 4 == 3 else {"ridge": 0.2}
    return X, y, options


def least(program: sb.Program) -> float:
    """The objective at the best of a grid of models."""
    steps = np.linspace(-2.5, 2.5, 31)
    w = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    if program.k is not None:
        w = w[np.count_nonzero(w, axis=1) <= program.k]
    if program.ball is not None:
        w = w[np.sum(w**2, axis=1) <= program.ball]
    X = program.matrix.columns(np.arange(2))
    best = np.inf
    for b in steps if program.fit_intercept else (0.0,):
        values = program.loss.value(program.y, w @ X.T + b) @ program.F.p
        values = values + (w != 0.0) @ program.prices
        if program.ball is None:
            values = values + 0.5 * np.square(w) @ program.ridges
        best = min(best, float(np.min(values)))
    return best


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_below_every_model(kind: type[ResidualLoss], tmp_path: Any) -> None:
    higher = 0
    for seed in range(1, 4):
        X, y, options = tiny(seed, kind)
        program = sb.Program(X, y, **options)
        solution = sb.solve(X, y, exact="auto" if seed > 1 else False, **options)
        best = min(least(program), solution.upper)
        assert solution.lower <= best
        assert solution.upper <= best * 1.01
        assert solution.outliers is None
        solution.certificate.save(tmp_path / "proof.json")
        assert Certificate.load(tmp_path / "proof.json").verify(X, y).ok
        higher += solution.lower > 1.2 * solution.stats.tightening[-1]
        tree = solution.certificate.rows
        if tree is None:
            continue
        rng = np.random.default_rng(seed)
        for name in ("theta", "shares", "etas", "middles", "values", "intercept") * 2:
            part = np.array(getattr(tree, name))
            forged = replace(tree, **{name: part * rng.choice([0.5, 0.99, 1.01, 2.0], part.shape)})
            try:
                proved = row_tree_bound(program, forged, solution.upper, solution.certificate.boxes)
            except TreeError:
                continue
            assert proved <= best
    assert higher >= 1
