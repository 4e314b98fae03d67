"""The region of the good models, with nearly the largest curvatures that prove it.

Curvatures c are sound where the region that they give is so small that the loss has them there
(`bounds.region`). They are sought from above: as long as a row has less on its part of the region,
its own is lowered to a little below that. What the region allows at the end is sound as well,
because larger curvatures give a smaller region.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.bounds import (
    WIDER,
    Curvature,
    DualPoint,
    Region,
    leverages,
    predicted,
    secants,
)
from sparsebounds.program import Program

SURE, LEAST, MOST = 0.9, 0.01, 0.95
"""Of the share of its ridge that a feature can give at no cost, the part taken; bounds of that."""

SHRUNK, LARGER = 0.95, 0.25
"""A curvature that the last region does not allow becomes the first number times what is allowed,
times the power LARGER of what is allowed over what it was: less, because regions of lower
curvatures are larger."""

SETTLED = 1.1
"""Curvatures that could be larger by less than this are good enough."""

MOST_STEPS = 40
"""Regions that are tried."""

AROUND, ROUNDED = 1.0 + 1e-3, 1.0 - 1e-6
"""Regions are made larger, and curvatures smaller, than they need to be."""


# Overflow is an infinite value, and no region.
@np.errstate(all="ignore")
def region_at(
    program: Program,
    point: DualPoint,
    w: Vector,
    b: float,
    level: float,
    start: Vector | None = None,
) -> Region | None:
    """The region of the models up to a level around the relaxed solution (w, b).

    `point` is its dual point, and `start` are curvatures to begin with, such as those of another
    level. None where none is found.
    """
    n, m = program.n, program.m
    region = Region(level, w, b, _shares(program, point), np.zeros(n))
    size = AROUND * math.sqrt(2.0 * region.total(program, point, WIDER))
    loss, y, added = program.loss, program.y, region.share * program.ridges
    z, _ = predicted(program, w, b)
    columns = np.asfortranarray(program.matrix.columns(np.arange(m)))
    bend = loss.curvature(y, z) if start is None else start
    for _ in range(MOST_STEPS):
        curvature = Curvature(program, columns, weights=program.F.p * bend)
        reach = leverages(curvature, added, WIDER, proof=False)
        if reach is None:
            return None
        allowed = secants(loss, y, z, size * reach, WIDER)
        sound = bool(np.all(allowed >= bend))
        if sound and float(program.F.p @ allowed) <= SETTLED * float(program.F.p @ bend):
            # Fewer digits take less room in a file.
            bend = (ROUNDED * allowed).astype(np.float32).astype(np.float64)
            return replace(region, bend=np.where(allowed > 1e-30, bend, 0.0))
        part = np.fmin(allowed / bend, 1.0)
        bend = allowed if sound else np.minimum(bend, SHRUNK * allowed * part**LARGER)
    return None


def _shares(program: Program, point: DualPoint) -> Vector:
    """s_j: large where it is clear whether a good model has the feature."""
    q = program.groups.gather(np.square(point.reach) / (2.0 * program.ridges))
    price = program.prices
    if program.k is not None:
        free = np.sort(q[program.free])[::-1]
        last = free[max(program.k - 1, 0) : program.k + 1]
        price = np.where(program.free, np.mean(last) if program.k < len(free) else 0.0, 0.0)
    more, less = np.maximum(q, price), np.minimum(q, price)
    share = SURE * (1.0 - less / np.maximum(more, 1e-300))
    return np.clip(program.groups.spread(share), LEAST, MOST)
