"""h(w) + h*(s) >= w.s, with equality at s = (q - prox(q))/sigma: what a penalty has to satisfy.

`check_penalty` draws points and tests these and the other identities that the solver and the
bounds rely on. It is for users' own penalties as much as for ours.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._array import Vector
from sparsebounds.penalties import Penalty

_SCALES = (0.03, 1.0, 30.0)
_SIGMAS = (0.1, 1.0, 10.0)
_TOLERANCE = 1e-9


def check_penalty(penalty: Penalty, m: int, *, random_state: int = 0) -> None:
    """Raise AssertionError, with a sentence, where `penalty` on m features breaks an identity."""
    rng = np.random.default_rng(random_state)
    points: list[Vector] = [np.zeros(m)]
    smooth = 0
    for scale in _SCALES:
        for sigma in _SIGMAS:
            q = scale * rng.standard_normal(m)
            points.append(_check_prox(penalty, q, sigma, rng))
            smooth += _check_jacobian(penalty, q, sigma, rng)
        points.append(_allowed(penalty, scale * rng.standard_normal(m)))
        points.append(_allowed(penalty, scale * rng.standard_normal(m) * (rng.random(m) < 0.5)))
    _require(smooth > 0, "the prox should be differentiable at some of the random points")
    for w in points:
        _check_value(penalty, w, rng)
    _check_convexity(penalty, points, rng)


def _check_prox(penalty: Penalty, q: Vector, sigma: float, rng: np.random.Generator) -> Vector:
    point = penalty.prox(q, sigma)
    w, u = np.asarray(point.w), np.asarray(point.u)
    _require(w.shape == q.shape == u.shape, "prox should return w and u as long as q")
    _require(penalty.allows(w), "the prox should be 0 outside and nonnegative where positive")
    _check_weights(penalty, u)
    _require(bool(np.all(np.asarray(point.l0) >= 0.0)), "the price l0 of u should not be negative")
    size = float(q @ q)
    best = _moved(penalty, w, q, sigma)
    _require(math.isfinite(best), "the penalty should be finite at the prox")
    for step in (1e-4, 1e-2, 1.0):
        for direction in (
            rng.standard_normal(m := q.shape[0]),
            -w,
            q - w,
            np.eye(m)[rng.integers(m)],
        ):
            other = _allowed(penalty, w + step * direction * max(1.0, float(np.max(np.abs(q)))))
            _require(
                best <= _moved(penalty, other, q, sigma) + _TOLERANCE * size,
                "the prox should minimise |w - q|^2/2 + sigma h(w), but a point near it is lower",
            )
    zeta = (q - w) / sigma
    h, conjugate = penalty.value(w), penalty.conjugate(zeta)
    _require(
        abs(h + conjugate - float(w @ zeta)) <= _TOLERANCE * (size / sigma + abs(h)),
        "h(w) + h*(zeta) should equal w.zeta at w = prox(q), zeta = (q - w)/sigma",
    )
    moreau = best / sigma + sigma / 2.0 * float(np.sum((zeta - q / sigma) ** 2)) + conjugate
    _require(
        abs(moreau - size / (2.0 * sigma)) <= _TOLERANCE * (size / sigma + abs(h)),
        "the Moreau envelopes of h and h* should add up to |q|^2/(2 sigma)",
    )
    attained = _perspective(penalty, w, u) + penalty.cost(u)
    _require(_close(attained, h), "the prox should return weights u that attain h(w)")
    return w


def _check_jacobian(penalty: Penalty, q: Vector, sigma: float, rng: np.random.Generator) -> int:
    jacobian = penalty.jacobian(q, sigma, penalty.prox(q, sigma))
    matrix = np.diag(np.asarray(jacobian.diagonal))
    if jacobian.direction is not None:
        matrix = matrix - jacobian.beta * np.outer(jacobian.direction, jacobian.direction)
    eigenvalues = np.linalg.eigvalsh(matrix)
    _require(
        bool(np.all(eigenvalues >= -_TOLERANCE) and np.all(eigenvalues <= 1.0 + _TOLERANCE)),
        "the Jacobian of the prox should have its eigenvalues between 0 and 1",
    )
    step = 1e-6 * float(np.max(np.abs(q)))
    direction = rng.standard_normal(q.shape[0])
    before, at, after = (
        np.asarray(penalty.prox(q + s * step * direction, sigma).w) for s in (-1.0, 0.0, 1.0)
    )
    # At a kink the two one-sided differences disagree, and no single matrix can match both.
    if float(np.max(np.abs(after - 2.0 * at + before))) > 1e-6 * step:
        return 0
    _require(
        float(np.max(np.abs((after - before) / (2.0 * step) - matrix @ direction))) <= 1e-5,
        "the Jacobian of the prox should agree with its finite differences",
    )
    return 1


def _check_value(penalty: Penalty, w: Vector, rng: np.random.Generator) -> None:
    h = penalty.value(w)
    for scale in _SCALES:
        s = scale * rng.standard_normal(w.shape[0])
        gap = h + penalty.conjugate(s) - float(w @ s)
        _require(
            gap >= -_TOLERANCE * (1.0 + abs(float(w @ s))), "h(w) + h*(s) should be at least w.s"
        )
    if not math.isfinite(h):
        return
    u = np.asarray(penalty.weights(w))
    _check_weights(penalty, u)
    attained = _perspective(penalty, w, u) + penalty.cost(u)
    _require(_close(attained, h), "weights(w) should attain the value h(w)")
    free = np.flatnonzero(_free(penalty, w.shape[0]))
    for share in (0.1, 0.5, 1.0):
        other = u.copy()
        other[free] = (1.0 - share) * u[free] + share * rng.permutation(u[free])
        lower = _perspective(penalty, w, other) + penalty.cost(other)
        _require(lower >= h - _TOLERANCE * (1.0 + abs(h)), "no other u should be below h(w)")


def _check_convexity(penalty: Penalty, points: list[Vector], rng: np.random.Generator) -> None:
    for function, name in ((penalty.value, "value"), (penalty.conjugate, "conjugate")):
        for _ in range(30):
            i, j = rng.integers(len(points), size=2)
            theta = float(rng.random())
            chord = (1.0 - theta) * function(points[i]) + theta * function(points[j])
            middle = function((1.0 - theta) * points[i] + theta * points[j])
            _require(middle <= chord + _TOLERANCE * (1.0 + abs(chord)), f"{name} should be convex")


def _check_weights(penalty: Penalty, u: Vector) -> None:
    _require(bool(np.all((u >= 0.0) & (u <= 1.0))), "the weights u should lie between 0 and 1")
    if penalty.inside is not None:
        _require(bool(np.all(u[penalty.inside] == 1.0)), "the weights u should be 1 inside")
    if penalty.outside is not None:
        _require(bool(np.all(u[penalty.outside] == 0.0)), "the weights u should be 0 outside")


def _perspective(penalty: Penalty, w: Vector, u: Vector) -> float:
    """sum_i ridge_i/2 w_i^2/u_i with 0/0 = 0 and x/0 = +infinity."""
    if bool(np.any((u == 0.0) & (w != 0.0))):
        return math.inf
    return float(np.sum(penalty.ridge / 2.0 * w * w / np.where(u > 0.0, u, 1.0)))


def _moved(penalty: Penalty, w: Vector, q: Vector, sigma: float) -> float:
    return float(np.sum((w - q) ** 2)) / 2.0 + sigma * penalty.value(w)


def _allowed(penalty: Penalty, w: Vector) -> Vector:
    """The nearest w that is 0 outside and nonnegative where asked."""
    if penalty.positive is not None:
        w = np.where(penalty.positive, np.maximum(w, 0.0), w)
    return w if penalty.outside is None else np.where(penalty.outside, 0.0, w)


def _free(penalty: Penalty, m: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    free = np.ones(m, dtype=bool)
    for mask in (penalty.inside, penalty.outside):
        if mask is not None:
            free &= ~mask
    return free


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= _TOLERANCE * (1.0 + abs(b))


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(f"{sentence}.")
