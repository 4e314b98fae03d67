"""Ladders: the models of folds, point after point, against brute force and against searches."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds.bounds import objective_up
from sparsebounds.losses import REGISTRY
from sparsebounds.models import Ladder
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, random_program


def test_nearly_every_small_optimum() -> None:
    """All losses and forms, intercepts, weights, signs: feasible, worth what is said, the best."""
    total = found = 0
    for loss, form in itertools.product(sorted(REGISTRY), get_args(Form)):
        for seed in seeds(2, loss, form):
            program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
            if program.k is not None:
                grid: list[float] = [program.k]
            elif isinstance(program.l0, float):
                grid = [10.0 * program.l0, program.l0]
            else:
                continue
            model = Ladder(program).climb(grid)[-1]
            optimum = brute_force(program).value
            scale = max(abs(optimum), abs(program.null))
            assert model.value == pytest.approx(
                objective_up(program, model.w, model.b), abs=1e-9 * scale
            )
            assert model.value >= optimum - 1e-9 * scale
            found += model.value <= optimum + 1e-8 * scale
            total += 1
    assert found >= 0.95 * total


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_models_of_all_sizes(loss: str) -> None:
    """More features than there are, sizes left out, features that stay in and out; the same from
    what another ridge leads to."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9)) + 5.0
    y = X[:, :4] @ [1.0, -1.0, 0.5, 0.5] + rng.normal(size=60)
    y = np.where(y > np.median(y), 1.0, -1.0) if loss == "logistic" else y
    posed = {"loss": loss, "ridge": 0.02, "fit_intercept": True, "always": [8], "never": [7]}
    program = Program(X, y, k=0, **posed)
    grid = [0, 2, 3, 50]
    other = Ladder(Program(X, y, k=0, **posed | {"ridge": 2.0}))
    other.climb(grid)
    truth = [brute_force(Program(X, y, k=min(k, 7), **posed)).value for k in grid]
    for known in ({}, other.supports):
        models = Ladder(program, known=known).climb(grid)
        values = [model.value for model in models]
        assert values == sorted(values, reverse=True)
        assert values == pytest.approx(truth, rel=1e-8)
        for k, model in zip(grid, models, strict=True):
            assert model.w[7] == 0.0
            assert model.w[8] != 0.0
            assert np.count_nonzero(model.w[:8]) <= k


def test_among_many_columns_and_again() -> None:
    """Only columns with large slopes are read; the same data give the same models."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 400))
    y = X[:, 5] - X[:, 200] + 0.5 * X[:, 399] + 0.3 * rng.normal(size=80)
    first, second = (
        Ladder(Program(X, y, k=0, ridge=0.05, fit_intercept=True)).climb([1, 3, 6])
        for _ in range(2)
    )
    assert first[1].support.tolist() == [5, 200, 399]
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.w, other.w)
