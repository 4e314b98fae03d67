"""Beam search: supports grown one feature at a time, the best few kept at every size.

In the quadratic model of `exchange`, adding j to S gains rho_j^2 / (2 s_j); every support kept
offers its best additions, and the best of all offers are kept for the next size. Growing several
supports at once finds groups of features that no single exchange leads to; OKRidge (Liu et al.,
2023) showed how well this does on correlated columns.

With L L^T = M and V = L^-1 H_S., rho = l - V^T L^-1 l_S and s_j = H_jj + r_j - |V_j|^2. A feature e
that is added gives V the row v = (H_e - V_e^T V) / sqrt(s_e), and takes v rho_e / sqrt(s_e) from rho
and v^2 from s.
"""

from __future__ import annotations

import heapq
from bisect import bisect
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.models.blocks import Blocks
from sparsebounds.models.exchange import Quadratic, gain
from sparsebounds.models.moves import first

PATIENCE = 2
"""Sizes without an improvement after which growing stops, where features have a price."""

Level: TypeAlias = Sequence[tuple[float, tuple[int, ...]]]
"""Supports, and the least of q on each."""


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
    growing = Singles(model, fixed) if model.groups.single else Grouped(model, fixed)
    for _ in range(room):
        if stop():
            break
        values = growing.offers(level)
        offers: dict[tuple[int, ...], tuple[float, int]] = {}
        # Several parents offer the same support.
        order = first(values, width * len(level))
        for at, value in zip(order, values[order].tolist(), strict=True):
            if len(offers) == width or value == np.inf:
                break
            offers.setdefault(growing.offered(level, at), (value, at))
        if not offers:
            break
        growing.grow([at for _, at in offers.values()])
        level = [(value, support) for support, (value, _) in offers.items()]
        best = kept[0][0]
        kept = heapq.nsmallest(width, kept + level) if priced else level
        stale = 0 if kept[0][0] < best - least else stale + 1
        if stale > PATIENCE:
            break
    return [np.array(support, dtype=np.int64) for _, support in kept]


class Grouped:
    """What groups gain that are added to supports."""

    def __init__(self, model: Quadratic, fixed: Mask) -> None:
        self._model, self._fixed = model, fixed
        self._parents = self._leaders = np.zeros(0, dtype=np.int64)

    def offers(self, level: Level) -> Vector:
        """q with each group added to each support; inf where that is not possible."""
        found = []
        for i, (value, support) in enumerate(level):
            new, gains = Blocks(
                self._model, np.array(support, dtype=np.int64), self._fixed
            ).added()
            found.append((np.full(len(new), i), new, value + self._model.price[new] - gains))
        self._parents, self._leaders, values = map(np.concatenate, zip(*found, strict=True))
        return np.asarray(values)

    def offered(self, level: Level, at: int) -> tuple[int, ...]:
        """The support of one of the offers."""
        fresh = self._model.groups.whole(self._leaders[at : at + 1]).tolist()
        return tuple(sorted((*level[self._parents[at]][1], *fresh)))

    def grow(self, chosen: list[int]) -> None:
        """Go on with some of the offers."""


class Singles:
    """What single features gain that are added to supports of one size, all worked on together."""

    def __init__(self, model: Quadratic, fixed: Mask) -> None:
        self._model, self._closed = model, np.where(fixed, np.inf, model.price)
        self._pool = len(model.linear)
        self._chosen: Index | None = None

    def _begin(self, inside: Index) -> None:
        model = self._model
        across, linear = model.hessian[inside], model.linear[inside]
        matrix = np.take_along_axis(across, inside[:, None, :], axis=2)
        np.einsum("ijj->ij", matrix)[:] += model.ridge[inside]
        inverse = _root_of_inverse(matrix)
        self._V = inverse @ across
        part = inverse @ linear[:, :, None]
        self._rho = model.linear - (part.transpose(0, 2, 1) @ self._V)[:, 0]
        self._left = model.curvature - np.einsum("ijk,ijk->ik", self._V, self._V)
        self._taken = np.zeros(self._rho.shape, dtype=np.bool_)
        self._taken[np.arange(len(inside))[:, None], inside] = True

    def _go_on(self, chosen: Index) -> None:
        """The supports that were chosen in the place of those that offered them."""
        model, (parents, enter) = self._model, np.divmod(chosen, self._pool)
        every, V = np.arange(len(chosen)), self._V[parents]
        rho, left, taken = self._rho[parents], self._left[parents], self._taken[parents]
        pivot = np.sqrt(np.maximum(left[every, enter], model.ridge[enter]))[:, None]
        v = model.hessian[enter] - (V[every, :, enter][:, None, :] @ V)[:, 0]
        v /= pivot
        rho -= v * (rho[every, enter][:, None] / pivot)
        left -= v**2
        taken[every, enter] = True
        self._V = np.concatenate((V, v[:, None, :]), axis=1)
        self._rho, self._left, self._taken = rho, left, taken

    @np.errstate(all="ignore")
    def offers(self, level: Level) -> Vector:
        """q with each feature added to each support; inf where that is not possible."""
        if self._chosen is None:
            self._begin(np.array([support for _, support in level], dtype=np.int64))
        else:
            self._go_on(self._chosen)
        model, values = self._model, np.array([value for value, _ in level])
        schur = np.maximum(self._left, model.ridge)
        offered = values[:, None] + self._closed - gain(self._rho, schur, model.positive)
        offered[self._taken] = np.inf
        return np.fmin(offered.ravel(), np.inf)

    def offered(self, level: Level, at: int) -> tuple[int, ...]:
        """The support of one of the offers."""
        parent, feature = divmod(at, self._pool)
        support = level[parent][1]
        place = bisect(support, feature)
        return (*support[:place], feature, *support[place:])

    def grow(self, chosen: list[int]) -> None:
        """Go on with some of the offers."""
        self._chosen = np.array(chosen)


def _root_of_inverse(matrices: Vector) -> Vector:
    """K with K^T K the inverse of each of some symmetric positive definite matrices.

    On what is left of those that are singular in floating point.
    """
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(matrices)))
    except np.linalg.LinAlgError:
        size, axes = np.linalg.eigh(np.nan_to_num(matrices))
        some = size > 1e-14 * np.max(size, axis=1, initial=0.0, keepdims=True)
        root = np.where(some, 1.0 / np.sqrt(np.where(some, size, 1.0)), 0.0)
        return np.asarray(root[:, :, None] * axes.transpose(0, 2, 1))
