"""Responses for every loss, drawn from a model with noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sparsebounds.losses import get_loss

Draw = Callable[[np.random.Generator, np.ndarray, str], np.ndarray]


@pytest.fixture(scope="session")
def response() -> Draw:
    """(generator, X, loss) -> y, both classes among the first two rows."""

    def draw(rng: np.random.Generator, X: np.ndarray, loss: str) -> np.ndarray:
        z = X @ rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1]) + rng.normal(size=len(X))
        if get_loss(loss).two_class:
            y = np.where(z > 0.0, 1.0, -1.0)
            y[:2] = -1.0, 1.0
            return y
        return rng.poisson(np.exp(np.clip(z, -2.0, 2.0))) + 0.0 if loss == "poisson" else z

    return draw
