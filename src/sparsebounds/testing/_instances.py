"""Small random programs of every kind, the awkward ones included."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.losses import get_loss
from sparsebounds.program import Form, Program


def random_program(
    seed: int,
    *,
    loss: str = "squared",
    form: Form = "k+ridge",
    fit_intercept: bool = False,
    most_rows: int = 8,
    most_columns: int = 5,
    grouped: bool = False,
) -> Program:
    """A small program, decided by the seed; awkward ones are among them.

    Parameters
    ----------
    seed : int
        The seed.
    loss : str, default "squared"
        The name of the loss.
    form : {"k+ridge", "l0+ridge", "k+ball", "l0+ball"}, default "k+ridge"
        Which of the four problems.
    fit_intercept : bool, default False
        Whether there is an intercept.
    most_rows, most_columns : int, default 8 and 5
        The largest size.
    grouped : bool, default False
        Whether to put columns into groups of one to several.

    Returns
    -------
    Program
        The program.

    Notes
    -----
    Among them: tied, duplicated (with a sign), zero and constant columns, rank one, columns
    from 1e-8 to 1e8, a constant response, separable classes, a single row or column, k = 0 and
    k > m, vectors of ridge and l0, weights (0 too), offsets, signs, always and never.

    Examples
    --------
    >>> program = sb.testing.random_program(3)
    >>> sb.relax(program).lower <= sb.testing.brute_force(program).value
    True
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 if fit_intercept else 1, most_rows + 1))
    m = int(rng.integers(1, most_columns + 1))
    X = _columns(rng, n, m)
    y = _response(rng, X, loss, fit_intercept)
    options: dict[str, Any] = {"loss": loss, "fit_intercept": fit_intercept}
    sparsity, size = form.split("+")
    if sparsity == "k":
        options["k"] = int(rng.integers(0, m + 2))
    else:
        price = 10.0 ** rng.uniform(-3, 0)
        options["l0"] = price if rng.random() < 0.7 else price * rng.integers(0, 4, size=m)
    if size == "ridge":
        ridge = 10.0 ** rng.uniform(-3, 1)
        options["ridge"] = ridge if rng.random() < 0.7 else ridge * rng.uniform(0.5, 2.0, size=m)
    else:
        options["ball"] = 10.0 ** rng.uniform(-1.5, 1.5)
    if rng.random() < 0.3:
        weights = rng.integers(0, 4, size=n) if rng.random() < 0.5 else rng.uniform(0.2, 2, size=n)
        # Both classes (or a positive count) must keep a row each.
        weights[:2] = np.maximum(weights[:2], 1)
        options["sample_weight"] = weights
    if rng.random() < 0.3:
        options["offset"] = rng.normal(size=n)
    if rng.random() < 0.3:
        options["positive"] = bool(rng.random() < 0.5) or rng.random(m) < 0.5
    if rng.random() < 0.3:
        kind = rng.integers(0, 4, size=m)
        options["always"], options["never"] = np.flatnonzero(kind == 1), np.flatnonzero(kind == 2)
    options["standardize"] = bool(rng.random() < 0.2)
    if grouped:
        options["groups"] = rng.integers(0, max(1, m // 2) + 1, size=m).tolist()
        if np.ndim(options.get("l0", 0.0)):
            count = len(set(options["groups"]))
            options["l0"] = price * rng.integers(0, 4, size=count)
    return Program(X, y, **options)


def _columns(rng: np.random.Generator, n: int, m: int) -> Vector:
    kind = rng.integers(7)
    X = rng.normal(size=(n, m))
    if kind == 1:
        X = rng.integers(-1, 2, size=(n, m)).astype(np.float64)
    elif kind == 2:
        X = X[:, rng.integers(0, m, size=m)] * rng.choice([-1.0, 1.0], size=m)
    elif kind == 3:
        X[:, rng.integers(m)] = 0.0
        X[:, rng.integers(m)] = 1.0
    elif kind == 4:
        X = np.outer(X[:, 0], rng.normal(size=m))
    elif kind == 5:
        X = X * 10.0 ** rng.uniform(-8, 8, size=m)
    return X


def _response(rng: np.random.Generator, X: Vector, loss: str, both_sides: bool) -> Vector:
    n, m = X.shape
    signal: Vector = X @ (rng.normal(size=m) / np.maximum(np.abs(X).max(axis=0), 1e-12))
    kind = rng.integers(4)
    if get_loss(loss).two_class:
        y = np.where(signal + (kind != 0) * rng.normal(size=n) > 0, 1.0, -1.0)
        if both_sides:
            y[:2] = (-1.0, 1.0)
        return y
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(signal, -3, 3))).astype(np.float64)
        y[0] = max(y[0], 1.0)
        return y
    if kind == 0:
        return np.full(n, rng.normal())
    noise = rng.normal(size=n) if kind != 1 else np.zeros(n)
    return signal + noise
