"""Exact numbers: fractions, integers over a power of 2, and enclosures of what has no fraction."""

import base64
import math
import zlib
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction as Q
from functools import lru_cache

import numpy as np

INF = float("inf")
BITS = 100  # of the entries of a factor; of what it factors, twice as many
SPARE = 1 << (2 * BITS - 60)  # taken off a unit diagonal, for the remainders of a factorisation


class Refused(Exception):
    """The first thing that fails, in words."""


def need(condition, what):
    if not condition:
        raise Refused(what)


def number(value):
    """A number of a document as a fraction; true and false are none."""
    need(type(value) in (int, float), f"{value!r} is no number")
    return Q(value)


def exact(values):
    """Floats as integers over one power of 2."""
    ratios = [float(value).as_integer_ratio() for value in values]
    over = max((below for _, below in ratios), default=1)
    return [above * (over // below) for above, below in ratios], over


def root(x, up=True):
    """The square root of a fraction, rounded up, or down."""
    shift = 128 + x.denominator.bit_length()
    return Q(math.isqrt((x.numerator << 2 * shift) // x.denominator) + up, 1 << shift)


def short(x, up):
    """A fraction of 128 bits, at least or at most x."""
    shift = 128 - x.numerator.bit_length() + x.denominator.bit_length()
    scaled = x * Q(2) ** shift
    return Q(math.ceil(scaled) if up else math.floor(scaled)) / Q(2) ** shift


ROUNDED = [Context(50, side, MIN_EMIN, MAX_EMAX) for side in (ROUND_FLOOR, ROUND_CEILING)]


def enclosed(function, x):
    """Numbers below and above exp(x) or ln(x); of a float, which is a guess, a guess."""
    if isinstance(x, float):
        return [getattr(math, {"ln": "log"}.get(function, function))(x)] * 2
    return rounded(function, x)


@lru_cache(4096)
def rounded(function, x):
    """Fractions below and above exp(x) or ln(x): decimals rounded correctly, and one unit more."""
    if function == "exp" and abs(x) > 5000:
        need(x < 0, "a prediction is beyond 5000, where exponentials are not evaluated")
        return Q(0), Q(1, 10**2000)
    found = []
    for context in ROUNDED:
        near = context.divide(Decimal(x.numerator), Decimal(x.denominator))
        value = getattr(context, function)(near)
        step = context.next_minus if context.rounding == ROUND_FLOOR else context.next_plus
        found.append(Q(step(value) if value else 0))  # ln(1) is 0, without any rounding
    return found


def share(u, side):
    """1 / (1 + exp(u)), rounded down (side 0) or up (side 1)."""
    e = enclosed("exp", -abs(u))
    return e[side] / (1 + e[side]) if u > 0 else 1 / (1 + e[1 - side])


def entropy(x, side):
    """x ln x, rounded down (side 0) or up (side 1)."""
    return x * enclosed("ln", x)[side] if x else Q(0)


def exact_fractions(values):
    """Fractions as integers over one number."""
    over = math.lcm(*(value.denominator for value in values))
    return [value.numerator * (over // value.denominator) for value in values], over


def unpacked(record, name, kind, length):
    """A compressed array of a file."""
    stream, size = base64.b64decode(record[name], validate=True), np.dtype(kind).itemsize * length
    values = np.frombuffer(zlib.decompressobj().decompress(stream, size + 1), dtype=kind)
    need(len(values) == length, f"{name} does not hold {length} numbers")
    need(bool(np.all(np.isfinite(values))), f"{name} holds numbers that are not finite")
    return values.tolist()


def slices(values, counts):
    """Consecutive parts of these lengths."""
    start = 0
    for count in counts:
        yield values[start : start + max(count, 0)]
        start += max(count, 0)


def vector(text, length):
    """A float64 vector in base64."""
    raw = base64.b64decode(text, validate=True)
    need(len(raw) == 8 * length, f"a vector does not hold {length} numbers")
    values = np.frombuffer(raw, dtype="<f8")
    need(bool(np.all(np.isfinite(values))), "a vector holds numbers that are not finite")
    return values.tolist()
