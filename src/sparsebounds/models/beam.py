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

from sparsebounds._support.array import Index, Mask
from sparsebounds.models.exchange import Quadratic, additions, after

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
        for value, support in level:
            inside = np.array(support, dtype=np.int64)
            for move in additions(model, inside, fixed, width):
                grown = tuple(after(inside, move, model.groups).tolist())
                offers.setdefault(grown, value + move.change)
        if not offers:
            break
        level = heapq.nsmallest(width, ((value, key) for key, value in offers.items()))
        best = kept[0][0]
        kept = heapq.nsmallest(width, kept + level) if priced else level
        stale = 0 if kept[0][0] < best - least else stale + 1
        if stale > PATIENCE:
            break
    return [np.array(support, dtype=np.int64) for _, support in kept]
