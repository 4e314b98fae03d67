"""Sparse least trimmed squares (Alfons, Croux, Gelper, 2013), with at most k features.

The mean loss of the best 60% of the rows, by steps that fit a model to the rows of smallest
residuals and take these anew. Ten starts from 20 rows each make two steps; the best three go on to
the end. Fits are the models of our own `solve` with the squared loss, in the place of the lasso.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds import solve

KEPT, STARTS, FEW, FIRST, BEST, MOST = 0.6, 10, 20, 2, 3, 20


def sparse_lts(X: Any, y: Any, k: int, ridge: float, rng: Any) -> tuple[Any, float]:
    """The coefficients and the intercept."""
    size = int(np.ceil(KEPT * len(y)))

    def step(rows: Any) -> tuple[float, Any, Any]:
        """What the next rows cost, these rows, and the model they are from."""
        found = solve(X[rows], y[rows], k=k, ridge=ridge, fit_intercept=True, exact=False)
        squares = np.square(y - X @ found.coef - found.intercept)
        nearest = np.sort(np.argpartition(squares, size)[:size])
        cost = 0.5 * float(np.mean(squares[nearest])) + 0.5 * ridge * float(found.coef @ found.coef)
        return cost, nearest, found

    ends = []
    for _ in range(STARTS):
        rows = rng.choice(len(y), size=FEW, replace=False)
        for _ in range(FIRST):
            cost, rows, found = step(rows)
        ends.append((cost, len(ends), rows, found))
    best = []
    for cost, place, rows, found in sorted(ends, key=lambda end: end[:2])[:BEST]:
        for _ in range(MOST):
            lower, rows, other = step(rows)
            if not lower < cost:
                break
            cost, found = lower, other
        best.append((cost, place, found))
    _, _, found = min(best, key=lambda end: end[:2])
    return found.coef, found.intercept
