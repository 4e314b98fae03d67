"""Directed rounding: floats that are proved to lie above or below an exact value.

Round-to-nearest errs by at most half a unit in the last place, so the next float up
(or down) after each operation is a bound of the exact result, subnormals and overflow
included. Inner products err by at most g_n |x| |a| with g_n = n u / (1 - n u) and
u = 2^-53, whatever the order of summation and with or without fused multiply-add, plus
n 2^-1074 for underflow (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3).
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from sparsebounds._array import Vector

U = 2.0**-53
"""Unit roundoff of float64."""

TINY = 2.0**-1074
"""The smallest positive float64."""


@overload
def up(x: float) -> float: ...
@overload
def up(x: npt.NDArray[np.floating[Any]]) -> Vector: ...
def up(x: Any) -> Any:
    """The next float above x."""
    return np.nextafter(x, np.inf)


@overload
def down(x: float) -> float: ...
@overload
def down(x: npt.NDArray[np.floating[Any]]) -> Vector: ...
def down(x: Any) -> Any:
    """The next float below x."""
    return np.nextafter(x, -np.inf)


def sum_up(x: Vector) -> float:
    """A float at least the exact sum of the floats x; inf where that is not finite."""
    if not np.all(np.isfinite(x)):
        return math.inf if not np.any(np.isneginf(x)) else math.nan
    try:
        return math.nextafter(math.fsum(x.tolist()), math.inf) if x.size else 0.0
    except OverflowError:
        return math.inf


def gamma(n: int) -> float:
    """g_n = n u / (1 - n u), rounded up: the relative error bound of n roundings."""
    return up(up(n * U) / down(1.0 - n * U))


def norm_up(x: Vector) -> float:
    """A float at least the Euclidean norm of x; inf where that overflows."""
    largest = float(np.max(np.abs(x), initial=0.0))
    if largest == 0.0:
        return 0.0
    scaled = up(np.abs(x) / largest)
    with np.errstate(over="ignore"):
        return up(up(math.sqrt(sum_up(up(scaled * scaled)))) * largest)


def exact_products(x: Vector, y: Vector) -> Vector:
    """Floats whose exact sum is the exact sum of x_i y_i: products and their rounding errors.

    Dekker's product, by halves of 26 bits; exact unless a factor is beyond 1e300 or a product
    underflows.
    """
    product = x * y
    x_high, y_high = _half(x), _half(y)
    x_low, y_low = x - x_high, y - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return np.concatenate((product, error))


def _half(x: Vector) -> Vector:
    """The upper 26 bits of x."""
    high = (2.0**27 + 1.0) * x
    half: Vector = high - (high - x)
    return half
