"""sum_i clip(t_i/b - d_i, 0, 1) = k: the slope b that spreads a budget k over lengths t.

With t_i >= 0 and d_i >= 0 the left side decreases in b. Feature i enters at b = t_i/d_i and is
full at b = t_i/(1 + d_i). In terms of c = 1/b this is sum clip(c t_i - d_i, 0, 1) = k; the
multiplier of the budget is b^2/2. b = 0 (c = infinity) says the budget is slack: at most k of the
t_i are nonzero and each of them is full.

Only the features with the largest t_i/d_i can share the budget, so the equation is solved on a
level set of these ratios, widened until the features left out provably do not enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.rounding import with_errors

SHORT = 512
"""Arrays that are sorted, or searched as a whole, in less time than their largest are found."""

MILD = 4.0
"""Shifts d up to this: t - b d loses a few bits at most."""

_BLOCKS_PER_ELEMENT = 8
_SMALLEST_BLOCK = 4
_SAME = 2.0**-51


@dataclass(frozen=True, eq=False)
class Share:
    """How the budget is spread: `u` lists the weights of the features `index`; others get 0."""

    index: Index | slice
    u: Vector
    slope: float


def level_set(scores: Vector, count: int) -> tuple[Mask, float]:
    """A level set of scores with a number of elements or more, and its floor: one pass.

    Parameters
    ----------
    scores : array
        Numbers, 0 or more.
    count : int
        How many elements it is to have.

    Returns
    -------
    mask : array of bool
        Where scores_i >= floor and scores_i > 0. It has fewer than `count` elements only when it
        holds every positive score (floor = 0).
    floor : float
        The count-th largest of the maxima of disjoint blocks, hence no larger than the count-th
        largest score.

    Examples
    --------
    >>> mask, floor = sb.penalties.level_set(np.arange(100.0), 2)
    >>> bool(mask[98:].all()), int(mask.sum()) < 20
    (True, True)
    """
    blocks = _BLOCKS_PER_ELEMENT * max(count, 1)
    depth = len(scores) // blocks
    if depth < _SMALLEST_BLOCK:
        return scores > 0.0, 0.0
    maxima = np.max(scores[: depth * blocks].reshape(depth, blocks), axis=0)
    floor = float(np.sort(maxima)[blocks - max(count, 1)])
    return (scores >= floor, floor) if floor > 0.0 else (scores > 0.0, 0.0)


def top(values: Vector, k: int) -> Vector:
    """The k largest of `values`, 1 <= k <= their number, in no particular order."""
    n = len(values)
    return values if k == n else np.partition(values, n - k)[n - k :]


def largest(values: Vector, k: int) -> float:
    """The sum of the k largest of nonnegative `values` (of all, when there are no more than k)."""
    if k == 0:
        return 0.0
    if k < len(values):
        values = values[level_set(values, k)[0]]
    return float(np.sum(values if len(values) <= k else top(values, k)))


def slope(t: Vector, k: int) -> float:
    """The slope b that spreads a budget k over lengths t.

    Parameters
    ----------
    t : array
        Lengths, 0 or more.
    k : int
        The budget, 1 or more.

    Returns
    -------
    float
        The b with sum_i min(1, t_i/b) = k, or 0 when at most k of the t_i are nonzero.

    Notes
    -----
    Let a_1 <= ... <= a_k be the k largest t and R the sum of the others. The features that are not
    full are the others and the first p of the a: p is the last index with p a_p <= R + a_1 + ... +
    a_p, and b is that sum over p. Sums of nonnegative terms only, smallest first.

    Examples
    --------
    >>> sb.penalties.slope(np.array([1.0, 1.0, 4.0]), 2)
    2.0
    """
    if k >= len(t):
        return 0.0
    if len(t) <= SHORT:
        ordered = np.sort(t)
        if ordered[-k - 1] == 0.0:
            return 0.0
        a, low = ordered[-k:], float(ordered[:-k].sum())
    else:
        high = t[level_set(t, k + 1)[0]]
        if len(high) <= k:
            return 0.0
        a = np.sort(top(high, k))
        ties = int(np.count_nonzero(high >= a[0])) - k
        low = float(np.sum(np.where(t < a[0], t, 0.0))) + ties * float(a[0])
    sums = a.cumsum() + low
    p = int(np.count_nonzero(np.arange(1.0, k + 1.0) * a <= sums))
    return float(sums[p - 1]) / p


def split(t: Vector, d: Vector, k: int) -> Share:
    """Solve sum_i clip(t_i/b - d_i, 0, 1) = k for t >= 0 and d > 0.

    Where an interval of slopes solves it (k full features, none partial) the least is taken, so
    that b = 0 when the budget is slack and b = max t_i/d_i when k = 0.
    """
    if 0 < k < len(t) <= SHORT and np.count_nonzero(t) > k:
        return Share(slice(None), *_solve(t, d, k))
    ratio = t / d
    if k == 0:
        return Share(np.zeros(0, dtype=np.int64), t[:0], float(np.max(ratio, initial=0.0)))
    count = 4 * k + 16
    while True:
        mask, floor = level_set(ratio, count)
        index = np.flatnonzero(mask)
        near, shift = t[index], d[index]
        if len(near) <= k:
            return Share(index, np.ones(len(near)), 0.0)
        # The features left out have t/d < floor: they stay out when the slope is the floor or more.
        if floor == 0.0 or float(np.sum(_clipped(near, shift, 0.0, floor))) >= k:
            u, b = _solve(near, shift, k)
            if b >= floor:
                return Share(index, u, b)
        count *= 4


def _clipped(e: Vector, d: Vector, base: float, rise: float) -> Vector:
    """u = clip(t/b - d, 0, 1) at b = base + rise, where e = t - base d."""
    u = e - rise * d
    u /= base + rise
    np.maximum(u, 0.0, out=u)
    return np.minimum(u, 1.0, out=u)


def _solve(t: Vector, d: Vector, k: int) -> tuple[Vector, float]:
    """u_i = clip(t_i/b - d_i, 0, 1) of sum k, and b; more than k >= 1 of the t_i are positive.

    b is at least `base`, the k-th largest t_i/(1 + d_i), where k features are full already. Where
    d is large t_i/b - d_i cancels, so the unknown is rise = b - base and t_i - base d_i is computed
    to full accuracy; the base follows when rise d_i grows large beside b.
    """
    base = float(np.partition(t / (1.0 + d), len(t) - k)[len(t) - k])
    widest = float(d.max())
    e = t - base * d if widest <= MILD else _minus_product(t, base, d)
    active = e > 0.0
    if int(np.count_nonzero(active)) == k:
        return active.astype(np.float64), float(np.max(np.where(active, 0.0, t) / d))
    # sum u is piecewise linear in 1/b: Newton's step is exact once the full and the partial
    # features are those of the solution. A step that leaves the bracket gives way to bisection.
    # The ends are kept as (base, rise), so that they stay exact when the base moves.
    rise = 0.0
    low, high = (base, 0.0), (base, math.inf)
    while True:
        if abs(rise) * widest > 4.0 * (base + rise):
            total = base + rise
            rise = rise - (total - base) if base >= rise else base - (total - rise)
            base, e = total, _minus_product(t, total, d)
        u = _clipped(e, d, base, rise)
        excess = float(u.sum()) - k
        if abs(excess) <= _SAME * k:
            return u, base + rise
        low, high = ((base, rise), high) if excess > 0.0 else (low, (base, rise))
        left, right = (low[0] - base) + low[1], (high[0] - base) + high[1]
        whole = u >= 1.0
        partial = (u > 0.0) != whole
        stiffness = float(d[partial].sum()) + (k - int(np.count_nonzero(whole)))
        step = (base + rise) * excess / stiffness if stiffness > 0.0 else math.inf
        if rise + step == rise:
            return u, base + rise
        rise += step
        if not left < rise < right:
            # Fewer than k features have entered at the k-th largest t/d.
            right = min(right, float(np.min(top(e / d, k))))
            rise = _middle(base, left, right)
            if not left < rise < right:
                return u, base + rise


def _middle(base: float, left: float, right: float) -> float:
    """Halfway between the slopes base + left and base + right: in the logarithm if far apart."""
    low, high = base + left, base + right
    if high > 4.0 * low > 0.0:
        return math.sqrt(low) * math.sqrt(high) - base
    return left + (right - left) / 2.0


def _minus_product(t: Vector, b: float, d: Vector) -> Vector:
    """t - b d with the rounding error of the product recovered."""
    product, error = with_errors(b, d)
    rest: Vector = (t - product) - error
    return rest
