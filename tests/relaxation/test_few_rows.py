"""Newton's point on a piece with groups: by rows, and by the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.relaxation.newton import newton_point
from sparsebounds.relaxation.smooth import Smooth
from sparsebounds.relaxation.sparse_part import smooth_part

FORMS = {"k": {"k": 3}, "l0": {"l0": 0.02}}


def drawn(seed, loss, form, *, intercept, equal=True):
    """A program with far more columns than rows, its smooth part on all of them, and a point."""
    rng = np.random.default_rng([seed, 220])
    n, sizes = 8, rng.integers(2, 5, size=16)
    labels = np.repeat(np.arange(16), sizes)
    X = rng.normal(size=(n, len(labels)))
    X[:, -1] = X[:, -2]
    y = X[:, :5].sum(axis=1) + rng.normal(size=n)
    program = sb.Program(
        X,
        np.sign(y) if loss == "logistic" else y,
        loss=loss,
        ridge=0.1 if equal else 0.05 + 0.1 * rng.random(len(labels)),
        sample_weight=None if equal else rng.random(n) + 0.5,
        groups=labels,
        fit_intercept=intercept,
        **form,
    )
    smooth = smooth_part(program)
    smooth.read(program.matrix, np.arange(program.m))
    w = np.where(np.isin(labels, rng.choice(16, 12, replace=False)), 0.05, 0.0)
    point = smooth.at(w * rng.normal(size=len(w)), 0.1)
    return program, smooth, point


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("form", FORMS)
def test_rows_and_matrix_have_the_same_minimum(form, loss, intercept, equal, monkeypatch):
    by_rows = 0
    for seed in range(8):
        program, smooth, point = drawn(seed, loss, FORMS[form], intercept=intercept, equal=equal)
        penalty, diagonal = program.penalty(), smooth.metric(point)
        step = penalty.even(1.0 / diagonal)
        pattern = penalty.pattern(point.w - step * point.gradient, step)
        by_rows += bool(pattern.blocks) and smooth.few_rows(point, pattern.active) is not None
        # With more groups than rows nothing but proximal terms makes the system regular.
        asked = (smooth, point, pattern, 1e-4 * diagonal)
        w, b = newton_point(*asked, eager=seed % 2 == 0)
        with monkeypatch.context() as whole:
            whole.setattr(Smooth, "few_rows", lambda *_: None)
            other, level = newton_point(*asked, eager=seed % 2 == 0)
        assert np.max(np.abs(w - other)) <= 1e-9 * np.max(np.abs(other))
        assert abs(b - level) <= 1e-9 * (1.0 + abs(level))
    assert by_rows >= 4


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("form", FORMS)
def test_a_relaxation_by_rows_is_that_by_the_matrix(form, loss, monkeypatch):
    program, _, _ = drawn(3, loss, FORMS[form], intercept=loss == "logistic")
    few = sb.relax(program, tol=1e-9)
    monkeypatch.setattr(Smooth, "few_rows", lambda *_: None)
    whole = sb.relax(program, tol=1e-9)
    assert few.status == whole.status == "optimal"
    assert abs(few.value - whole.value) <= 2e-9 * program.null
    assert few.stats.newton_steps <= whole.stats.newton_steps + 1


def test_single_features_and_signs_ask_for_the_matrix():
    """A single feature on its linear piece has no curvature of its own, and a sign is kept."""
    groups = sb.penalties.Groups(np.array([0, 0, 2]))
    q, step = np.array([1.0, 1.0, 0.2]), np.full(3, 1e-3)
    for positive, curved in ((None, True), (np.array([False, True, False]), False)):
        penalty = sb.penalties.KRidge(1, 1.0, positive=positive, groups=groups)
        assert penalty.pattern(np.array([1.0, 1.0, 0.0]), step).curved == curved
    mixed = sb.penalties.KRidge(1, 1.0, groups=groups).pattern(q, step)
    assert mixed.active.tolist() == [0, 1, 2]
    assert not mixed.curved
