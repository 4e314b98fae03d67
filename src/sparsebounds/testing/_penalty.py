"""h(w) + h*(s) >= w.s, with equality where s is a slope of h at w: what a penalty has to satisfy.

`check_penalty` draws points and tests this and the other identities that the solver and the bounds
rely on. It is for users' own penalties as much as for ours.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds.penalties import Penalty, perspective

_SCALES = (0.03, 1.0, 30.0)
_STEPS = (0.1, 1.0, 10.0)
_TOLERANCE = 1e-9


def check_penalty(penalty: Penalty, m: int, *, random_state: int = 0) -> None:
    """Raise AssertionError, in a sentence, where a penalty breaks an identity.

    Parameters
    ----------
    penalty : Penalty
        The penalty, yours or ours.
    m : int
        The number of features.
    random_state : int, default 0
        The seed of the points.

    Raises
    ------
    AssertionError
        Where an identity does not hold.

    Examples
    --------
    >>> sb.testing.check_penalty(sb.penalties.KRidge(2, 0.5), 6)
    """
    rng = np.random.default_rng(random_state)
    points: list[Vector] = [np.zeros(m)]
    for scale in _SCALES:
        for step in _STEPS:
            q = scale * rng.standard_normal(m)
            points.append(_check_pattern(penalty, q, step * rng.uniform(0.5, 2.0, m), rng))
        points.append(_allowed(penalty, scale * rng.standard_normal(m)))
        points.append(_allowed(penalty, scale * rng.standard_normal(m) * (rng.random(m) < 0.5)))
    for w in points:
        _check_value(penalty, w, rng)
    _check_convexity(penalty, points, rng)


def _check_pattern(penalty: Penalty, q: Vector, step: Vector, rng: np.random.Generator) -> Vector:
    """The minimiser on the piece is that of sum (w - q)^2/(2 step) + h(w); it is returned."""
    step = penalty.even(step)
    piece = penalty.pattern(q, step)
    some = piece.active
    matrix = np.diag(1.0 / step[some] + piece.ridge)
    if piece.direction is not None:
        matrix += np.outer(piece.direction, piece.direction) / piece.share
    w = np.zeros(len(q))
    w[some] = np.linalg.solve(matrix, q[some] / step[some] - piece.linear)
    _require(penalty.allows(w), "the piece should be 0 outside and nonnegative where positive")
    _require(bool(np.all(w[some] * piece.sign >= 0.0)), "the piece should have the signs it says")
    size = float(np.sum(q * q / step))
    best = _moved(penalty, w, q, step)
    for length in (1e-4, 1e-2, 1.0):
        for direction in (
            rng.standard_normal(len(q)),
            -w,
            q - w,
            np.eye(len(q))[rng.integers(len(q))],
        ):
            other = _allowed(penalty, w + length * direction * max(1.0, float(np.max(np.abs(q)))))
            _require(
                best <= _moved(penalty, other, q, step) + _TOLERANCE * size,
                "the piece should hold the minimiser of (w - q)^2/(2 step) + h(w)",
            )
    slope = (q - w) / step
    h, conjugate = penalty.value(w), penalty.conjugate(slope)
    _require(
        abs(h + conjugate - float(w @ slope)) <= _TOLERANCE * (size + abs(h)),
        "h(w) + h*(s) should equal w.s at the minimiser w and s = (q - w)/step",
    )
    return w


def _check_value(penalty: Penalty, w: Vector, rng: np.random.Generator) -> None:
    h = penalty.value(w)
    for scale in _SCALES:
        s: Vector = scale * rng.standard_normal(len(w))
        gap = h + penalty.conjugate(s) - float(w @ s)
        _require(
            gap >= -_TOLERANCE * (1.0 + abs(float(w @ s))), "h(w) + h*(s) should be at least w.s"
        )
    if not math.isfinite(h):
        return
    slopes = penalty.slopes(w)
    _require(_close(slopes.value, h), "the slopes should have the value h(w)")
    groups, some = penalty.groups, rng.uniform(-1.0, 1.0, len(w))
    length = np.sqrt(groups.spread(groups.gather(np.square(some))))
    kinks = groups.spread(np.fmin(slopes.kink, 1e6)) * penalty.root * some / np.fmax(length, 1.0)
    s = np.where(w == 0.0, kinks, slopes.gradient)
    s = np.where(penalty.positive & (w == 0.0), -np.abs(s), s)
    _require(
        abs(h + penalty.conjugate(s) - float(w @ s)) <= _TOLERANCE * (1.0 + abs(float(w @ s))),
        "h(w) + h*(s) should equal w.s where s are the slopes of h at w",
    )
    u = penalty.weights(w)
    _check_weights(penalty, u)
    attained = _perspective(penalty, w, u) + penalty.cost(u)
    _require(_close(attained, h), "weights(w) should attain the value h(w)")
    free = np.flatnonzero(~_spread(penalty.inside | penalty.outside, w))
    for share in (0.1, 0.5, 1.0):
        other = u.copy()
        other[free] = (1.0 - share) * u[free] + share * rng.permutation(u[free])
        other = groups.spread(other)
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
    _require(bool(np.all(u[_spread(penalty.inside, u)] == 1.0)), "weights should be 1 inside")
    _require(bool(np.all(u[_spread(penalty.outside, u)] == 0.0)), "weights should be 0 outside")


def _perspective(penalty: Penalty, w: Vector, u: Vector) -> float:
    """sum_i ridge_i/2 w_i^2/u_i with 0/0 = 0 and x/0 = +infinity."""
    return float(np.sum(penalty.ridge / 2.0 * perspective(w, u)))


def _moved(penalty: Penalty, w: Vector, q: Vector, step: Vector) -> float:
    return float(np.sum((w - q) ** 2 / (2.0 * step))) + penalty.value(w)


def _allowed(penalty: Penalty, w: Vector) -> Vector:
    """The nearest w that is 0 outside and nonnegative where asked."""
    return np.where(penalty.outside, 0.0, np.where(penalty.positive, np.maximum(w, 0.0), w))


def _spread(flags: Mask, like: Vector) -> Mask:
    return np.broadcast_to(flags, like.shape)


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= _TOLERANCE * (1.0 + abs(b))


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(f"{sentence}.")
