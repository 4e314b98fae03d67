"""Small programs of low rank, with their rows and their optima."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp

import sparsebounds as sb
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force

FORMS = get_args(Form)
N, M = 12, 6


def data(seed: int, loss: str = "squared") -> tuple[np.ndarray, np.ndarray]:
    """Rank 1 + seed mod 5, and noise of a tenth of its size."""
    rng = np.random.default_rng(seed)
    rank = 1 + seed % 5
    X = rng.normal(size=(N, rank)) @ rng.normal(size=(rank, M)) / math.sqrt(rank)
    X += 0.1 * rng.normal(size=(N, M))
    y = X @ rng.normal(size=M) + 0.5 * rng.normal(size=N)
    return X, np.where(y > np.median(y), 1.0, -1.0) if loss == "logistic" else y


def posed(form: Form, loss: str, seed: int, **options: Any) -> Program:
    """A program of this form on these data."""
    sparsity: dict[str, Any] = {"k": 1 + seed % 3} if form.startswith("k") else {"l0": 0.03}
    size: dict[str, Any] = {"ridge": 0.1} if form.endswith("ridge") else {"ball": 1.0}
    X, y = data(seed, loss)
    return Program(X, y, loss=loss, **sparsity, **size, **options)


@cache
def case(form: Form, loss: str, seed: int) -> tuple[Program, sb.RankBounds, float]:
    """A program, its rows for every rank, and its optimum. Odd seeds have an intercept."""
    program = posed(form, loss, seed, fit_intercept=seed % 2 == 1)
    return program, sb.rank_bounds(program), brute_force(program).value


def sparse_data() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 40), density=0.15, random_state=rng, format="csc")
    return X, X @ rng.normal(size=40) + 0.1 * rng.normal(size=60)
