"""A local refit for a non-convex loss: reweighted least squares on a support.

At predictions z a quadratic with the loss's slopes and curvatures majorizes it (exceptions need the
line search below), so each step solves a least squares problem with weights and never goes up:

    w, b  <-  argmin  sum_i a_i (z'_i - z_i) + c_i/2 (z'_i - z_i)^2 + ridge    z' = A w + b

with a = F'(z) and c the curvatures, over w >= 0 where asked, or over the ball, whose multiplier
solves the secular equation |w(eta)|^2 = ball. Several starts; the best end is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sparsebounds._array import Index, Mask, Vector
from sparsebounds._linear import solved
from sparsebounds.losses import NonConvexLoss
from sparsebounds.program import Program

STEPS, HALVINGS, RANDOM, SECULAR = 120, 12, 8, 40
SETTLED = 1e-10
"""A step that gains less than this, relative to the objective, is the last."""


def descent(
    program: Program, support: Index, columns: Vector, z: Vector
) -> tuple[Vector, float, float]:
    """(nonzeros, b, eta) of the local minimum that reweighting leads to from predictions z."""
    loss, y, p, offset = program.loss, program.y, program.F.p, program.offset
    shift = 0.0 if offset is None else offset
    ridge = None if program.ball is not None else program.ridges[support]

    def value_of(x: Vector) -> tuple[float, Vector]:
        z = columns @ x[:-1] + x[-1]
        value = float(p @ loss.value(y, z + shift))
        return (value if ridge is None else value + 0.5 * float(ridge @ x[:-1] ** 2)), z

    x, value, eta = np.zeros(len(support) + 1), math.inf, math.nan
    for step in range(STEPS):
        a, bend = p * loss.gradient(y, z + shift), p * loss.curvature(y, z + shift)
        solved = _quadratic_step(program, support, columns, bend, bend * z - a, ridge)
        if solved is None:
            break
        target, eta = solved
        new, length = target, 1.0
        new_value, new_z = value_of(new)
        # The first step leaves predictions that no coefficients may have; later ones go down.
        while step and not new_value < value and length > 0.5**HALVINGS:
            length *= 0.5
            new = x + length * (target - x)
            new_value, new_z = value_of(new)
        if not new_value < value:
            break
        small = value - new_value <= SETTLED * abs(new_value)
        x, value, z = new, new_value, new_z
        if small:
            break
    return x[:-1], float(x[-1]), eta


def default_starts(program: Program, columns: Vector) -> list[Vector]:
    """Predictions to start from: without features, a perfect fit, and at random (seeded)."""
    loss, rng = program.loss, np.random.default_rng(0)
    assert isinstance(loss, NonConvexLoss)
    perfect = loss.perfect(program.y)
    if program.offset is not None:
        perfect = perfect - program.offset
    starts = [np.full(program.n, program.null_intercept), perfect]
    if not loss.intercept and columns.shape[1]:
        # An even loss has a peak at 0 and no preferred sign.
        length = np.sqrt(np.sum(columns**2, axis=0)) + 1e-300
        size = float(np.sqrt(np.sum(perfect**2)))
        for _ in range(RANDOM):
            z = columns @ (rng.normal(size=columns.shape[1]) / length)
            starts.append(z * (size / max(float(np.sqrt(z @ z)), 1e-300)))
    return starts


def _quadratic_step(
    program: Program,
    support: Index,
    columns: Vector,
    bend: Vector,
    pull: Vector,
    ridge: Vector | None,
) -> tuple[Vector, float] | None:
    """((w, b), eta) of the weighted least squares problem; None where all weights are 0."""
    mass = float(np.sum(bend))
    if not (mass > 0.0 and math.isfinite(mass)):
        return None
    weighted = columns * bend[:, None]
    hessian, linear = columns.T @ weighted, columns.T @ pull
    mean, level = np.zeros(len(support)), 0.0
    if program.fit_intercept:
        mean += np.sum(weighted, axis=0) / mass
        level = float(np.sum(pull)) / mass
        hessian = hessian - mass * np.outer(mean, mean)
        linear = linear - mean * (level * mass)
    if not (np.all(np.isfinite(hessian)) and np.all(np.isfinite(linear))):
        return None
    positive = program.positive[support]

    def solve(diagonal: Vector) -> Vector:
        # In units in which every column has curvature 1; those that no row with a weight tells
        # apart get a little of their own.
        bends = np.maximum(hessian.diagonal(), 0.0) + diagonal
        unit = 1.0 / np.sqrt(np.where(bends > 0.0, bends, 1.0))
        scaled = unit[:, None] * hessian * unit
        scaled.flat[:: len(unit) + 1] += unit * diagonal * unit + 1e-13
        w: Vector = unit * solved(scaled, unit * linear)
        if positive.any() and np.any(w[positive] < 0.0):
            return unit * _signed(scaled, unit * linear, positive)
        return w

    eta = math.nan
    if len(support) == 0:
        w = np.zeros(0)
    elif ridge is not None:
        w = solve(ridge)
    else:
        ball, signed = float(program.ball or 0.0), bool(np.any(positive))
        w, eta = _in_ball(hessian, linear, ball, solve, signed)
    if not np.all(np.isfinite(w)):
        return None
    b = level - float(mean @ w) if program.fit_intercept else 0.0
    return np.append(w, b), eta


def _in_ball(
    hessian: Vector, linear: Vector, ball: float, solve: Callable[[Vector], Vector], signed: bool
) -> tuple[Vector, float]:
    """w(eta) with |w|^2 = ball, or w(0) inside it.

    By Newton's method on the secular equation 1/|w(eta)| = 1/sqrt(ball), nearly linear in eta, in
    the eigenvectors of H; by bisection where signs decide who takes part.
    """
    size, radius = len(linear), math.sqrt(ball)
    w = solve(np.zeros(size))
    if float(w @ w) <= ball:
        return w, 0.0
    values, vectors = np.linalg.eigh(hessian)
    values, pull = np.maximum(values, 1e-13 * values[-1] + 1e-300), vectors.T @ linear
    eta = 0.0
    for _ in range(SECULAR):
        x = pull / (values + eta)
        length = float(np.sqrt(x @ x))
        unit = x / max(length, 1e-300)
        spread = float(unit @ (unit / (values + eta)))
        step = (length / radius - 1.0) / spread if spread > 0.0 else 0.0
        eta += step
        if not step > 1e-14 * eta:
            break
    if signed:
        # eta |w| <= |linear|.
        high = min(float(np.sqrt(linear @ linear)) / radius * (1.0 + 1e-9) + 1e-300, 1e300)
        low = 1e-12 * high
        for _ in range(50):
            eta = math.sqrt(low * high)
            w = solve(np.full(size, eta))
            low, high = (eta, high) if float(w @ w) > ball else (low, eta)
        eta, w = high, solve(np.full(size, high))
    else:
        w = vectors @ (pull / (values + eta))
    return w * min(1.0, radius / max(float(np.sqrt(w @ w)), 1e-300)), eta


def _signed(matrix: Vector, linear: Vector, positive: Mask) -> Vector:
    """argmin w.M w/2 - l.w with w >= 0 where asked: nonnegative least squares."""
    from scipy.optimize import lsq_linear

    values, vectors = np.linalg.eigh(matrix)
    root = np.sqrt(np.maximum(values, 1e-15 * max(float(values[-1]), 1e-290)))
    factor, target = root[:, None] * vectors.T, (vectors.T @ linear) / root
    if not (np.all(np.isfinite(factor)) and np.all(np.isfinite(target))):
        return np.zeros(len(linear))
    found = lsq_linear(
        factor, target, bounds=(np.where(positive, 0.0, -np.inf), np.inf), method="bvls"
    )
    w: Vector = np.where(positive, np.maximum(found.x, 0.0), found.x)
    return w
