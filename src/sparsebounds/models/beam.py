"""Beam search: supports grown one feature at a time, the best few kept at every size.

In the quadratic model of `exchange`, adding j to S gains rho_j^2 / (2 s_j); every support kept
offers its best additions, and the best of all offers are kept for the next size. Growing several
supports at once finds groups of features that no single exchange leads to; OKRidge (Liu et al.,
2023) showed how well this does on correlated columns.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.linear import positive_inverse
from sparsebounds.models.blocks import Blocks
from sparsebounds.models.exchange import Quadratic, first, gain

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
    level = sorted((model.value(start), tuple(start.tolist())) for start in starts)[:width]
    kept = list(level)
    stale, least = 0, model.least
    for _ in range(room):
        if stop():
            break
        offers: dict[tuple[int, ...], float] = {}
        added = _added(model, [support for _, support in level], fixed)
        for (value, support), (leaders, changes) in zip(level, added, strict=True):
            for at in first(changes, width):
                if changes[at] < np.inf:
                    fresh = model.groups.whole(leaders[at : at + 1]).tolist()
                    offers.setdefault(tuple(sorted((*support, *fresh))), value + float(changes[at]))
        if not offers:
            break
        level = heapq.nsmallest(width, ((value, key) for key, value in offers.items()))
        best = kept[0][0]
        kept = heapq.nsmallest(width, kept + level) if priced else level
        stale = 0 if kept[0][0] < best - least else stale + 1
        if stale > PATIENCE:
            break
    return [np.array(support, dtype=np.int64) for _, support in kept]


@np.errstate(all="ignore")
def _added(
    model: Quadratic, supports: Sequence[tuple[int, ...]], fixed: Mask
) -> Iterator[tuple[Index, Vector]]:
    """Features, or leaders of groups, and what adding each changes q by, support by support.

    Supports of single features have one size, and are worked on together.
    """
    if not model.groups.single:
        for support in supports:
            leaders, gains = Blocks(model, np.array(support, dtype=np.int64), fixed).added()
            yield leaders, model.price[leaders] - gains
        return
    inside = np.array(supports, dtype=np.int64)
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
    changes = np.where(fixed, np.inf, model.price) - gain(rho, schur, model.positive)
    np.put_along_axis(changes, inside, np.inf, axis=1)
    everything = np.arange(len(fixed))
    for row in changes:
        yield everything, row
