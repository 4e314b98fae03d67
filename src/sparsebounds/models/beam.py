"""Beam search: supports grown one feature at a time, the best few kept at every size.

In the quadratic model of `exchange`, adding j to S gains rho_j^2 / (2 s_j); every support kept
offers its best additions, and the best of all offers are kept for the next size. Growing several
supports at once finds groups of features that no single exchange leads to; OKRidge (Liu et al.,
2023) showed how well this does on correlated columns.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import positive_inverse
from sparsebounds.models.exchange import Quadratic, gain
from sparsebounds.models.growth import Growth
from sparsebounds.models.moves import first

PATIENCE = 2
"""Sizes without an improvement after which growing stops, where features have a price."""


def beam(
    model: Quadratic,
    starts: Sequence[Index],
    fixed: Mask,
    *,
    room: int,
    width: int,
    stop: Callable[[], bool] = lambda: False,
) -> list[Index]:
    """The best supports found, best first, ties by index; at most `width` of them.

    Each of `starts` is grown by at most `room` features that are not `fixed`. Without prices
    larger supports are never worse, so the last size is returned; with prices, the best of all.
    """
    priced = model.priced
    supports = [tuple(start.tolist()) for start in starts]
    level = sorted(zip(model.values(starts), supports, strict=True))[:width]
    kept = list(level)
    stale, least = 0, model.least
    grown = [np.array(support, dtype=np.int64) for _, support in level]
    growth = None if model.groups.single else Growth(model, grown, fixed)
    for _ in range(room):
        if stop():
            break
        before = np.array([value for value, _ in level])[:, None]
        values = _offers(model, level, before, fixed) if growth is None else growth.offers(before)
        count, values = values.shape[1], values.ravel()
        offers: dict[tuple[int, ...], int] = {}
        # Several parents offer the same support.
        for at in first(values, width * len(level)):
            if len(offers) == width or not values[at] < np.inf:
                break
            parent, new = divmod(at, count)
            fresh = [new] if growth is None else growth.members(new)
            offers.setdefault(tuple(sorted((*level[parent][1], *fresh))), at)
        if not offers:
            break
        if growth is not None:
            growth.grow(*np.divmod(list(offers.values()), count))
        level = [(float(values[at]), support) for support, at in offers.items()]
        best = kept[0][0]
        kept = heapq.nsmallest(width, kept + level) if priced else level
        stale = 0 if kept[0][0] < best - least else stale + 1
        if stale > PATIENCE:
            break
    return [np.array(support, dtype=np.int64) for _, support in kept]


@np.errstate(all="ignore")
def _offers(
    model: Quadratic,
    level: Sequence[tuple[float, tuple[int, ...]]],
    values: Vector,
    fixed: Mask,
) -> Vector:
    """q once a single feature is added: a row per support, all of one size."""
    inside = np.array([support for _, support in level], dtype=np.int64)
    across, linear = model.hessian[inside], model.linear[inside]
    matrix = model.hessian[inside[:, :, None], inside[:, None, :]]
    np.einsum("ijj->ij", matrix)[:] += model.ridge[inside]
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        inverse = np.stack([positive_inverse(one) for one in matrix])
    x = np.matmul(linear[:, None, :], inverse)
    rho = model.linear - np.matmul(x, across)[:, 0]
    taken = np.einsum("ijk,ijk->ik", np.matmul(inverse, across), across)
    schur = np.maximum(model.curvature - taken, model.ridge)
    offered = values + np.where(fixed, np.inf, model.price)
    offered -= gain(rho, schur, model.positive)
    np.put_along_axis(offered, inside, np.inf, axis=1)
    return np.fmin(offered, np.inf)
