"""The referee: the true optimum of a small program, by trying every support.

On each support the problem is smooth and convex. Newton's method solves it to machine
precision; for the ball, the multiplier is found by the secular equation |w(eta)|^2 = ball. With an
intercept columns are centred first, F(X w + b) = F((X - 1 c^T) w + (b + c.w)): columns far from 0
are nearly the same direction, and w would drown in their rounding.
With sign constraints, a support whose free minimiser breaks one is skipped: the constrained
minimiser then has a zero there and is found on a smaller support.

The value returned is the objective at a feasible point, rounded up. It is attained, so a
valid lower bound is never above it: that comparison needs no tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, combinations

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import in_ball
from sparsebounds.bounds import objective_up
from sparsebounds.program import Program

MOST_FEATURES = 20
"""Exhaustive search beyond a million supports is refused."""

_CACHE: dict[tuple[object, ...], dict[tuple[int, ...], tuple[Vector, float]]] = {}

STEPS, LEAST, SHORT = 5000, 1e-10, 0.3
"""Steps at most; the least share of the upper bound of the curvature; and the length of a step
after which that share grows."""

_CACHE_SIZE = 64


@dataclass(frozen=True)
class Optimum:
    """The best model of a program.

    Attributes
    ----------
    value : float
        Its objective, rounded up.
    w : array
        Coefficients on the program's own columns.
    b : float
        The intercept there.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> sb.testing.brute_force(program).w.round(3).tolist()
    [0.75, 0.0, 0.0]
    """

    value: float
    w: Vector
    b: float


def brute_force(program: Program) -> Optimum:
    """The optimum over all supports the program allows.

    Parameters
    ----------
    program : Program
        The sparse program, of at most 20 free features.

    Returns
    -------
    Optimum
        The best model.

    Raises
    ------
    ValueError
        Where there are more features.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> print(f"{sb.testing.brute_force(program).value:.4f}")
    1.9583
    """
    solutions = _solutions(program)
    free = np.flatnonzero(program.free)
    if len(free) > MOST_FEATURES:
        raise ValueError(f"Exhaustive search stops at {MOST_FEATURES} features; got {len(free)}.")
    most = len(free) if program.k is None else min(program.k, len(free))
    best = Optimum(math.inf, np.zeros(program.m), 0.0)
    always = np.flatnonzero(program.always)
    kept = _subsets(always) if program.positive[always].any() else [tuple(always.tolist())]
    for base in kept:
        for chosen in _subsets(free, most):
            for columns in _columns(program, chosen):
                candidate = _on_support(program, solutions, tuple(sorted(base + columns)))
                if candidate.value < best.value:
                    best = candidate
    return best


def _columns(program: Program, chosen: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The columns of the groups chosen; with signs, all subsets of them."""
    whole = program.groups.whole(np.array(chosen, dtype=np.int64))
    grouped = len(whole) > len(chosen) and program.positive[whole].any()
    return _subsets(whole) if grouped else [tuple(whole.tolist())]


def _subsets(items: Index, most: int | None = None) -> list[tuple[int, ...]]:
    sizes = range((len(items) if most is None else most) + 1)
    return list(chain.from_iterable(combinations(items.tolist(), size) for size in sizes))


def _solutions(program: Program) -> dict[tuple[int, ...], tuple[Vector, float]]:
    """The cache of minimisers by support, shared by all k, l0, always and never."""
    scale = program.matrix.columns(np.arange(program.m)).tobytes()
    size = program.ball if program.ridge is None else program.ridges.tobytes()
    key = (
        program.fingerprint,
        scale,
        program.loss,
        program.fit_intercept,
        program.ridge is None,
        size,
    )
    if key not in _CACHE and len(_CACHE) >= _CACHE_SIZE:
        _CACHE.pop(next(iter(_CACHE)))
    return _CACHE.setdefault(key, {})


def _on_support(
    program: Program,
    solutions: dict[tuple[int, ...], tuple[Vector, float]],
    support: tuple[int, ...],
) -> Optimum:
    if support not in solutions:
        solutions[support] = _minimizer(program, np.array(support, dtype=np.int64))
    nonzeros, b = solutions[support]
    w = np.zeros(program.m)
    w[list(support)] = nonzeros
    return Optimum(objective_up(program, w, b), w, b)


def _minimizer(program: Program, support: Index) -> tuple[Vector, float]:
    """(w, b) on a support: found on centred columns; b is then moved back and rounded once."""
    columns, center = program.matrix.columns(support), np.zeros(len(support))
    if program.fit_intercept:
        center = program.F.p @ columns
        columns = columns - center
    if program.ball is None:
        w, b = minimize_ridge(program, columns, program.ridges[support])
    else:
        w, b = minimize_ball(program, columns, program.ball)
    shift = sum(
        (Fraction(c) * Fraction(x) for c, x in zip(center.tolist(), w.tolist(), strict=True)),
        Fraction(0),
    )
    return w, float(Fraction(b) - shift)


