"""The ball's multiplier: one ridge eta for all features that makes the dual value the largest.

Any eta > 0 gives a valid bound, so this is plain floating point.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Vector


def best_eta(q: Vector, prices: Vector, base: float, ball: float) -> float:
    """The multiplier eta of a ball, which acts as a ridge, with prices.

    Parameters
    ----------
    q : array
        Squared scores.
    prices : array
        One l0 per feature.
    base : float
        The squares of the features that are in whatever happens.
    ball : float
        The bound of sum w_i^2.

    Returns
    -------
    float
        The eta that nearly minimises eta ball/2 + base/(2 eta) + sum_j max(0, q_j/(2 eta) - l0_j).

    Notes
    -----
    Sorted by the ratio q_j / l0_j, active sets are prefixes. A prefix asks for eta_j, with
    eta_j^2 ball = (its sum of q), and allows eta up to half its last ratio. The first grows
    and the second falls with j, so the minimiser, where they meet, is max_j min(both).

    Examples
    --------
    >>> round(sb.penalties.best_eta(np.array([4.0, 1.0]), np.array([0.1, 0.1]), 0.0, 5.0), 6)
    1.0
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(q > 0, q / prices, 0.0)
    order = np.argsort(-ratio, kind="stable")
    # Roots first: a quotient of tiny squares would underflow.
    asked = np.sqrt(base + np.cumsum(q[order])) / math.sqrt(ball)
    eta = np.max(np.minimum(asked, 0.5 * ratio[order]), initial=math.sqrt(base) / math.sqrt(ball))
    return _proper(float(eta))


def budget_eta(q: Vector, budget: int, base: float, ball: float) -> float:
    """The multiplier eta of a ball, which acts as a ridge, with a budget.

    Parameters
    ----------
    q : array
        Squared scores.
    budget : int
        The most features.
    base, ball : as in `best_eta`

    Returns
    -------
    float
        The eta with eta^2 ball = base + (the sum of the best q).

    Examples
    --------
    >>> sb.penalties.budget_eta(np.array([4.0, 1.0]), 1, 0.0, 1.0)
    2.0
    """
    best = np.sort(q)[len(q) - min(max(0, budget), len(q)) :]
    total = math.sqrt(base + float(np.sum(best)))
    return _proper(total / math.sqrt(ball))


def _proper(eta: float) -> float:
    """eta, neither 0 nor infinite; scores that overflowed, to NaN too, ask for the largest."""
    return max(np.finfo(float).tiny, min(1e300, eta)) if eta == eta else 1e300
