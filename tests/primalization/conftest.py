"""Small programs of low rank, with the relaxed weights that make primalization work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sparsebounds.losses import REGISTRY
from sparsebounds.program import Form, Program

Maker = Callable[..., Program]


def low_rank_program(
    seed: int, loss: str, form: Form, rank: int, *, n: int = 10, m: int = 6, **more: Any
) -> Program:
    """m columns of a given rank, every other seed with repeats and signs; intercepts for odd seeds.

    With an intercept the centred columns have the given rank.
    """
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(n, rank))
    left -= left.mean(axis=0)
    X = left @ rng.normal(size=(rank, m))
    if seed % 4 >= 2:
        distinct = left @ rng.normal(size=(rank, max(rank, 3)))
        X = distinct[:, rng.integers(0, distinct.shape[1], size=m)]
        X = X * rng.choice([-1.0, 1.0], size=m)
    X = X / np.linalg.norm(X, axis=0) * np.sqrt(n)
    signal = X @ (rng.normal(size=m) * (rng.random(m) < 0.6)) / np.sqrt(rank)
    noise = 0.5 * rng.normal(size=n)
    y = signal + noise
    if REGISTRY[loss].two_class:
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = (-1.0, 1.0)
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.clip(0.5 * y, -3, 2))) + (np.arange(n) == 0) * 1.0
    sparsity = {"k": int(rng.integers(1, 5))} if form.startswith("k") else {"l0": 0.05}
    size = {"ridge": 0.2} if form.endswith("ridge") else {"ball": 0.5}
    intercept = {"fit_intercept": bool(seed % 2)}
    if seed % 2:
        X = X + 3.0
    return Program(X, y, loss=loss, **(sparsity | size | intercept | more))


@pytest.fixture
def low_rank() -> Maker:
    """`low_rank_program`."""
    return low_rank_program
