"""Synthetic designs: the paper's first two experiments and autoregressive columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Vector


@dataclass(frozen=True)
class Sample:
    """A design, a response and the coefficients they were made from.

    Attributes
    ----------
    X : array
        The design, n x m.
    y : array
        The response, n numbers or classes -1 and +1.
    coef : array
        The m coefficients.

    Examples
    --------
    >>> sample = sb.datasets.make_low_rank(50, 20, rank=3)
    >>> sample.X.shape, int(np.count_nonzero(sample.coef))
    ((50, 20), 10)
    """

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

    Parameters
    ----------
    n, m : int, default 1000 and 100
        Rows and columns.
    rank : int, default 10
        The rank of X.
    nonzeros : int, default 10
        Coefficients that are not 0.
    classes : bool, default False
        Whether y is the sign of the response: -1 or +1.
    random_state : int, default 0
        The seed.

    Returns
    -------
    Sample
        X, y and the coefficients.

    Notes
    -----
    X is the best approximation of a standard normal matrix of that rank; coefficients are
    N(0, 25), and y = X coef + N(0, 1).

    Examples
    --------
    >>> sample = sb.datasets.make_low_rank(50, 20, rank=3)
    >>> int(np.linalg.matrix_rank(sample.X))
    3
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

    Parameters
    ----------
    n, m, rank, nonzeros, random_state : as in `make_low_rank`
    tail : float, default 0.5
        The share of the slowly falling part of the spectrum.
    scale : float, default 1.0
        The largest singular value; with 1, as in the paper, the noise of y drowns the signal.

    Returns
    -------
    Sample
        X, y and the coefficients.

    Notes
    -----
    X is scikit-learn's `make_low_rank_matrix`, times `scale`: singular values (1 - tail)
    exp(-(i/rank)^2) + tail exp(-0.1 i/rank). Coefficients and y are as in `make_low_rank`.

    Examples
    --------
    >>> sample = sb.datasets.make_bell_spectrum(50, 20, rank=3)
    >>> np.linalg.svd(sample.X, compute_uv=False)[:4].round(2).tolist()
    [1.0, 0.93, 0.79, 0.64]
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
    """Normal columns of which neighbours are correlated, and few of them in the model.

    Parameters
    ----------
    n, m : int, default 500 and 1000
        Rows and columns.
    correlation : float, default 0.5
        That of neighbours.
    nonzeros : int, default 10
        Coefficients that are 1, equally spaced; the others are 0.
    snr : float, default 5.0
        The variance of the signal over that of the noise.
    classes, random_state : as in `make_low_rank`

    Returns
    -------
    Sample
        X, y and the coefficients.

    Notes
    -----
    Columns are autoregressive, ``corr(x_i, x_j) = correlation^|i - j|``; the variance of the noise
    is var(X coef) / snr.

    Examples
    --------
    >>> sample = sb.datasets.make_correlated(50, 20, nonzeros=2)
    >>> np.flatnonzero(sample.coef).tolist()
    [0, 19]
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
