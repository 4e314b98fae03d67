"""sum_i clip(t_i/b - d_i, 0, 1) = k: the slope b that spreads a budget k over lengths t.

With t_i >= 0 and d_i >= 0 the left side decreases in b. Feature i enters at b = t_i/d_i and is
full at b = t_i/(1 + d_i). In terms of c = 1/b this is sum clip(c t_i - d_i, 0, 1) = k; the
multiplier of the budget is b^2/2. b = 0 (c = infinity) says the budget is slack: at most k of the
t_i are nonzero and each of them is full.

Only the features with the largest t_i/d_i can share the budget, so the equation is solved on an
upper level set of these ratios, widened until the features left out provably do not enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import array_api_extra as xpx
from array_api_compat import is_torch_namespace

from sparsebounds._array import Array, namespace
from sparsebounds._rounding import upper_half

_BLOCKS_PER_ELEMENT = 8
_SMALLEST_BLOCK = 4
_ROUNDING = 2.0**-51


@dataclass(frozen=True, eq=False)
class Share:
    """How the budget is spread: `u` lists the features of `mask` in order, the others get 0."""

    mask: Array
    index: Array
    u: Array
    slope: float


def upper(scores: Array, count: int) -> tuple[Array, float]:
    """A level set {scores_i >= floor, scores_i > 0} with `count` elements or more, and its floor.

    It has fewer than `count` elements only when it holds every positive score (floor = 0).
    The floor is the count-th largest of the maxima of disjoint blocks, hence no larger than the
    count-th largest score: one pass, and only few elements more than asked for.
    """
    xp = namespace(scores)
    blocks = _BLOCKS_PER_ELEMENT * max(count, 1)
    depth = scores.shape[0] // blocks
    if depth < _SMALLEST_BLOCK:
        return scores > 0.0, 0.0
    maxima = xp.max(xp.reshape(scores[: depth * blocks], (depth, blocks)), axis=0)
    floor = float(xp.sort(maxima)[blocks - max(count, 1)])
    return (scores >= floor, floor) if floor > 0.0 else (scores > 0.0, 0.0)


def top(values: Array, k: int) -> Array:
    """The k largest of `values`, 1 <= k <= their number, in no particular order."""
    xp = namespace(values)
    n = values.shape[0]
    if k == n:
        return values
    if is_torch_namespace(xp):
        return xp.topk(values, k, sorted=False).values
    return xpx.partition(values, n - k, xp=xp)[n - k :]


def largest(values: Array, k: int) -> float:
    """The sum of the k largest of nonnegative `values` (of all, when there are no more than k)."""
    xp = namespace(values)
    if k == 0:
        return 0.0
    if k < values.shape[0]:
        mask, _ = upper(values, k)
        values = values[mask]
    return float(xp.sum(values if values.shape[0] <= k else top(values, k)))


def slope(t: Array, k: int) -> float:
    """The b with sum_i min(1, t_i/b) = k >= 1, or 0 when at most k of the t_i are nonzero.

    Let a_1 <= ... <= a_k be the k largest t and R the sum of the others. The features that are not
    full are the others and the first p of the a: p is the last index with p a_p <= R + a_1 + ... +
    a_p, and b is that sum over p. Sums of nonnegative terms only, smallest first.
    """
    xp = namespace(t)
    if k >= t.shape[0]:
        return 0.0
    mask, _ = upper(t, k + 1)
    high = t[mask]
    if high.shape[0] <= k:
        return 0.0
    a = xp.astype(xp.sort(top(high, k)), xp.float64)
    ties = int(xp.count_nonzero(high >= a[0])) - k
    low = xp.sum(xp.astype(xp.where(t < a[0], t, 0.0), xp.float64))
    sums = xp.cumulative_sum(a) + (float(low) + ties * float(a[0]))
    p = int(xp.count_nonzero(xp.cumulative_sum(xp.ones_like(a)) * a <= sums))
    return float(sums[p - 1]) / p


def split(t: Array, d: float | Array, k: int) -> Share:
    """Solve sum_i clip(t_i/b - d_i, 0, 1) = k for t >= 0 and d > 0, one number or one a feature.

    Where an interval of slopes solves it (k full features, none partial) the least is taken, so
    that b = 0 when the budget is slack and b = max t_i/d_i when k = 0.
    """
    xp = namespace(t)
    ratio, unit = (t, d) if isinstance(d, float) else (t / d, 1.0)
    if k == 0:
        steepest = float(xp.max(ratio)) / unit if t.shape[0] > 0 else 0.0
        return Share(t < 0.0, xp.nonzero(t < 0.0)[0], t[t < 0.0], steepest)
    count = 4 * k + 16
    while True:
        mask, floor = upper(ratio, count)
        index = xp.nonzero(mask)[0]
        near = xp.astype(xp.take(t, index), xp.float64)
        if near.shape[0] <= k:
            return Share(mask, index, xp.ones_like(near), 0.0)
        shift = near * 0.0 + d if isinstance(d, float) else xp.astype(xp.take(d, index), near.dtype)
        # The features left out have t/d < floor: they stay out when the slope is the floor or more.
        if floor == 0.0 or float(xp.sum(_clipped(near, shift, 0.0, floor / unit))) >= k:
            u, b = _solve(near, shift, k)
            if b >= floor / unit:
                return Share(mask, index, u, b)
        count *= 4


def _clipped(e: Array, d: Array, base: float, rise: float) -> Array:
    """u = clip(t/b - d, 0, 1) at b = base + rise, where e = t - base d."""
    xp = namespace(e)
    return xp.minimum(xp.maximum((e - rise * d) / (base + rise), 0.0), 1.0)


def _solve(t: Array, d: Array, k: int) -> tuple[Array, float]:
    """u_i = clip(t_i/b - d_i, 0, 1) of sum k, and b; more than k >= 1 of the t_i are positive.

    b is at least `base`, the k-th largest t_i/(1 + d_i), where k features are full already. Where
    d is large t_i/b - d_i cancels, so the unknown is rise = b - base and t_i - base d_i is computed
    to full accuracy; the base follows when rise d_i grows large beside b.
    """
    xp = namespace(t)
    base = float(xp.min(top(t / (1.0 + d), k)))
    e = _minus_product(t, base, d)
    active = e > 0.0
    if int(xp.count_nonzero(active)) == k:
        return xp.astype(active, t.dtype), float(xp.max(xp.where(active, 0.0, t) / d))
    # sum u is piecewise linear in 1/b: Newton's step is exact once the full and the partial
    # features are those of the solution. A step that leaves the bracket gives way to bisection.
    # The ends are kept as (base, rise), so that they stay exact when the base moves.
    rise, widest = 0.0, float(xp.max(d))
    low, high = (base, 0.0), (base, math.inf)
    while True:
        if abs(rise) * widest > 4.0 * (base + rise):
            total = base + rise
            rise = rise - (total - base) if base >= rise else base - (total - rise)
            base, e = total, _minus_product(t, total, d)
        u = _clipped(e, d, base, rise)
        excess = float(xp.sum(u)) - k
        if abs(excess) <= _ROUNDING * k:
            return u, base + rise
        low, high = ((base, rise), high) if excess > 0.0 else (low, (base, rise))
        left, right = ((start - base) + more for start, more in (low, high))
        full = int(xp.count_nonzero(u == 1.0))
        stiffness = float(xp.sum(xp.where((u > 0.0) & (u < 1.0), d, 0.0))) + (k - full)
        step = (base + rise) * excess / stiffness if stiffness > 0.0 else math.inf
        if rise + step == rise:
            return u, base + rise
        rise += step
        if not left < rise < right:
            # Fewer than k features have entered at the k-th largest t/d.
            right = min(right, float(xp.min(top(e / d, k))))
            rise = _middle(base, left, right)
            if not left < rise < right:
                return u, base + rise


def _middle(base: float, left: float, right: float) -> float:
    """Halfway between the slopes base + left and base + right: in the logarithm if far apart."""
    low, high = base + left, base + right
    if high > 4.0 * low > 0.0:
        return math.sqrt(low) * math.sqrt(high) - base
    return left + (right - left) / 2.0


def _minus_product(t: Array, b: float, d: Array) -> Array:
    """t - b d with the rounding error of the product recovered from split factors."""
    product = b * d
    high, top_b = upper_half(d), upper_half(b)
    low, rest_b = d - high, b - top_b
    error = ((top_b * high - product) + top_b * low + rest_b * high) + rest_b * low
    return (t - product) - error
