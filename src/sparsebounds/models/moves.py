"""Moves: what leaves and enters a support, and the best of many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Vector


@dataclass(frozen=True)
class Move:
    """Features (positions in the pool) that leave and enter, and the change q predicts."""

    leave: int | None
    enter: int | None
    change: float

    @property
    def order(self) -> tuple[float, int, int]:
        """Moves by their change, ties by position."""
        leave, enter = (-1 if at is None else at for at in (self.leave, self.enter))
        return self.change, leave, enter


def first(values: Vector, most: int) -> list[int]:
    """Positions of the `most` smallest values, ascending, ties by position."""
    if len(values) == 0:
        return []
    if most == 1:
        at = int(np.argmin(values))  # the first NaN, where there is one
        return [at if values[at] == values[at] else int(np.argmin(np.fmin(values, np.inf)))]
    if most < len(values):
        places = np.flatnonzero(values <= np.partition(values, most)[most])
        found: list[int] = places[np.argsort(values[places], kind="stable")[:most]].tolist()
        return found
    every: list[int] = np.argsort(values, kind="stable").tolist()
    return every
