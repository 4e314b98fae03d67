"""The losses in decimal arithmetic, written from their formulas.

Each function returns (value, slope, curvature, majorant's curvature) at one row; the last is the
curvature of a parabola that touches the loss there and lies above it, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

D = Decimal
ONE, TWO, HALF = D(1), D(2), D("0.5")
Row = tuple[D, D, D, D | None]
RowLoss = Callable[[D, D], Row]

CONVEX = ("squared", "logistic", "poisson", "huber", "squared_hinge")
TWO_CLASS = ("logistic", "squared_hinge", "ramp", "sigmoid")


def squared(y: D, z: D) -> Row:
    r = z - y
    return r * r * HALF, r, ONE, ONE


def logistic(y: D, z: D) -> Row:
    t = y * z
    e = (-abs(t)).exp()
    value = (ONE + e).ln() + max(-t, D(0))
    s = (e if t > 0 else ONE) / (ONE + e)  # 1 / (1 + exp(t))
    return value, -y * s, s * (ONE - s), D("0.25")


def poisson(y: D, z: D) -> Row:
    e = z.exp()
    return e - y * z, e - y, e, None


def huber(y: D, z: D, delta: D) -> Row:
    r = z - y
    if abs(r) <= delta:
        return r * r * HALF, r, ONE, ONE
    return delta * abs(r) - delta * delta * HALF, delta.copy_sign(r), D(0), delta / abs(r)


def squared_hinge(y: D, z: D) -> Row:
    lack = ONE - y * z
    if lack <= 0:
        return D(0), D(0), D(0), ONE
    return lack * lack * HALF, -y * lack, ONE, ONE


def convex(name: str, parameters: Mapping[str, float]) -> RowLoss:
    """One of the convex losses, as a function of a row."""
    if name == "huber":
        delta = D(parameters.get("delta", 1.35))
        return lambda y, z: huber(y, z, delta)
    return {
        "squared": squared,
        "logistic": logistic,
        "poisson": poisson,
        "squared_hinge": squared_hinge,
    }[name]


DEFAULT = {
    "truncated": 3.0,
    "tukey": 4.685,
    "geman_mcclure": 3.0,
    "welsch": 2.985,
    "cauchy": 2.385,
}
"""c where none is given."""


def value(name: str, parameters: Mapping[str, float], y: D, z: D) -> D:
    """The loss of one row, of any name."""
    if name in CONVEX:
        return convex(name, parameters)(y, z)[0]
    if name == "ramp":
        return min(ONE, max(D(0), ONE - y * z))
    if name == "sigmoid":
        t = y * z
        e = (-abs(t)).exp()
        return (e if t > 0 else ONE) / (ONE + e)
    if name == "quartic":
        return (z * z - y) ** 2 / 4
    if name == "amplitude":
        return (abs(z) - y) ** 2 * HALF
    c = D(parameters.get("c", DEFAULT.get(name, 1.0)))
    r = z - y
    s2 = (r / c) ** 2
    if name == "truncated":
        return min(r * r, c * c) * HALF
    if name == "tukey":
        return c * c / 6 * (ONE - (ONE - s2) ** 3) if s2 <= 1 else c * c / 6
    if name == "geman_mcclure":
        return c * c * HALF * s2 / (ONE + s2)
    if name == "welsch":
        return c * c * HALF * (ONE - (-s2).exp())
    if name == "cauchy":
        return c * c * HALF * (ONE + s2).ln()
    raise KeyError(name)


def floor(name: str, y: D) -> D:
    """The least value that the loss of a row can have."""
    if name == "poisson" and y > 0:
        return y - y * y.ln()
    return D(0)
