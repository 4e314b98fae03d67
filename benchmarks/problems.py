"""The workloads: data with fixed seeds, and the relaxation asked for on them.

`hd` data are those of `datasets.make_correlated`: autoregressive normal columns, 10 coefficients
of 1, a signal of 5 times the noise's variance. l0 is given as a fraction of

    l0_max = max_j (x_j.F'(0))^2 / (2 (L |x_j|^2 / n + ridge)),    L the curvature of the loss,

the price above which no single column pays for itself. X is a float64 array that each method is
handed in the memory order it likes: by columns, for ours and most others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebounds import Program
from sparsebounds.datasets import make_correlated, make_low_rank

ROOT = Path(__file__).resolve().parents[1]
CURVATURE = {"squared": 1.0, "logistic": 0.25}


class Unavailable(Exception):
    """A problem whose data are not here; the message says why."""


@dataclass(frozen=True)
class Problem:
    """One relaxation: exactly one of k / l0, exactly one of ridge / ball."""

    X: Any
    """A NumPy array or, where `sparse`, a scipy.sparse CSC matrix."""

    y: Any
    loss: str = "squared"
    k: int | None = None
    l0: float | None = None
    ridge: float | None = None
    ball: float | None = None
    standardize: bool = False
    """Columns are to be scaled to mean square 1 (there is no intercept, hence no shift)."""

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def form(self) -> str:
        """As `Program.form` says it."""
        return ("k" if self.l0 is None else "l0") + ("+ridge" if self.ball is None else "+ball")

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.X)

    def program(self) -> Program:
        """Ours: validation and column norms."""
        return Program(
            self.X,
            self.y,
            k=self.k,
            l0=self.l0,
            ridge=self.ridge,
            ball=self.ball,
            loss=self.loss,
            standardize=self.standardize,
        )

    def ready(self, order: str) -> Problem:
        """The same problem on columns scaled already and in the memory order a competitor likes."""
        X = self.X
        if self.standardize:
            X = X / np.sqrt(np.mean(X * X, axis=0))
        return replace(self, X=X, standardize=False).stored(order)

    def stored(self, order: str) -> Problem:
        """The same problem with a dense X in this memory order."""
        if self.sparse:
            return self
        return replace(self, X=np.asarray(self.X, order=order))  # type: ignore[call-overload]

    def tiny(self) -> Problem:
        """A corner of the problem, of the same types: what a compiler is warmed up with."""
        n, m = self.shape
        rows = np.r_[0 : min(n, 30), n - min(n, 30) : n]
        X = self.X[rows][:, : min(m, 40)] if not self.sparse else self.X[:, : min(m, 40)]
        y = self.y[rows] if not self.sparse else self.y
        if not self.sparse:
            X = np.asarray(X, order="F" if self.X.flags.f_contiguous else "C")
        return replace(self, X=X, y=np.ascontiguousarray(y))


def l0_max(X: Any, y: Any, loss: str, ridge: float) -> float:
    """The price above which w = 0 beats every single column."""
    n = X.shape[0]
    gradient = -y / n if loss == "squared" else -y / (2.0 * n)
    if sp.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() / n
    else:
        squares = np.einsum("ij,ij->j", X, X) / n
    return float(np.max((X.T @ gradient) ** 2 / (2.0 * (CURVATURE[loss] * squares + ridge))))


def hd(
    n: int,
    m: int,
    *,
    correlation: float = 0.5,
    loss: str = "squared",
    ridge: float = 0.05,
    fraction: float = 0.1,
    k: int | None = None,
) -> Problem:
    """Autoregressive columns, 10 ones, SNR 5."""
    data = make_correlated(n, m, correlation, classes=loss == "logistic", random_state=0)
    l0 = fraction * l0_max(data.X, data.y, loss, ridge) if k is None else None
    return Problem(data.X, data.y, loss, k=k, l0=l0, ridge=ridge)


def nearly_low_rank(n: int = 1000, m: int = 100_000, rank: int = 20) -> Problem:
    """X = A B plus 1% noise, columns of mean square about 1; 10 ones, SNR 5."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, rank)) @ rng.normal(scale=rank**-0.5, size=(rank, m))
    for rows in np.array_split(np.arange(n), 20):
        X[rows] += 0.01 * rng.normal(size=(len(rows), m))
    signal = X[:, np.linspace(0, m - 1, 10).astype(int)].sum(axis=1)
    y = signal + rng.normal(scale=np.sqrt(np.var(signal) / 5.0), size=n)
    return Problem(X, y, l0=0.1 * l0_max(X, y, "squared", 0.05), ridge=0.05)


