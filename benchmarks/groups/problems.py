"""The models asked for: k counts groups, ridge 0.05, no intercept.

synthetic   40 designs, half of them with classes (the sign of the same response). 200, 500 or 1000
            rows; 50 to 1000 groups of 2 to 8 autoregressive columns, of which neighbours have a
            correlation of 0.5 or 0.9, within groups and across; normal coefficients in 10 groups,
            noise of variance var(signal)/SNR, SNR 2, 5 or 10; k = 5, 10 or 20: fewer groups than
            made y, as many, and more. Numbers of groups are dealt out in turn, all else is drawn
tables      birth weights in grams, and whether they are low (race, premature labours and visits are
            categories), and mushrooms, poisonous or not (22 categories): all levels but the
            first, columns to mean 0 and variance 1, y centred where it is a number

Both get the same matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.problems import Problem, shared_file

SEED = 56073
COUNT = 40
WIDTHS = (50, 100, 200, 500, 1000)
ROWS, CORRELATIONS, SNRS, SIZES = (200, 500, 1000), (0.5, 0.9), (2, 5, 10), (5, 10, 20)
LOSSES = ("squared", "logistic")
PLANTED, RIDGE = 10, 0.05


def drawn(seed: int, number: int) -> tuple[str, Callable[[], Problem]]:
    """The name of a synthetic design, and what makes it."""
    rng = np.random.default_rng([seed, number])
    loss, groups = LOSSES[number % 2], WIDTHS[number // 2 % len(WIDTHS)]
    n, correlation, snr, k = (rng.choice(each) for each in (ROWS, CORRELATIONS, SNRS, SIZES))
    name = f"{number}-{n}x{groups}g-ar{correlation}-snr{snr}-{loss}-k{k}"
    draw = partial(synthetic, seed, number, int(n), groups, correlation, snr)
    return name, partial(draw, loss, int(k))


def synthetic(
    seed: int, number: int, n: int, groups: int, correlation: float, snr: float, loss: str, k: int
) -> Problem:
    """Autoregressive columns in groups."""
    rng = np.random.default_rng([seed, number, 1])
    labels = np.repeat(np.arange(groups), rng.integers(2, 9, size=groups))
    X = rng.normal(size=(n, len(labels)))
    for j in range(1, len(labels)):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    chosen = np.isin(labels, rng.choice(groups, PLANTED, replace=False))
    signal = X @ np.where(chosen, rng.normal(size=len(labels)), 0.0)
    y = signal + rng.normal(scale=np.sqrt(np.var(signal) / snr), size=n)
    y = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
    return Problem(X, y, loss, k=k, ridge=RIDGE, groups=labels)


def _table(name: str) -> dict[str, Any]:
    """The columns of a table by their names."""
    table = np.genfromtxt(shared_file(f"tables/{name}.csv"), delimiter=",", names=True)
    return {column: table[column] for column in table.dtype.names}


def _posed(blocks: list[Any], y: Any, loss: str, k: int) -> Problem:
    """One block of columns per group."""
    X = np.column_stack(blocks)
    labels = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    y = y - y.mean() if loss == "squared" else np.where(y > 0, 1.0, -1.0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Problem(X, y, loss, k=k, ridge=RIDGE, groups=labels)


def births(target: str, loss: str, k: int) -> Problem:
    """Birth weights."""
    columns, blocks = _table("birthwt"), []
    for name in ("age", "lwt", "race", "smoke", "ptl", "ht", "ui", "ftv"):
        column = columns[name]
        values = np.unique(column)[1:] if name in ("race", "ptl", "ftv") else None
        block = column[:, None] if values is None else column[:, None] == values
        blocks.append(block.astype(float))
    return _posed(blocks, columns[target], loss, k)


def mushrooms(k: int) -> Problem:
    """Mushrooms: columns NAME_eq_LEVEL with the same NAME are one category."""
    columns = _table("risk_mushroom")
    y = columns.pop("poisonous")
    categories: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if 0.0 < column.mean() < 1.0:
            categories.setdefault(name.partition("_eq_")[0], []).append(column)
    # Where its levels are all there, the first one is what the others leave.
    whole = [int(np.all(np.sum(levels, axis=0) == 1.0)) for levels in categories.values()]
    blocks = [
        np.column_stack(levels[first:])
        for first, levels in zip(whole, categories.values(), strict=True)
    ]
    return _posed(blocks, y, "logistic", k)


def problems(seed: int = SEED) -> Mapping[str, Callable[[], Problem]]:
    """All of them by name."""
    found = dict(drawn(seed, number) for number in range(COUNT))
    for k in (2, 4):
        found[f"birth-weight-squared-k{k}"] = partial(births, "bwt", "squared", k)
        found[f"low-birth-weight-logistic-k{k}"] = partial(births, "low", "logistic", k)
    for k in (3, 6):
        found[f"mushroom-logistic-k{k}"] = partial(mushrooms, k)
    return found
