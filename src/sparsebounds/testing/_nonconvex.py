"""check_loss for a non-convex loss: what boxes, envelopes and certificates rely on."""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import TINY, U
from sparsebounds.losses import ULPS, NonConvexLoss

GRID = 401


def check_nonconvex(loss: NonConvexLoss, y: Vector, random_state: int) -> None:
    """Raise AssertionError, in a sentence, where the loss or its envelopes break a promise."""
    rng = np.random.default_rng(random_state)
    y = np.tile(np.asarray(y, dtype=np.float64), 40)
    z = rng.normal(size=len(y)) * rng.choice([0.1, 1.0, 5.0], size=len(y)) + rng.choice(
        [0.0, 1.0], size=len(y)
    ) * loss.perfect(y)
    _check_values(loss, y, z, rng)
    width = 10.0 ** rng.uniform(-2, 1.5, size=(2, len(y)))
    _check_envelope(loss, y, z - width[0], z + width[1], rng)


def _check_values(loss: NonConvexLoss, y: Vector, z: Vector, rng: np.random.Generator) -> None:
    value, slope = loss.value(y, z), loss.gradient(y, z)
    infimum = loss.infimum(y)
    h = 1e-6
    up, down = loss.value(y, z + h), loss.value(y, z - h)
    sides = np.stack([(up - value) / h, (value - down) / h])
    margin = 1e-4 * (1.0 + np.abs(value) + np.abs(slope) + np.abs(z) ** 2)
    _require(
        np.all((sides.min(0) - margin <= slope) & (slope <= sides.max(0) + margin)),
        "gradient must be the derivative of value, or lie between its limits",
    )
    _require(np.all(value >= infimum - 1e-12 * (1.0 + value)), "value must not be below infimum")
    _require(np.all(value - infimum <= loss.height * (1.0 + 1e-12)), "value must not exceed height")
    below, above = loss.sublevel(y, value - infimum)
    reach = 1e-9 * (1.0 + np.abs(z) + np.abs(y))
    _require(
        np.all((below <= z + reach) & (z - reach <= above)),
        "sublevel(y, value - infimum) must hold z",
    )
    far, near = loss.saturation(y)
    for side, end in ((-1, far), (1, near)):
        end = np.where(np.isfinite(end), end, 0.0)
        flat = np.isfinite(far if side < 0 else near)
        a, b = (loss.value(y, end + side * step) for step in rng.exponential(size=(2, len(y))))
        _require(
            np.all(~flat | (np.abs(a - b) <= 1e-12 * (1.0 + a))),
            "the loss must be constant outside saturation(y), on either side",
        )
        further = loss.value(y, z + side * rng.exponential(size=len(y)))
        _require(
            np.all(loss.beyond(y, z, side) <= further + 1e-12 * (1.0 + further)),
            "beyond must be a lower bound of the loss further out",
        )
    gap = rng.exponential(size=len(y)) * 0.1
    ends = np.maximum(value, loss.value(y, z + gap))
    middle = loss.value(y, z + rng.random(len(y)) * gap)
    _require(
        np.all(middle <= ends + loss.rise(y, gap) + 1e-12 * (1.0 + ends)),
        "a value between two predictions must not exceed both by more than rise",
    )
    if np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant:
        exact = loss.value(np.asarray(y, np.longdouble), np.asarray(z, np.longdouble))
        allowed = ULPS * U * loss.value_terms(y, z) + ULPS * TINY
        _require(
            np.all(np.abs(value - exact) <= allowed),
            "value must be within ULPS * 2^-53 * value_terms of its exact value",
        )


def _check_envelope(
    loss: NonConvexLoss, y: Vector, lo: Vector, hi: Vector, rng: np.random.Generator
) -> None:
    envelope = loss.envelope(y, lo, hi)
    t = rng.normal(size=len(y))
    slopes = envelope.gradient(y, lo + rng.random(len(y)) * (hi - lo))
    t = np.where(rng.random(len(y)) < 0.5, t, slopes)
    top, terms = loss.supremum(y, t, lo, hi)
    for share in [*np.linspace(0.0, 1.0, GRID), *rng.random(40)]:
        z = np.clip(lo + share * (hi - lo), lo, hi)
        value = loss.value(y, z)
        for convex in (envelope, envelope.smoothed()):
            _require(np.all(convex.value(y, z) <= value), "an envelope must lie below its loss")
        _require(
            np.all(t * z - value <= top + ULPS * U * terms),
            "supremum must be at least t z - value everywhere on the box",
        )
    for _ in range(40):
        a, b = (lo + rng.uniform(-0.2, 1.2, len(y)) * (hi - lo) for _ in range(2))
        at, other = envelope.value(y, a), envelope.value(y, b)
        size = 1.0 + np.abs(at) + np.abs(other) + envelope.value_terms(y, a)
        tangent = at + envelope.gradient(y, a) * (b - a)
        _require(
            np.all(tangent <= other + 1e-11 * size),
            "an envelope must be convex, with its gradient a slope of it",
        )


def _require(condition: bool | np.bool_, promise: str) -> None:
    if not condition:
        raise AssertionError(f"The loss breaks a promise: {promise}.")
