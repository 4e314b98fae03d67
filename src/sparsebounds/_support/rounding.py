"""Directed rounding: floats that are proved to lie above or below an exact value.

Round-to-nearest errs by at most half a unit in the last place, so the next float up
(or down) after each operation is a bound of the exact result, subnormals and overflow
included. Inner products err by at most g_n |x| |a| with g_n = n u / (1 - n u) and
u = 2^-53, whatever the order of summation and with or without fused multiply-add, plus
n 2^-1074 for underflow (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector

U = 2.0**-53
"""Unit roundoff of float64."""

TINY = 2.0**-1074
"""The smallest positive float64."""

FOLD = 1 << 14
"""Terms of a long array that are worked on at a time: they stay in the cache."""

LONG = 4096
"""Arrays beyond this are worth a vectorised routine."""

SMALL = 1e-140
"""Squares of lengths below this may underflow."""


@overload
def up(x: float) -> float: ...
@overload
def up(x: npt.NDArray[np.floating[Any]]) -> Vector: ...
def up(x: Any) -> Any:
    """A float above x, within two units in its last place; infinities stay."""
    if isinstance(x, float):
        return np.float64(math.nextafter(x, math.inf))
    if np.ndim(x) == 0 or x.size < LONG:
        return np.nextafter(x, np.inf)
    out = np.empty(x.shape)
    flat, to = (x, out) if x.ndim == 1 else (x.reshape(-1), out.reshape(-1))
    with np.errstate(over="ignore", invalid="ignore"):
        for at in range(0, x.size, FOLD):
            # |x| 2^-52 is at least one unit in the last place of x; five passes in the cache beat
            # a scalar routine.
            part, step = flat[at : at + FOLD], to[at : at + FOLD]
            np.abs(part, out=step)
            step *= 2.0 * U
            step += TINY
            step += part
            np.fmax(step, part, out=step)
    return out


@overload
def down(x: float) -> float: ...
@overload
def down(x: npt.NDArray[np.floating[Any]]) -> Vector: ...
def down(x: Any) -> Any:
    """A float below x, within two units in its last place; infinities stay."""
    if isinstance(x, float):
        return np.float64(math.nextafter(x, -math.inf))
    if np.ndim(x) == 0 or x.size < LONG:
        return np.nextafter(x, -np.inf)
    below = up(-x)
    return np.negative(below, out=below)


def in_parts(work: Callable[..., Vector], *vectors: Vector) -> Vector:
    """What elementwise work makes of vectors of one length; long ones some terms at a time."""
    size = len(vectors[0])
    if size <= FOLD:
        return work(*vectors)
    out = np.empty(size)
    for at in range(0, size, FOLD):
        out[at : at + FOLD] = work(*(x[at : at + FOLD] for x in vectors))
    return out


def exact_sum(x: Vector) -> tuple[float, float]:
    """(total, radius) with |exact sum of the floats x - total| <= radius, for finite x.

    Short sums by `fsum`. Long ones by halving: sums of pairs and their exact rounding errors
    (Knuth's two-sum), until few are left; the errors, 2^-53 of the terms, are summed plainly.
    Very long ones are folded first, so that the work stays in the cache.
    """
    x, errors, radius = _folded(x) if len(x) >= 4 * FOLD else (x, 0.0, 0.0)
    while len(x) > LONG:
        half = len(x) // 2
        a, b = x[:half], x[half : 2 * half]
        pairs = a + b
        back = pairs - a
        lost = (a - (pairs - back)) + (b - back)
        errors += float(np.sum(lost))
        radius += 2.0 * gamma(len(lost) + 64) * float(np.sum(np.abs(lost)))
        x = np.append(pairs, x[2 * half :])
    total = math.fsum([*x.tolist(), errors])
    # The running sum of `errors` has at most 64 terms, covered by the widened gamma above.
    return total, up(radius + 2.0 * U * abs(total) + TINY) if total or radius else 0.0


def _folded(x: Vector) -> tuple[Vector, float, float]:
    """Fewer terms, a number and a radius: the sum of x is theirs and that number's, within it."""
    blocks, errors, size = len(x) // FOLD, 0.0, 0.0
    total, other, back, lost = x[:FOLD].copy(), *(np.empty(FOLD) for _ in range(3))
    for i in range(1, blocks):
        part = x[i * FOLD : (i + 1) * FOLD]
        np.add(total, part, out=other)
        np.subtract(other, total, out=back)
        np.subtract(total, np.subtract(other, back, out=lost), out=lost)
        lost += np.subtract(part, back, out=back)
        errors += float(np.sum(lost))
        size += float(np.sum(np.abs(lost, out=lost)))
        total, other = other, total
    return (
        np.append(total, x[blocks * FOLD :]),
        errors,
        2.0 * gamma(FOLD + blocks + 64) * size,
    )


def sum_up(x: Vector) -> float:
    """A float at least the exact sum of the floats x; inf where that is not finite."""
    if not x.size:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            total, radius = exact_sum(x)
        except OverflowError:
            return math.inf
        except ValueError:  # fsum of both infinities
            return math.nan
        if math.isfinite(total):
            return up(total + radius)
    return math.nan if np.any(np.isneginf(x)) else math.inf


@overload
def gamma(n: int) -> float: ...
@overload
def gamma(n: Index) -> Vector: ...
def gamma(n: Any) -> Any:
    """g_n = n u / (1 - n u), rounded up: the relative error bound of n roundings."""
    return _gamma(n) if isinstance(n, int) else up(up(n * U) / down(1.0 - n * U))


@cache
def _gamma(n: int) -> float:
    return up(up(n * U) / down(1.0 - n * U))


def largest_of(x: Vector) -> float:
    """The largest |x_i|; 0 where there is none."""
    return max(float(np.max(x, initial=0.0)), -float(np.min(x, initial=0.0)))


def norm_up(x: Vector) -> float:
    """A float at least the Euclidean norm of x; inf where that overflows."""
    largest = largest_of(x)
    if largest == 0.0:
        return 0.0
    scaled = up(np.abs(x) / largest)
    with np.errstate(over="ignore"):
        return up(up(math.sqrt(sum_up(up(scaled * scaled)))) * largest)


def length_up(x: Vector) -> float:
    """`norm_up`, in less time: within 2 len(x) units in the last place."""
    length = float(row_norms_up(x[None])[0])
    return length if SMALL < length < math.inf else norm_up(x)


def row_norms_up(x: Vector) -> Vector:
    """Floats at least the Euclidean norm of each row of x; inf where its square overflows."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", x, x)
        squares = up(up(squares * (1.0 + 2.0 * gamma(x.shape[1] + 1))) + x.shape[1] * TINY)
        norms: Vector = np.sqrt(squares)
    return up(norms)


def exact_products(x: Vector, y: Vector) -> Vector:
    """Floats whose exact sum is the exact sum of x_i y_i: products and their rounding errors.

    Dekker's product, by halves of 26 bits; exact unless a factor is beyond 1e300 or a product
    underflows.
    """
    return np.concatenate(with_errors(x, y))


def with_errors(x: Any, y: Any) -> tuple[Any, Any]:
    """Products of floats, or arrays, and their rounding errors, as in `exact_products`."""
    product = x * y
    x_high, y_high = upper_half(x), upper_half(y)
    x_low, y_low = x - x_high, y - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def exact_dot(x: Vector, y: Vector, *terms: float) -> float:
    """x.y and the terms, rounded once, though large ones cancel; NaN where one is infinite."""
    used = np.flatnonzero(x)
    with np.errstate(over="ignore", invalid="ignore"):
        products = exact_products(x[used], y[used])
    try:
        return math.fsum((*products.tolist(), *terms))
    except (OverflowError, ValueError):
        return math.nan


def upper_half(x: Any) -> Any:
    """The upper 26 bits of x, a float or an array of any library (Veltkamp)."""
    high = (2.0**27 + 1.0) * x
    return high - (high - x)


def in_ball(w: Vector, ball: float) -> bool:
    """Whether |w|^2 <= ball holds exactly, in rational arithmetic."""
    return sum((Fraction(x) ** 2 for x in w[w != 0].tolist()), Fraction(0)) <= Fraction(ball)
