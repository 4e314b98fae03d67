"""The scale of the noise: near its true value whatever 40% of the responses are."""

from __future__ import annotations

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.losses import Squared, Truncated, get_loss
from sparsebounds.solving import scaled_loss
from sparsebounds.solving.noise import BEYOND, spread


def spoiled(seed: int, share: float, far: float, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Noise of standard deviation 2 about three of eight features; some responses are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    y = 50.0 + X[:, [1, 4, 6]] @ [6.0, -5.0, 4.0] + 2.0 * rng.normal(size=n)
    y[: int(share * n)] += far
    return X, y


@pytest.mark.parametrize(("share", "far"), [(0.0, 0.0), (0.2, 15.0), (0.4, 20.0), (0.4, -1e6)])
def test_wrong_responses_do_not_change_the_scale(share: float, far: float) -> None:
    found = [
        sb.noise_scale(*spoiled(seed, share, far), k=3, ridge=0.01, fit_intercept=True)
        for seed in range(2)
    ]
    assert np.all(np.abs(np.log(np.array(found) / 2.0)) < 0.3)


def test_the_scale_has_the_units_of_the_response_and_knows_weights_and_offsets() -> None:
    X, y = spoiled(5, 0.3, 40.0)
    problem = {"k": 3, "ridge": 0.01, "fit_intercept": True}
    sigma = sb.noise_scale(X, y, **problem)
    assert sb.noise_scale(X, y, **problem) == sigma
    assert sb.noise_scale(X, -8.0 * y, **problem) == pytest.approx(8.0 * sigma, rel=1e-6)
    moved = sb.noise_scale(X, y + 9.0 * X[:, 0], offset=9.0 * X[:, 0], **problem)
    assert moved == pytest.approx(sigma, rel=1e-6)
    weights = np.append(np.full(120, 2.0), np.zeros(7))
    more = np.vstack([X, 99.0 * X[:7]]), np.append(y, 1e4 * y[:7])
    assert sb.noise_scale(*more, sample_weight=weights, **problem) == pytest.approx(sigma, rel=1e-6)


def test_the_spread_of_normal_residuals_is_their_standard_deviation() -> None:
    sizes = np.abs(np.random.default_rng(0).normal(size=40_000)) * 3.0
    even = np.full(len(sizes), 1.0 / len(sizes))
    assert spread(sizes, even) == pytest.approx(3.0, rel=0.02)
    sizes[: len(sizes) // 3] = 1e9
    assert spread(sizes, even) == pytest.approx(3.0, rel=0.02)
    assert spread(sizes[:4], even[:4], 3) == pytest.approx(2.0 * spread(sizes[:4], even[:4]))


def test_auto_is_the_default_of_the_loss_in_units_of_the_noise() -> None:
    X, y = spoiled(1, 0.2, 30.0)
    program = sb.Program(X, y, k=3, ridge=0.01, fit_intercept=True)
    sigma = sb.noise_scale(X, y, k=3, ridge=0.01, fit_intercept=True)
    assert scaled_loss("truncated", "auto", lambda: program) == Truncated(BEYOND * sigma)
    assert scaled_loss("tukey", "auto", lambda: program).parameters() == {"c": 4.685 * sigma}
    assert scaled_loss("squared", None, lambda: program) == Squared()
    assert get_loss("truncated", 1.5) == Truncated(1.5)


def test_what_has_no_scale_is_refused_in_a_sentence() -> None:
    X, y = spoiled(2, 0.0, 0.0)
    program = sb.Program(X, y, k=3, ridge=0.01)
    with pytest.raises(InputError, match=r"The huber loss has no c; .* one of truncated, tukey"):
        get_loss("huber", 1.5)
    with pytest.raises(InputError, match="c='car' must be a number greater than 0, or 'auto'"):
        scaled_loss("truncated", "car", lambda: program)
    with pytest.raises(InputError, match="The poisson loss has no scale of noise; pass one of"):
        sb.noise_scale(X, np.abs(y), k=3, ridge=0.01, loss="poisson")
    with pytest.raises(InputError, match=r"fit half of the rows exactly, .* pass c as a number"):
        sb.noise_scale(X, X[:, 2], k=3, ridge=1e-13)


def test_estimators_say_which_rows_are_outliers() -> None:
    X, y = spoiled(3, 0.1, 60.0, n=40)
    weights = np.ones(40)
    weights[[0, 30]] = 0.0
    columns = X[:, [1, 4, 6]]
    model = sb.SparseRegressor(k=3, ridge=0.05, loss="truncated", c="auto")
    model.fit(columns, y, sample_weight=weights)
    assert model.c_ == pytest.approx(3.0 * 2.0, rel=0.3)
    assert model.certificate_.verify(columns, y, weights).ok
    found = model.outliers_
    sides = np.concatenate([found.proved_out, found.proved_in, found.in_doubt])
    assert np.array_equal(np.sort(sides), np.flatnonzero(weights))
    assert found.proved_out.tolist() == [1, 2, 3]
    assert sb.SparseRegressor(k=1, loss="tukey", c=5, exact=False).fit(X, y).c_ == 5.0
    assert sb.SparseRegressor(k=1).fit(X, y).c_ is None
