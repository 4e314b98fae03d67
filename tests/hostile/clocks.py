"""Clocks: a time limit is kept, and bounds hold whenever it strikes. For a quiet machine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from tests.hostile.attack import Attack, Finding, crash
from tests.hostile.draw import log_uniform, pick

import sparsebounds as sb

Rng = np.random.Generator


class Clocks(Attack):
    """Time limits on data that are large for them; processor time counts, not waiting."""

    name, weight, patience = "clocks", 0.15, 240.0

    def case(self, rng: Rng) -> Finding | None:
        what, work, limit = pick(rng, *WORK)(rng)
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = work()
        except Exception as error:
            return crash(what, error)
        spent = min(time.perf_counter() - wall, time.process_time() - cpu)
        if spent > limit + max(0.05 * limit, 1.0):
            return Finding("a time limit is overrun", f"{what}: {spent:.1f} s, limit {limit:g} s")
        if not 0.0 <= result.lower <= result.upper:
            return Finding("bounds out of order", f"{what}: {result.lower!r}, {result.upper!r}")
        return None


def sparse_data(rng: Rng, columns: int) -> tuple[Any, Any]:
    X = scipy.sparse.random_array((200, columns), density=0.01, random_state=rng, format="csc")
    y = np.asarray(X[:, :5] @ np.ones(5)).ravel() + 0.1 * rng.normal(size=200)
    return X, y


def robust(rng: Rng) -> tuple[str, Callable[[], Any], float]:
    """A non-convex loss on wide sparse data."""
    columns, limit = int(log_uniform(rng, 2e4, 3e5)), float(pick(rng, 1.0, 2.0))
    loss, (X, y) = pick(rng, "tukey", "welsch", "truncated"), sparse_data(rng, columns)
    what = f"{loss} on 200 x {columns} sparse data"
    return what, lambda: sb.solve(X, y, k=5, ridge=0.1, loss=loss, time_limit=limit), limit


def wide(rng: Rng) -> tuple[str, Callable[[], Any], float]:
    """An exact search on many columns."""
    columns, limit = int(log_uniform(rng, 2e3, 2e4)), float(pick(rng, 1.0, 3.0))
    X = rng.normal(size=(100, columns)) + rng.normal(size=(100, 1))
    y = X[:, :8].sum(axis=1) + 2.0 * rng.normal(size=100)
    loss = pick(rng, "squared", "squared", "logistic", "huber")
    y = np.sign(y - np.median(y) + 1e-9) if loss == "logistic" else y
    form = {"k": 8, pick(rng, "ridge", "ball"): pick(rng, 0.01, 1.0)}
    what = f"exact search, {loss}, {form}, on 100 x {columns} data"
    return what, lambda: sb.solve(X, y, **form, loss=loss, exact=True, time_limit=limit), limit


def separable(rng: Rng) -> tuple[str, Callable[[], Any], float]:
    """Two classes that can be told apart, almost without a ridge, without a limit."""
    X = rng.normal(size=(50, 20))
    y = np.sign(X[:, 0] + 0.1)
    ridge = float(10.0 ** -rng.integers(50, 151))
    return (
        f"logistic, 50 x 20, ridge {ridge}",
        lambda: sb.solve(X, y, k=5, ridge=ridge, loss="logistic"),
        3.0,
    )


def path(rng: Rng) -> tuple[str, Callable[[], Any], float]:
    """A path on many columns."""
    X = rng.normal(size=(200, 5000))
    y = X[:, :10].sum(axis=1) + rng.normal(size=200)
    limit = float(pick(rng, 1.0, 2.0))

    def work() -> Any:
        points = sb.path(X, y, ks=list(range(1, 40)), ridge=0.01, exact=True, time_limit=limit)
        return points[-1]

    return "path on 200 x 5000 data", work, limit


WORK = (robust, wide, wide, separable, path)
