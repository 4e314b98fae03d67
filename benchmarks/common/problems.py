"""A problem, and the data that more than one benchmark uses, with fixed seeds.

l0 is given as a fraction of

    l0_max = max_j (x_j.F'(0))^2 / (2 (L |x_j|^2 / n + ridge)),    L the curvature of the loss,

the price above which no single column pays for itself. X is a float64 array that each method gets
in the memory order it likes: by columns, for ours and most others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebounds import Program, Solution, solve
from sparsebounds.datasets import make_correlated, make_low_rank

ROOT = Path(__file__).resolve().parents[2]
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

    groups: Any = None
    """The number of the group of each column, ascending; None: every column stands alone."""

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
        return Program(self.X, self.y, **self.arguments)

    def solve(self, **options: Any) -> Solution:
        """Our solution, without a search unless `options` ask for one."""
        return solve(self.X, self.y, **self.arguments, **({"exact": False} | options))

    @property
    def arguments(self) -> dict[str, Any]:
        """What `Program` and `solve` are told besides the data, where it is not left out.

        Versions that do not know an argument can be measured on the problems that go without it.
        """
        names = ("loss", "k", "l0", "ridge", "ball", "standardize", "groups")
        told = {name: getattr(self, name) for name in names}
        return {name: value for name, value in told.items() if value is not None}

    def counted(self, coef: Any) -> int:
        """The nonzeros of a model, or its groups: what k counts."""
        places = np.flatnonzero(coef)
        return len(places) if self.groups is None else len(np.unique(self.groups[places]))

    def ready(self, order: str) -> Problem:
        """The same problem on columns scaled already and in the memory order a peer likes."""
        X = self.X
        if self.standardize:
            X = X / np.sqrt(np.mean(X * X, axis=0))
        return replace(self, X=X, standardize=False).stored(order)

    def stored(self, order: str) -> Problem:
        """The same problem with a dense X in this memory order."""
        if self.sparse:
            return self
        return replace(self, X=np.asarray(self.X, order=order))

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


def noisy(signal: Any, rng: np.random.Generator) -> Any:
    """A response whose signal has 5 times the noise's variance."""
    return signal + rng.normal(scale=np.sqrt(np.var(signal) / 5.0), size=len(signal))


def posed(
    X: Any, y: Any, loss: str, *, k: int | None = None, ridge: float = 0.05, fraction: float = 0.1
) -> Problem:
    """With k, or else with l0 as a fraction of l0_max."""
    l0 = fraction * l0_max(X, y, loss, ridge) if k is None else None
    return Problem(X, y, loss, k=k, l0=l0, ridge=ridge)


def correlated(
    n: int,
    m: int,
    *,
    correlation: float = 0.5,
    nonzeros: int = 10,
    snr: float = 5.0,
    loss: str = "squared",
    ridge: float = 0.05,
    fraction: float = 0.1,
    k: int | None = None,
    seed: int = 0,
) -> Problem:
    """Autoregressive normal columns, coefficients of 1, noise of variance var(signal) / snr."""
    classes = loss == "logistic"
    data = make_correlated(n, m, correlation, nonzeros, snr, classes=classes, random_state=seed)
    return posed(data.X, data.y, loss, k=k, ridge=ridge, fraction=fraction)


def experiment_1(loss: str = "squared", k: int | None = None, seed: int = 0) -> Problem:
    """1000 x 100 of rank 10, the paper's first experiment; ridge 0.01, l0 = 0.01 l0_max."""
    data = make_low_rank(classes=loss == "logistic", random_state=seed)
    return posed(data.X, data.y, loss, k=k, ridge=0.01, fraction=0.01)


def shared_file(name: str) -> Path:
    """A file that is not shipped with the code."""
    folder = Path(os.environ.get("SPARSEBOUNDS_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / name).exists():
        raise Unavailable(f"{folder / name} is not there; name its folder in SPARSEBOUNDS_DATA")
    return folder / name


def shared_data(name: str) -> tuple[Any, Any]:
    """X and y of a data set that is not shipped with the code; the first column of a CSV is y."""
    path = shared_file(name if name.endswith(".csv") else f"{name}.npz")
    if name.endswith(".csv"):
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
        return table[:, 1:], np.where(table[:, 0] > 0.0, 1.0, -1.0)
    with np.load(path) as data:
        return np.ascontiguousarray(data["X"], float), np.asarray(data["y"], float)


REAL = {
    "diabetes64": "squared",
    "riboflavin": "squared",
    "leukemia": "logistic",
    "colon": "logistic",
}
"""Data sets and their losses."""


def real(name: str, k: int) -> Problem:
    """A data set, standardized (colon: its log10), y centred where it is a number; ridge 0.05."""
    X, y = shared_data(name)
    if name == "colon":
        X = np.log10(X)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if REAL[name] == "squared":
        y = y - y.mean()
    return Problem(X, y, REAL[name], k=k, ridge=0.05)
