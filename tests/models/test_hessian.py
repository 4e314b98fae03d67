"""H, formed by rows as they are asked for, or in one pass: that of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds.models.hessian import Hessian
from sparsebounds.models.pool import Kept, Pool, Read
from sparsebounds.program import Program


def test_its_rows_are_those_of_the_whole_matrix() -> None:
    rng = np.random.default_rng(0)
    for mass in (0.0, 3.0):
        rows, mean = rng.normal(size=(9, 14)), 0.3 * rng.normal(size=9)
        unit = np.exp(rng.normal(size=9))
        whole = (rows @ rows.T - mass * np.outer(mean, mean)) * np.outer(unit, unit)
        found = Hessian(rows.copy(), mean, mass).scaled(unit)
        near = {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(found.diagonal(), np.diagonal(whole), **near)
        np.testing.assert_allclose(found[4], whole[4], **near)
        some = np.array([[7, 4], [0, 7]])
        np.testing.assert_allclose(found[some], whole[some], **near)
        pairs = some[:, :, None], some[:, None, :]
        np.testing.assert_allclose(found[pairs], whole[pairs], **near)
        np.testing.assert_allclose(found[np.arange(9)], whole, **near)


@pytest.mark.parametrize("intercept", [False, True])
def test_moments_are_less_the_means_under_the_weights(intercept: bool) -> None:
    """Of columns that were read, and of those that stay where they are, of a tall matrix too."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 6)) + 1.0, rng.choice([-1.0, 1.0], 20)
    program = Program(X, y, loss="logistic", k=2, ridge=0.1, fit_intercept=intercept)
    bend, right, features = rng.uniform(0.1, 2.0, 20), rng.normal(size=20), np.array([0, 2, 3, 5])
    mean = intercept * (bend @ X[:, features]) / np.sum(bend)
    rest = X[:, features] - mean
    pool = Pool(program)
    for tall in (False, True):
        program.matrix.tall = tall
        for columns in (Read(program, pool, pool.places(features)), Kept(program, features)):
            hessian, linear, moved = columns.moments(bend, right)
            np.testing.assert_allclose(hessian[np.arange(4)], (rest.T * bend) @ rest, rtol=1e-12)
            np.testing.assert_allclose(linear, right @ rest, rtol=1e-12)
            np.testing.assert_allclose(columns.means + moved, mean, rtol=1e-12)
