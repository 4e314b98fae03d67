"""check_loss: does a loss keep its promises? For the library's losses and for users' own."""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import TINY, U
from sparsebounds.losses import ULPS, Loss, NonConvexLoss
from sparsebounds.testing._nonconvex import check_nonconvex


def check_loss(loss: Loss, y: Vector, *, random_state: int = 0) -> None:
    """Raise AssertionError, in a sentence, where the loss contradicts itself.

    `y` holds responses the loss can take. Checked at random predictions: derivatives against
    differences, convexity, the Fenchel-Young inequality and its equality at the gradient, the
    domain of the conjugate, the infimum, sublevel intervals, the smoothness constant, what
    `self_concordant` says, and the rounding terms against extended precision. For a non-convex
    loss, its envelopes and suprema on random boxes instead (`testing._nonconvex`).
    """
    if isinstance(loss, NonConvexLoss):
        check_nonconvex(loss, y, random_state)
        return
    rng = np.random.default_rng(random_state)
    y = np.tile(np.asarray(y, dtype=np.float64), 40)
    z = rng.normal(size=len(y)) * rng.choice([0.1, 1.0, 5.0], size=len(y))
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
    _check_rounding(loss, y, z, b)


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


def _check_rounding(loss: Loss, y: Vector, z: Vector, b: Vector) -> None:
    """value_terms and conjugate_terms against the same formulas in extended precision."""
    if np.finfo(np.longdouble).nmant <= np.finfo(np.float64).nmant:
        return  # this platform has nothing wider to compare with
    wide = [np.asarray(x, dtype=np.longdouble) for x in (y, z, b)]
    for name, got, exact, terms in (
        ("value", loss.value(y, z), loss.value(wide[0], wide[1]), loss.value_terms(y, z)),
        (
            "conjugate",
            loss.conjugate(y, b),
            loss.conjugate(wide[0], wide[2]),
            loss.conjugate_terms(y, b),
        ),
    ):
        allowed = ULPS * U * terms + ULPS * TINY
        _require(
            np.all(np.abs(got - exact) <= allowed),
            f"{name} must be within ULPS * 2^-53 * {name}_terms of its exact value",
        )


def _require(condition: bool | np.bool_, promise: str) -> None:
    if not condition:
        raise AssertionError(f"The loss breaks a promise: {promise}.")
