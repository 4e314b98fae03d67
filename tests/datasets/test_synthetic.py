"""Synthetic designs have the spectra and the coefficients that they promise."""

from __future__ import annotations

import numpy as np

from sparsebounds.datasets import make_bell_spectrum


def test_a_bell_shaped_spectrum() -> None:
    sample = make_bell_spectrum(200, 40, rank=5, nonzeros=3, tail=0.2, scale=2.0, random_state=1)
    i = np.arange(40) / 5
    expected = 2.0 * (0.8 * np.exp(-(i**2)) + 0.2 * np.exp(-0.1 * i))
    np.testing.assert_allclose(np.linalg.svd(sample.X, compute_uv=False), expected, rtol=1e-10)
    assert np.count_nonzero(sample.coef) == 3
    noise = sample.y - sample.X @ sample.coef
    assert 0.8 < noise.std() < 1.2


def test_the_settings_of_the_second_experiment() -> None:
    sample = make_bell_spectrum()
    assert sample.X.shape == (1000, 100)
    assert np.count_nonzero(sample.coef) == 10
    np.testing.assert_array_equal(make_bell_spectrum(scale=10.0).X, 10.0 * sample.X)
