"""What `python -m benchmarks.scale.threads` times, each in processes of its own.

A process is asked for one run per line that it reads, and answers with the seconds by the clock,
those of the processors, and a number that tells whether two processes did the same work. It imports
no other benchmark: that would set one thread.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import sparsebounds as sb
from sparsebounds.datasets import make_correlated

Run = Callable[[], float]
"""The work; it returns a number that is the same for the same work."""


def correlated(n: int, m: int, loss: str = "squared", seed: int = 0) -> Any:
    """Autoregressive columns (0.5), ten ones, SNR 5, as an array by rows."""
    classes = loss == "logistic"
    data = make_correlated(n, m, 0.5, 10, 5.0, classes=classes, random_state=seed)
    return np.ascontiguousarray(data.X), data.y


def relax(n: int, m: int, ridge: float = 0.05, loss: str = "squared") -> Run:
    program = sb.Program(*correlated(n, m, loss), loss=loss, k=10, ridge=ridge)
    return lambda: sb.relax(program).value


def exact(loss: str, ridge: float, nodes: int) -> Run:
    X, y = correlated(500, 1000, loss, seed=1)
    asked: dict[str, Any] = {"loss": loss, "k": 10, "ridge": ridge, "exact": True}
    return lambda: sb.solve(X, y, node_limit=nodes, **asked).lower


def path() -> Run:
    X, y = correlated(500, 5000)
    return lambda: float(np.sum(sb.path(X, y, ks=range(1, 21), ridge=0.05).lower))


def cross_validation() -> Run:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    model = sb.SparseClassifierCV(ks=[1, 2, 4, 8], cv=3)
    return lambda: float(model.fit(X, y).intercept_[0])


def solve(n: int, m: int, kind: str = "rows", **asked: Any) -> Run:
    X, y = correlated(n, m)
    if kind == "columns":
        X = np.asfortranarray(X)
    elif kind == "frame":
        import pandas as pd

        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(m)])
    elif kind == "float32":
        X = X.astype(np.float32)
    return lambda: sb.solve(X, y, k=10, ridge=0.05, exact=False, **asked).upper


def sparse() -> Run:
    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    X = random_array((20_000, 100_000), density=1e-3, format="csc", rng=rng)
    z = X[:, :20] @ np.ones(20)
    y = np.where(z + 0.5 * np.std(z) * rng.normal(size=len(z)) > np.mean(z), 1.0, -1.0)
    program = sb.Program(X, y, loss="logistic", k=20, ridge=1e-3)
    return lambda: sb.relax(program).value


TALL: dict[str, Any] = {"fit_intercept": True, "standardize": True}
TASKS: dict[str, Callable[[], Run]] = {
    "relax 500 x 1000": lambda: relax(500, 1000),
    "relax 500 x 1000, logistic": lambda: relax(500, 1000, loss="logistic"),
    "relax 1000 x 20,000": lambda: relax(1000, 20_000),
    "relax 1000 x 20,000, ridge 0.005": lambda: relax(1000, 20_000, 0.005),
    "exact 500 x 1000": lambda: exact("squared", 0.05, 2000),
    "exact 500 x 1000, logistic, 300 nodes": lambda: exact("logistic", 0.005, 300),
    "path 500 x 5000, k = 1 to 20": path,
    "cross-validation 569 x 30, classes": cross_validation,
    "solve 2000 x 2000, by columns": lambda: solve(2000, 2000, "columns"),
    "solve 2000 x 2000, by rows": lambda: solve(2000, 2000),
    "solve 2000 x 2000, data frame": lambda: solve(2000, 2000, "frame"),
    "solve 2000 x 5000, float32": lambda: solve(2000, 5000, "float32"),
    "solve 300,000 x 50, standardized": lambda: solve(300_000, 50, **TALL),
    "relax 20,000 x 100,000, sparse, logistic": sparse,
}


def serve(name: str) -> None:
    """Answer until there are no more questions; the first run is not timed."""
    warnings.simplefilter("ignore")
    run = TASKS[name]()
    run()
    print("ready", flush=True)
    for _ in sys.stdin:
        start, busy = time.perf_counter(), time.process_time()
        number = run()
        print(time.perf_counter() - start, time.process_time() - busy, number, flush=True)
