"""The relaxed value of anybody's w, by our own formulas: the referee of every peer.

value = F(Xw) + h(w), with h the convex envelope of `sparsebounds.penalties`; for the ball, h(w) is
l0 sum u at the cheapest u with sum w_i^2/u_i <= ball. The gap is taken against the best dual value
known, which is proved, and is relative to max(|value|, |F(0)|) for everybody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from benchmarks.common.problems import Problem
from sparsebounds import Program
from sparsebounds.penalties import KRidge, L0Ridge


def relaxed_value(problem: Problem, program: Program, w: Any) -> float:
    """F(Xw) + h(w); w acts on the program's columns (scaled where the problem says so)."""
    w = np.asarray(w, dtype=np.float64)
    if problem.ball is not None:
        # An interior-point w may lie outside by its tolerance: it is put onto the ball.
        w = w * min(1.0, np.sqrt(problem.ball / max(float(w @ w), np.finfo(float).tiny)))
    z = program.matrix.product(w)
    return program.F.value(z) + penalty(problem, w)


def penalty(problem: Problem, w: Any) -> float:
    """h(w)."""
    if problem.ridge is not None:
        if problem.l0 is not None:
            return L0Ridge(problem.l0, problem.ridge).value(w)
        return KRidge(problem.k, problem.ridge).value(w)
    return problem.l0 * float(np.sum(cheapest_weights(w, problem.ball)))


def cheapest_weights(w: Any, ball: float) -> Any:
    """The u of least sum with sum w_i^2/u_i <= ball: u_i = min(1, |w_i|/tau) for one tau."""
    lengths = np.abs(w)
    if not lengths.any():
        return lengths

    def excess(tau: float) -> float:
        return float(np.sum(lengths * np.maximum(lengths, tau))) - ball

    high = ball / float(np.sum(lengths)) * 2.0
    if excess(0.0) >= 0.0:
        return (lengths > 0).astype(float)
    tau = brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15)
    return np.minimum(1.0, lengths / tau)


def relative_gap(value: float, dual: float, null: float) -> float:
    """(value - dual) / max(|value|, |null|)."""
    return (value - dual) / max(abs(value), abs(null))