def sparse(n: int = 20_000, m: int = 200_000, density: float = 1e-3) -> Problem:
    """Normal entries at random places, scaled to columns of mean square about 1."""
    rng = np.random.default_rng(0)
    count = int(density * n * m)
    entries = rng.normal(scale=density**-0.5, size=count)
    places = (rng.integers(n, size=count), rng.integers(m, size=count))
    X = sp.csc_array(sp.coo_array((entries, places), shape=(n, m)))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    coef = np.zeros(m)
    coef[np.linspace(0, m - 1, 10).astype(int)] = 1.0
    signal = X @ coef
    y = signal + rng.normal(scale=np.sqrt(np.var(signal) / 5.0), size=n)
    return Problem(X, y, l0=0.1 * l0_max(X, y, "squared", 0.05), ridge=0.05)


def shared_data(name: str) -> tuple[Any, Any]:
    """X and y of a data set that is not shipped with the code."""
    folder = Path(os.environ.get("SPARSEBOUNDS_DATA", ROOT.parent / "shared" / "data"))
    path = folder / f"{name}.npz"
    if not path.exists():
        raise Unavailable(f"{path} is not there; name its folder in SPARSEBOUNDS_DATA")
    with np.load(path) as data:
        return np.ascontiguousarray(data["X"], float), np.asarray(data["y"], float)


def leukemia() -> Problem:
    """72 samples, 3571 genes: logistic, l0 = 0.1, ball = 50, standardized."""
    X, y = shared_data("leukemia")
    return Problem(X, y, "logistic", l0=0.1, ball=50.0, standardize=True)


def experiment_1(*, loss: str = "squared", k: int | None = None) -> Problem:
    """1000 x 100 of rank 10, the paper's first experiment; ridge 0.01, l0 = 0.01 l0_max."""
    data = make_low_rank(classes=loss == "logistic", random_state=0)
    l0 = 0.01 * l0_max(data.X, data.y, loss, 0.01) if k is None else None
    return Problem(data.X, data.y, loss, k=k, l0=l0, ridge=0.01)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "exp1-l0": experiment_1,
    "exp1-k-logistic": lambda: experiment_1(loss="logistic", k=10),
    "500x1000-ar0.5": lambda: hd(500, 1000),
    "500x1000-ar0.9": lambda: hd(500, 1000, correlation=0.9),
    "500x1000-logistic": lambda: hd(500, 1000, loss="logistic"),
    "leukemia": leukemia,
    "500x10000": lambda: hd(500, 10_000),
    "500x10000-logistic": lambda: hd(500, 10_000, loss="logistic"),
    "500x10000-k": lambda: hd(500, 10_000, k=10),
    "100000x500": lambda: hd(100_000, 500),
    "1000x50000-0.1": lambda: hd(1000, 50_000, ridge=1.0, fraction=0.1),
    "1000x50000-0.02": lambda: hd(1000, 50_000, ridge=1.0, fraction=0.02),
    "1000x50000-logistic-0.1": lambda: hd(1000, 50_000, ridge=1.0, fraction=0.1, loss="logistic"),
    "1000x50000-logistic-0.02": lambda: hd(1000, 50_000, ridge=1.0, fraction=0.02, loss="logistic"),
    "1000x100000-rank20": nearly_low_rank,
    "20000x200000-sparse": sparse,
}

QUICK = ("exp1-l0", "exp1-k-logistic", "500x1000-ar0.5", "500x1000-logistic", "leukemia")
"""What --quick runs."""
