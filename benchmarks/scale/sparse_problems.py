"""Sparse data of two kinds, with fixed seeds: see `scale.sparse`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from benchmarks.common.problems import Problem

FILLED, PLANTED, K = 20, 200, 20
SHARES = (0.1, 0.01)
"""The ridge, next to the mean square of a column."""


def normal_entries(n: int, m: int, rng: np.random.Generator) -> sp.csc_array:
    """Columns of FILLED entries, one in each of as many strata of rows."""
    step = n // FILLED
    rows = rng.integers(0, step, size=(m, FILLED), dtype=np.int32)
    rows += step * np.arange(FILLED, dtype=np.int32)
    ends = np.arange(0, m * FILLED + 1, FILLED, dtype=np.int32)
    return sp.csc_array((rng.standard_normal(m * FILLED), rows.ravel(), ends), shape=(n, m))


def word_counts(n: int, m: int, rng: np.random.Generator) -> sp.csc_array:
    """About FILLED m words in n texts."""
    often = 1.0 / (np.arange(m) + 10.0)
    often = np.minimum(often * (FILLED * m / often.sum()), 0.5 * n)
    counts = np.maximum(1, rng.poisson(often))
    rows = rng.integers(0, n, size=int(counts.sum()), dtype=np.int32)
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    X = sp.csc_array((np.ones(len(rows)), rows, ends), shape=(n, m))
    X.sum_duplicates()
    return X


KINDS = {"normal": normal_entries, "words": word_counts}


def response(X: sp.csc_array, loss: str, rng: np.random.Generator) -> np.ndarray:
    """A planted model among the columns that are filled more than most, and noise."""
    counts = np.diff(X.indptr)
    likely = np.flatnonzero(counts >= np.median(counts))
    w = np.zeros(X.shape[1])
    signs = rng.choice([-1.0, 1.0], PLANTED)
    w[rng.choice(likely, PLANTED, replace=False)] = signs * rng.uniform(1.0, 3.0, PLANTED)
    z = X @ w
    z += rng.normal(scale=np.std(z), size=len(z))
    return z if loss == "squared" else np.where(z > 0.0, 1.0, -1.0)


def problems(shape: tuple[int, int], seed: int) -> Iterator[tuple[str, Problem]]:
    """(name, problem with k), in the order of the table."""
    for kind, loss in itertools.product(KINDS, ("squared", "logistic")):
        rng = np.random.default_rng(seed)
        X = KINDS[kind](*shape, rng)
        y = response(X, loss, rng)
        square = float(np.sum(X.data**2)) / (shape[0] * shape[1])
        for scaled, share in itertools.product((False, True), SHARES):
            ridge = share * (1.0 if scaled else square)
            name = f"{kind}, {loss}{', scaled' if scaled else ''}, {share:g}"
            yield name, Problem(X, y, loss, k=K, ridge=ridge, standardize=scaled)
