"""check_loss: does a loss keep its promises? For the library's losses and for users' own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import TINY, U
from sparsebounds.losses import ULPS, Loss, NonConvexLoss

Elementwise = Callable[..., Any]

GRID = 401
"""Points of a box at which an envelope is compared with its loss."""


def check_loss(loss: Loss, y: Vector, *, random_state: int = 0) -> None:
    """Raise AssertionError, in a sentence, where the loss contradicts itself.

    Parameters
    ----------
    loss : Loss
        The loss, yours or ours.
    y : array
        Responses that it can take.
    random_state : int, default 0
        The seed of the predictions.

    Raises
    ------
    AssertionError
        Where a promise is not kept.

    Notes
    -----
    Checked at random predictions: derivatives against differences, convexity, the Fenchel-Young
    inequality and its equality at the gradient, the domain of the conjugate, the infimum, sublevel
    intervals, the smoothness constant, what `self_concordant` says, and the rounding terms against
    extended precision. For a non-convex loss, its envelopes and suprema on random boxes instead.

    Examples
    --------
    >>> sb.testing.check_loss(sb.losses.Huber(delta=2.0), np.array([-1.0, 0.0, 5.0]))
    """
    rng = np.random.default_rng(random_state)
    y = np.tile(np.asarray(y, dtype=np.float64), 40)
    z = rng.normal(size=len(y)) * rng.choice([0.1, 1.0, 5.0], size=len(y))
    if isinstance(loss, NonConvexLoss):
        _check_nonconvex(loss, y, z, rng)
        return
    value, gradient = loss.value(y, z), loss.gradient(y, z)
    lo, hi = loss.domain(y)
    size = 1.0 + np.abs(value) + np.abs(gradient * z)

    _require(np.all((lo <= 0) & (hi >= 0)), "domain(y) must contain 0")
    _require(np.all((lo <= gradient) & (gradient <= hi)), "gradient must lie in domain(y)")
    _check_derivatives(loss, y, z)
    _check_convexity(loss, y, z, rng.normal(size=len(y)) * 3.0, rng.random(len(y)))

    conjugate = loss.conjugate(y, gradient)
    _require(
        np.all(np.abs(value + conjugate - gradient * z) <= 1e-12 * size),
        "value + conjugate(gradient) must equal gradient * z (Fenchel-Young)",
    )
    b = loss.clip(y, rng.normal(size=len(y)) * 3.0)
    _require(np.all((lo <= b) & (b <= hi)), "clip must return points of domain(y)")
    _require(np.array_equal(loss.clip(y, b), b), "clip must leave points of domain(y) alone")
    _require(
        np.all(value + loss.conjugate(y, b) - b * z >= -1e-12 * (size + np.abs(b * z))),
        "value + conjugate must be at least b * z (Fenchel-Young)",
    )
    infimum = loss.infimum(y)
    _require(
        np.all(np.abs(infimum + loss.conjugate(y, 0.0 * y)) <= 1e-12 * size),
        "infimum must equal -conjugate(0)",
    )
    below, above = loss.sublevel(y, value - infimum)
    _require(
        np.all((below <= z + 1e-9 * size) & (z - 1e-9 * size <= above)),
        "sublevel(y, value - infimum) must hold z",
    )
    _check_rounding("value", loss.value, loss.value_terms, y, z)
    _check_rounding("conjugate", loss.conjugate, loss.conjugate_terms, y, b)


def _check_derivatives(loss: Loss, y: Vector, z: Vector) -> None:
    h = 1e-6
    up, down = z + h, z - h
    difference = (loss.value(y, up) - loss.value(y, down)) / (2 * h)
    tolerance = 1e-6 * (1.0 + np.abs(loss.value(y, up)) + np.abs(loss.gradient(y, up)))
    _require(
        np.all(np.abs(difference - loss.gradient(y, z)) <= tolerance),
        "gradient must be the derivative of value",
    )
    bend = loss.curvature(y, z)
    slope = (loss.gradient(y, up) - loss.gradient(y, down)) / (2 * h)
    # At a kink of the gradient any number between the one-sided slopes is right.
    sides = np.stack([loss.curvature(y, up), bend, loss.curvature(y, down)])
    margin = 1e-5 * (1.0 + np.abs(bend))
    _require(
        np.all((sides.min(0) - margin <= slope) & (slope <= sides.max(0) + margin)),
        "curvature must be the derivative of gradient",
    )
    _require(np.all(bend >= 0), "curvature must not be negative")
    if not np.isnan(loss.smoothness):
        _require(
            np.all(bend <= loss.smoothness * (1 + 1e-12)), "curvature must not exceed smoothness"
        )
    if loss.self_concordant:
        _check_self_concordance(loss, y, z)


def _check_self_concordance(loss: Loss, y: Vector, z: Vector) -> None:
    grid = np.linspace(-15.0, 15.0, 301)
    bend = loss.curvature(y[:, None], z[:, None] + grid)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = bend[:, 1:] / bend[:, :-1]
    most = np.exp(grid[1] - grid[0]) * (1.0 + 1e-9)
    _require(
        np.all((ratio <= most) & (ratio >= 1.0 / most)),
        "where it is self_concordant, curvature must change by exp(d) at most in a step d",
    )
    falls, rises = ratio < 1.0 - 1e-9, ratio > 1.0 + 1e-9
    _require(
        not np.any(np.logical_or.accumulate(falls, axis=1) & rises),
        "where it is self_concordant, curvature must not rise again once it falls",
    )


def _check_convexity(loss: Loss, y: Vector, z: Vector, other: Vector, share: Vector) -> None:
    middle = loss.value(y, share * z + (1 - share) * other)
    chord = share * loss.value(y, z) + (1 - share) * loss.value(y, other)
    _require(np.all(middle <= chord + 1e-12 * (1.0 + np.abs(chord))), "value must be convex in z")


def _check_rounding(name: str, function: Elementwise, terms: Elementwise, *at: Vector) -> None:
    """The terms that rounding is relative to, against the same formula in extended precision."""
    if np.finfo(np.longdouble).nmant <= np.finfo(np.float64).nmant:
        return  # this platform has nothing wider to compare with
    exact = function(*(np.asarray(x, dtype=np.longdouble) for x in at))
    _require(
        np.all(np.abs(function(*at) - exact) <= ULPS * U * terms(*at) + ULPS * TINY),
        f"{name} must be within ULPS * 2^-53 * {name}_terms of its exact value",
    )


def _check_nonconvex(loss: NonConvexLoss, y: Vector, z: Vector, rng: np.random.Generator) -> None:
    """What boxes, envelopes and certificates rely on."""
    z = z + rng.choice([0.0, 1.0], size=len(y)) * loss.perfect(y)
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
    _check_rounding("value", loss.value, loss.value_terms, y, z)


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
