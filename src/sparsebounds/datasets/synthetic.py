"""Synthetic designs: the paper's first two experiments and autoregressive columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Vector


@dataclass(frozen=True)
class Sample:
    """A design X, a response y and the coefficients they were made from."""

    X: Vector
    y: Vector
    coef: Vector


def make_low_rank(
    n: int = 1000,
    m: int = 100,
    rank: int = 10,
    nonzeros: int = 10,
    *,
    classes: bool = False,
    random_state: int = 0,
) -> Sample:
    """Experiment 1 of Askari, d'Aspremont and El Ghaoui.

    X is the best rank-`rank` approximation of a standard normal matrix; `nonzeros`
    coefficients are N(0, 25); y = X coef + N(0, 1), or its sign where `classes`.
    """
    rng = np.random.default_rng(random_state)
    left, values, right = np.linalg.svd(rng.normal(size=(n, m)), full_matrices=False)
    X = (left[:, :rank] * values[:rank]) @ right[:rank]
    coef = np.zeros(m)
    coef[rng.choice(m, nonzeros, replace=False)] = rng.normal(scale=5.0, size=nonzeros)
    y = X @ coef + rng.normal(size=n)
    return Sample(X, np.where(y > 0, 1.0, -1.0) if classes else y, coef)


def make_bell_spectrum(
    n: int = 1000,
    m: int = 100,
    rank: int = 10,
    nonzeros: int = 10,
    *,
    tail: float = 0.5,
    scale: float = 1.0,
    random_state: int = 0,
) -> Sample:
    """Experiment 2 of Askari, d'Aspremont and El Ghaoui: X of full rank, of numerical rank `rank`.

    X is scikit-learn's `make_low_rank_matrix`, times `scale`: singular values (1 - tail)
    exp(-(i/rank)^2) + tail exp(-0.1 i/rank), the largest 1; coefficients and y as in
    `make_low_rank`. With scale 1, as in the paper, the noise of y drowns the signal.
    """
    from sklearn.datasets import make_low_rank_matrix

    X = scale * make_low_rank_matrix(
        n, m, effective_rank=rank, tail_strength=tail, random_state=random_state
    )
    rng = np.random.default_rng(random_state)
    coef = np.zeros(m)
    coef[rng.choice(m, nonzeros, replace=False)] = rng.normal(scale=5.0, size=nonzeros)
    return Sample(X, X @ coef + rng.normal(size=n), coef)


def make_correlated(
    n: int = 500,
    m: int = 1000,
    correlation: float = 0.5,
    nonzeros: int = 10,
    snr: float = 5.0,
    *,
    classes: bool = False,
    random_state: int = 0,
) -> Sample:
    """Autoregressive normal columns, corr(x_i, x_j) = correlation^|i - j|.

    `nonzeros` equally spaced coefficients are 1; the noise variance is var(X coef) / snr.
    """
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, m))
    fresh = np.sqrt(1.0 - correlation**2)
    for j in range(1, m):
        X[:, j] = correlation * X[:, j - 1] + fresh * X[:, j]
    coef = np.zeros(m)
    coef[np.linspace(0, m - 1, nonzeros).astype(int)] = 1.0
    signal = X @ coef
    y = signal + rng.normal(scale=np.sqrt(np.var(signal) / snr), size=n)
    return Sample(X, np.where(y > 0, 1.0, -1.0) if classes else y, coef)
