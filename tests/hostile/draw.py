"""Random small programs with everything that is hard for a solver: ties, scales, large means."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.hostile.losses import CONVEX, TWO_CLASS
from tests.hostile.spec import CLASSES, Spec

Rng = np.random.Generator


def chance(rng: Rng, probability: float) -> bool:
    return bool(rng.random() < probability)


def log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def pick(rng: Rng, *items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


def draw_matrix(rng: Rng, n: int, m: int) -> Any:
    kind = pick(rng, "normal", "normal", "integers", "binary", "correlated")
    if kind == "integers":
        X = rng.integers(-3, 4, size=(n, m)).astype(float)
    elif kind == "binary":
        X = rng.integers(0, 2, size=(n, m)).astype(float)
    else:
        X = rng.normal(size=(n, m))
    if kind == "correlated":
        X = X + 3.0 * rng.normal(size=(n, 1))
    for j in range(m):
        if chance(rng, 0.25):
            other = int(rng.integers(m))
            what = pick(rng, "duplicate", "negated", "zero", "constant", "sum", "nearly")
            if what == "duplicate":
                X[:, j] = X[:, other]
            elif what == "negated":
                X[:, j] = -2.0 * X[:, other]
            elif what == "zero":
                X[:, j] = 0.0
            elif what == "constant":
                X[:, j] = pick(rng, 1.0, 3.0, -1e3)
            elif what == "sum":
                X[:, j] = X[:, other] + X[:, int(rng.integers(m))]
            else:
                X[:, j] = X[:, other] * (1.0 + 1e-9 * rng.normal(size=n))
    if chance(rng, 0.2):
        X = X * 10.0 ** rng.integers(-8, 9, size=m)
    elif chance(rng, 0.1):
        X = X * log_uniform(rng, 1e-8, 1e8)
    if chance(rng, 0.12):
        X = X + large(rng) * (rng.random(m) < 0.5)
    return X


def large(rng: Rng) -> float:
    """A mean that leaves few digits for what varies."""
    return pick(rng, 1e6, 1e8, 1e9, 1e10, 1e11, 1e12, 1e14, 4.5e15) * pick(rng, 1.0, 1.0, -1.0)


def draw_response(rng: Rng, X: Any, loss: str) -> Any:
    n, m = X.shape
    spread = np.std(X, axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    w = rng.normal(size=m) * (rng.random(m) < 0.5)
    signal = scaled @ w + pick(rng, 0.0, 0.1, 1.0) * rng.normal(size=n)
    if loss in TWO_CLASS:
        y = np.where(signal + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
        if n > 1 and len(np.unique(y)) < 2:
            y[:2] = -1.0, 1.0
        return np.where(y > 0, 1.0, 0.0) if chance(rng, 0.3) else y
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(signal, -3, 3))).astype(float)
        y[0] = max(y[0], 1.0)
        return y * (log_uniform(rng, 1.0, 1e6) if chance(rng, 0.1) else 1.0)
    if loss in ("quartic", "amplitude"):
        return np.abs(signal)
    if chance(rng, 0.3):
        signal = np.round(signal)
    if chance(rng, 0.05):
        signal = np.full(n, pick(rng, 0.0, 1.0, -7.5))
    if chance(rng, 0.15):
        signal = signal * log_uniform(rng, 1e-8, 1e8)
    if chance(rng, 0.2):
        signal = signal + pick(rng, 2e5, large(rng))
    return signal


def draw_form(rng: Rng, m: int, units: int) -> dict[str, Any]:
    """The form of a program of m columns in so many groups."""
    form: dict[str, Any] = {}
    if chance(rng, 0.55):
        form["k"] = int(pick(rng, 0, 1, 1, 2, 2, 3, m, m + 2))
    elif chance(rng, 0.75):
        form["l0"] = log_uniform(rng, 1e-5, 2.0)
    else:
        form["l0"] = rng.uniform(0, 0.3, size=units) * (rng.random(units) < 0.8)
    sort = pick(rng, "plain", "plain", "plain", "tiny", "huge")
    span = {"plain": (1e-3, 2.0), "tiny": (1e-16, 1e-3), "huge": (2.0, 1e8)}[sort]
    if chance(rng, 0.6):
        form["ridge"] = log_uniform(rng, *span)
        if chance(rng, 0.15):
            size = m if units == m else pick(rng, m, units)
            form["ridge"] = form["ridge"] * 10.0 ** rng.uniform(-2, 2, size=size)
        elif sort == "tiny" and chance(rng, 0.15):
            form["ridge"] = 1e-100
    else:
        form["ball"] = log_uniform(rng, *span)
    return form


def draw_groups(rng: Rng, m: int) -> tuple[int, ...]:
    """Groups of one to four columns, in any order."""
    order, leaders = rng.permutation(m).tolist(), [0] * m
    while order:
        size = int(rng.integers(1, 5))
        group, order = order[:size], order[size:]
        for j in group:
            leaders[j] = min(group)
    return tuple(leaders)


def draw_spec(
    rng: Rng, names: tuple[str, ...] = CONVEX, most: int = 8, *, grouped: bool = False
) -> Spec:
    """A program whose supports can be counted out."""
    loss = pick(rng, *names, *(("squared",) * 3 if "squared" in names else ()))
    n = int(pick(rng, 1, 2, 3, 4, 6, 8, 10, 12))
    m = int(min(pick(rng, 1, 2, 3, 4, 4, 5, 6, 8), most))
    if loss not in ("squared", "huber"):
        m = min(m, 6)
    n = max(n, 2) if loss in TWO_CLASS else n
    X = draw_matrix(rng, n, m)
    groups = draw_groups(rng, m) if grouped else None
    leaders = np.array(groups or range(m))
    options: dict[str, Any] = draw_form(rng, m, len(np.unique(leaders)))
    if chance(rng, 0.5) and loss not in ("quartic", "amplitude"):
        options["fit_intercept"] = True
    options["standardize"] = chance(rng, 0.2)
    if chance(rng, 0.25):
        options["weights"] = rng.uniform(0.5, 2.0, size=n)
        if chance(rng, 0.4):
            options["weights"] = 10.0 ** rng.uniform(-8, 8, size=n)
        if n > 3 and loss not in TWO_CLASS and loss != "poisson":
            options["weights"] = options["weights"] * (rng.random(n) < 0.8)
            options["weights"][0] = 1.0
    if chance(rng, 0.15):
        options["offset"] = rng.normal(size=n)
    if chance(rng, 0.2):
        options["positive"] = rng.random(m) < pick(rng, 0.5, 1.0)
    if chance(rng, 0.2):
        fate = rng.choice(3, size=m, p=[0.6, 0.2, 0.2])[leaders]
        options["always"] = tuple(int(j) for j in np.flatnonzero(fate == 1))
        options["never"] = tuple(int(j) for j in np.flatnonzero(fate == 2))
    parameters: dict[str, float] = {}
    if loss in CLASSES and chance(rng, 0.5):
        name = "delta" if loss == "huber" else "c"
        parameters[name] = log_uniform(rng, 0.1, 10.0)
    y = draw_response(rng, X, loss)
    return Spec(X, y, loss=loss, parameters=parameters, groups=groups, **options)


def heavy_ridge(rng: Rng) -> Spec:
    """A response far from 0 next to what the features explain: every share of the fit is tiny."""
    n, m = int(rng.integers(4, 13)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, m))
    y = 2e5 + np.round(X @ rng.normal(size=m) + rng.normal(size=n), int(rng.integers(0, 4)))
    return Spec(
        X, y, k=int(rng.integers(1, 4)), ridge=log_uniform(rng, 1e4, 1e8), fit_intercept=True
    )
