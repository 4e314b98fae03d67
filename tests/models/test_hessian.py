"""Rows of H that are formed when they are asked for: those of the whole matrix."""

from __future__ import annotations

import numpy as np

from sparsebounds.models.hessian import Hessian


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
