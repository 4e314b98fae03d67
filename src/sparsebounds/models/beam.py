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
    growth = (Singles if model.groups.single else Growth)(model, grown, fixed)
    for _ in range(room):
        if stop():
            break
        values = growth.offers(np.array([value for value, _ in level])[:, None])
        count, values = values.shape[1], values.ravel()
        offers: dict[tuple[int, ...], tuple[float, int]] = {}
        order = first(values, width * len(level))
        # Several parents offer the same support.
        for at, value in zip(order, values[order].tolist(), strict=True):
            if len(offers) == width or value == np.inf:
                break
            parent, new = divmod(at, count)
            support = tuple(sorted((*level[parent][1], *growth.members(new))))
            offers.setdefault(support, (value, at))
        if not offers:
            break
        growth.grow(*np.divmod([at for _, at in offers.values()], count))
        level = [(value, support) for support, (value, _) in offers.items()]
        best = kept[0][0]
        kept = heapq.nsmallest(width, kept + level) if priced else level
        stale = 0 if kept[0][0] < best - least else stale + 1
        if stale > PATIENCE:
            break
    return [np.array(support, dtype=np.int64) for _, support in kept]


class Singles:
    """`Growth` where every feature is a group of its own: a group has one row v, and S_g is s_j."""

    def __init__(self, model: Quadratic, starts: Sequence[Index], fixed: Mask) -> None:
        """`fixed` features do not enter."""
        self._model, inside = model, np.array(starts, dtype=np.int64)
        self._closed = np.tile(fixed, (len(inside), 1))
        self._closed[np.arange(len(inside))[:, None], inside] = True
        across, linear = model.hessian[inside], model.linear[inside]
        matrix = np.take_along_axis(across, inside[:, None, :], axis=2)
        np.einsum("ijj->ij", matrix)[:] += model.ridge[inside]
        root = _root_of_inverse(matrix)
        self._rows = root @ across
        pull = root @ linear[:, :, None]
        self._rho = model.linear - (pull.mT @ self._rows)[:, 0]
        self._left = model.curvature - np.einsum("ijk,ijk->ik", self._rows, self._rows)
        self._chosen: tuple[Index, Index] | None = None

    @np.errstate(all="ignore")
    def offers(self, values: Vector) -> Vector:
        """q once a feature is added, where it has these values: a row per support."""
        if self._chosen is not None:
            self._take(*self._chosen)
        model = self._model
        schur = np.maximum(self._left, model.ridge)
        offered = values + model.price - gain(self._rho, schur, model.positive)
        offered[self._closed] = np.inf
        return np.fmin(offered, np.inf)

    def members(self, feature: int) -> list[int]:
        """The feature itself."""
        return [feature]

    def grow(self, parents: Index, features: Index) -> None:
        """Go on with supports that a feature is added to, once they are asked for offers."""
        self._chosen = parents, features

    def _take(self, parents: Index, features: Index) -> None:
        model, every, rows = self._model, np.arange(len(features)), self._rows[parents]
        rho, left, closed = self._rho[parents], self._left[parents], self._closed[parents]
        pivot = np.sqrt(np.maximum(left[every, features], model.ridge[features]))[:, None]
        fresh = model.hessian[features] - (rows[every, :, features][:, None] @ rows)[:, 0]
        fresh /= pivot
        rho -= fresh * (rho[every, features][:, None] / pivot)
        left -= fresh**2
        closed[every, features] = True
        self._rows = np.concatenate((rows, fresh[:, None]), axis=1)
        self._rho, self._left, self._closed = rho, left, closed


def _root_of_inverse(matrices: Vector) -> Vector:
    """K with K^T K the inverse of each of some symmetric positive definite matrices.

    Where one is singular in floating point: on what is left of it.
    """
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(matrices)))
    except np.linalg.LinAlgError:
        size, axes = np.linalg.eigh(np.nan_to_num(matrices))
        some = size > 1e-14 * np.max(size, axis=1, initial=0.0, keepdims=True)
        root = np.where(some, 1.0 / np.sqrt(np.where(some, size, 1.0)), 0.0)
        return np.asarray(root[:, :, None] * axes.mT)
