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
from sparsebounds.models.blocks import Blocks
from sparsebounds.models.exchange import Quadratic, gain
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
    for _ in range(room):
        if stop():
            break
        parents, leaders, values = _offers(model, level, fixed)
        offers: dict[tuple[int, ...], float] = {}
        # Several parents offer the same support.
        for at in first(values, width * len(level)):
            if len(offers) == width or not values[at] < np.inf:
                break
            fresh = model.groups.whole(leaders[at : at + 1]).tolist()
            support = tuple(sorted((*level[parents[at]][1], *fresh)))
            offers.setdefault(support, float(values[at]))
        if not offers:
            break
        level = [(value, support) for support, value in offers.items()]
        best = kept[0][0]
        kept = heapq.nsmallest(width, kept + level) if priced else level
        stale = 0 if kept[0][0] < best - least else stale + 1
        if stale > PATIENCE:
            break
    return [np.array(support, dtype=np.int64) for _, support in kept]


@np.errstate(all="ignore")
def _offers(
    model: Quadratic, level: Sequence[tuple[float, tuple[int, ...]]], fixed: Mask
) -> tuple[Index, Index, Vector]:
    """What can be added: the place of a support, a feature or leader of a group, and q then.

    Supports of single features have one size, and are worked on together.
    """
    values = np.array([value for value, _ in level])
    if not model.groups.single:
        found = []
        for i, (_, support) in enumerate(level):
            new, gains = Blocks(model, np.array(support, dtype=np.int64), fixed).added()
            found.append((np.full(len(new), i), new, values[i] + model.price[new] - gains))
        parents, leaders, changed = (np.concatenate(part) for part in zip(*found, strict=True))
        return parents, leaders, changed
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
    offered = values[:, None] + np.where(fixed, np.inf, model.price)
    offered -= gain(rho, schur, model.positive)
    np.put_along_axis(offered, inside, np.inf, axis=1)
    places, features = np.indices(offered.shape).reshape(2, -1)
    return places, features, np.fmin(offered.ravel(), np.inf)