def minimize_ball(program: Program, columns: Vector, ball: float) -> tuple[Vector, float]:
    """argmin F(columns w + b) over |w|^2 <= ball, by the secular equation."""
    from scipy.optimize import brentq

    width = columns.shape[1]
    start = np.zeros(width + 1)
    start[-1] = program.null_intercept

    @cache
    def excess(log_eta: float) -> float:
        nonlocal start
        start = _newton(program, columns, np.full(width, math.exp(log_eta)), start)
        size = float(np.sum(start[:-1] ** 2))
        return math.log(size / ball) if size > 0 else -700.0

    # At the optimum eta = |X^T a| / sqrt(ball): start there at a = F'(0), and walk down. At
    # the floor the ridge changes the objective by less than 1e-14 of its range.
    floor = math.log(max(1e-14 * (program.null - program.F.infimum) / ball, 1e-290))
    steepest = np.linalg.norm(columns.T @ program.F.gradient(np.full(program.n, start[-1])))
    low = max(floor, math.log(max(float(steepest), 1e-290) / math.sqrt(ball)))
    high, stride = low + 0.1, 3.0
    while width and excess(high) > 0:
        low, high = high, high + 2.0
    while width and low > floor and excess(low) <= 0:
        low, high, stride = max(floor, low - stride), low, 2.0 * stride
    if width and excess(low) > 0:
        # The objective depends on eta to second order only, so half the digits are enough.
        eta = math.exp(brentq(excess, low, high, xtol=1e-9, maxiter=200))
        start = _newton(program, columns, np.full(width, eta), start)
        start[:-1] *= math.sqrt(ball / float(np.sum(start[:-1] ** 2)))
    w, b = start[:-1], float(start[-1])
    margin = 2.0**-53
    while not in_ball(w, ball):
        w, margin = w * (1.0 - margin), 2.0 * margin
    return w, b


def minimize_ridge(program: Program, columns: Vector, ridges: Vector) -> tuple[Vector, float]:
    """argmin F(columns w + b) + sum_i ridges_i/2 w_i^2, by Newton's method."""
    start = np.zeros(columns.shape[1] + 1)
    start[-1] = program.null_intercept
    solution = _newton(program, columns, ridges, start)
    return solution[:-1], float(solution[-1])


def _newton(program: Program, columns: Vector, ridges: Vector, start: Vector) -> Vector:
    """Damped Newton in (w, b) with variables scaled to unit curvature."""
    F, n = program.F, program.n
    design = np.column_stack((columns, np.full(n, float(program.fit_intercept))))
    weight = np.append(ridges, 0.0 if program.fit_intercept else 1.0)
    smooth = program.loss.smoothness
    shares = F.p if math.isnan(smooth) else smooth * F.p

    floor = 1e-14 * (design * design).T @ shares + weight + 1e-300

    def value(x: Vector) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            result = F.value(design @ x) + 0.5 * float(np.sum(weight * x * x))
        return math.inf if math.isnan(result) else result

    x, current, damping = start, value(start), 0.0
    for _ in range(STEPS):
        z = design @ x
        gradient = design.T @ F.gradient(z) + weight * x
        # Where a loss has no curvature (Huber, hinge) a share of its upper bound stands in.
        bend = F.curvature(z) + damping * shares
        hessian = design.T @ (bend[:, None] * design) + np.diag(weight)
        unit = 1.0 / np.sqrt(np.maximum(np.diag(hessian), floor))
        scaled = unit[:, None] * hessian * unit + 1e-14 * np.eye(len(x))
        step = -unit * np.linalg.solve(scaled, unit * gradient)
        slope = float(gradient @ step)
        # Half of it is what a step can gain: no line search finds less than rounding.
        if -slope <= 1e-16 * abs(current) and not damping:
            return x + step if value(x + step) <= current else x
        length, reached = 1.0, value(x + step)
        while length > 1e-12 and not reached < current + 1e-4 * length * slope:
            length *= 0.5
            reached = value(x + length * step)
        if length <= 1e-12:
            if damping >= 1.0:
                return x
            damping = max(10.0 * damping, LEAST)
            continue
        x, current = x + length * step, reached
        if length < SHORT:
            damping = min(max(10.0 * damping, LEAST), 1.0)
        elif length == 1.0:
            damping = 0.1 * damping if damping > LEAST else 0.0
    raise RuntimeError(f"the referee finds no minimum in {STEPS} steps: please report it.")
