"""Refits where Newton's first step overflows: the bound of a support proves that they are best."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds.models import refit
from sparsebounds.program import Program


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_first_step_beyond_the_exponential(seed: int, fit_intercept: bool) -> None:
    """f is strongly convex with modulus ridge in w: f(w) - |f'(w)|^2 / (2 ridge) is a bound."""
    rng = np.random.default_rng(seed)
    n, m, ridge = 5, 1 + seed % 3, 1e-3
    X, y = rng.normal(size=(n, m)), rng.poisson(1.0, n) * 10.0 ** (2 + seed % 4)
    y[0] = 1e3
    program = Program(X, y, k=m, ridge=ridge, loss="poisson", fit_intercept=fit_intercept)
    model = refit(program, np.arange(m))
    residual = np.exp(X @ model.w + model.b) - y
    slope = X.T @ residual / n + ridge * model.w
    if fit_intercept:
        assert abs(residual.mean()) <= 1e-9 * y.mean()
    assert slope @ slope / (2.0 * ridge) <= 1e-9 * abs(model.value)


def test_an_overflow_at_half_of_the_step() -> None:
    program = Program([[1.0], [-1.0]], [2000.0, 0.0], k=1, ridge=0.001, loss="poisson")
    w = refit(program, np.array([0])).w[0]
    slope = 0.5 * (np.exp(w) - 2000.0 - np.exp(-w)) + 0.001 * w
    assert abs(slope) <= 1e-9
